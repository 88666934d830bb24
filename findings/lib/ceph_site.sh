# shellcheck shell=bash
# What each finding about Ceph starts with: one site of pinned Debian packages in a temporary
# folder, in mount, process and network namespaces of its own, all gone in the end. Nothing of
# this project runs in it. Sourced; the script that sources it is started anew in the namespaces.
#
#   need_ceph VERSION [PACKAGE...]   unpacks Ceph and what else of that version, with all that
#                             they depend on
#   start_site                a monitor, a manager and an OSD in memory; pool "rbd"
#   make_mirrored_disk        image rbd/disk of 4 MiB, primary, in snapshot mode
#   in_site COMMAND...        runs a command there
#   seen TEXT                 prints what was seen
#   expect NAME WANT GOT      prints it, and ends with 1 when they differ
#
# Needs root, Debian 12 with apt, 1 GB of disk and a minute.
set -euo pipefail

if [[ ! ${FINDING_ROOT:-} ]]; then
  ((EUID == 0)) || { echo "${0##*/}: needs root, for namespaces" >&2; exit 2; }
  FINDING_ROOT=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
  export FINDING_ROOT
  trap 'rm -rf --one-file-system "$FINDING_ROOT"' EXIT
  trap 'exit 130' INT TERM
  # The download needs the network, what runs needs only its own loopback.
  FINDING_STAGE=unpack bash "$0"
  FINDING_STAGE=run unshare --mount --net --pid --fork --kill-child --propagation private bash "$0"
  exit
fi

root=$FINDING_ROOT/root

need_ceph() {
  [[ $FINDING_STAGE == unpack ]] || return 0
  local apt=$FINDING_ROOT/apt deb version=$1
  shift
  set -- ceph-mon ceph-mgr ceph-osd ceph-common "$@"
  set -- "${@/%/=$version}"
  mkdir -p "$apt/archives/partial" "$root"/{usr/{bin,sbin,lib,lib64},dev,proc,tmp,run,etc,var/{lib,log}/ceph}
  : >"$apt/status"
  for deb in bin sbin lib lib64; do ln -s "usr/$deb" "$root/$deb"; done
  apt-get -qq -y --no-install-recommends --download-only -o Dir::State::status="$apt/status" \
    -o Dir::Cache::archives="$apt/archives" -o Debug::NoLocking=1 install coreutils dash grep "$@" >"$apt/log" 2>&1 || {
    tail -n 5 "$apt/log" >&2
    echo "${0##*/}: these packages are not to be had: $*" >&2
    exit 2
  }
  for deb in "$apt"/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$root"
  done
  rm -rf "$apt"
  ldconfig -r "$root"
  exit 0 # of this stage
}

there() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 TZ=UTC "$@"; }
in_site() { there timeout --kill-after=5 60 "$@"; }
seen() { printf '%s\n' "$*"; }
expect() {
  printf '%s: %s\n' "$1" "$3"
  [[ $2 == "$3" ]] || { printf 'CHANGED: %s was: %s\n' "$1" "$2"; exit 1; }
}
# until COMMAND...: for a minute at most.
until_true() {
  local i
  for ((i = 0; i < 120; i++)); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.5
  done
  echo "${0##*/}: never true: $*" >&2
  exit 2
}

start_site() {
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  ip link set lo up
  echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
  echo 'root:x:0:' >"$root/etc/group"
  ln -sfn /run "$root/var/run"
  mkdir -p "$root"/{etc/ceph,run/ceph,var/lib/ceph/{mon/ceph-a,osd/ceph-0},var/lib/ceph/mgr/ceph-x}
  cat >"$root/etc/ceph/ceph.conf" <<'CONF'
[global]
fsid = 4a27d3a2-7a0f-4a4e-9f0b-0d4c9c0f7a11
mon host = 127.0.0.1:6789
osd pool default size = 1
osd pool default min size = 1
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
ms bind msgr2 = false
osd objectstore = memstore
memstore device bytes = 1G
log file = /var/log/ceph/$name.log
mgr initial modules =
keyring = /etc/ceph/keyring
CONF
  # A manager without cephx takes its callers for nobody.
  local caps=(--cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *')
  in_site ceph-authtool --create-keyring /etc/ceph/keyring --gen-key -n mon. --cap mon 'allow *' >/dev/null
  in_site ceph-authtool /etc/ceph/keyring --gen-key -n client.admin "${caps[@]}" >/dev/null
  in_site monmaptool --create --clobber --fsid 4a27d3a2-7a0f-4a4e-9f0b-0d4c9c0f7a11 --addv a '[v1:127.0.0.1:6789]' /tmp/monmap >/dev/null
  in_site ceph-mon --mkfs -i a --monmap /tmp/monmap --keyring /etc/ceph/keyring >/dev/null 2>&1
  there ceph-mon -f -i a >/dev/null 2>&1 &
  until_true in_site timeout 5 ceph status
  in_site ceph auth get-or-create mgr.x mon 'allow profile mgr' osd 'allow *' >>"$root/etc/ceph/keyring"
  there ceph-mgr -f -i x >/dev/null 2>&1 &
  in_site ceph osd new 0d4c9c0f-7a0f-4a4e-9f0b-4a27d3a27a11 0 >/dev/null
  in_site ceph auth get-or-create osd.0 mon 'allow profile osd' mgr 'allow profile osd' osd 'allow *' >>"$root/etc/ceph/keyring"
  in_site ceph-osd --mkfs -i 0 --osd-uuid 0d4c9c0f-7a0f-4a4e-9f0b-4a27d3a27a11 >/dev/null 2>&1
  there ceph-osd -f -i 0 >/dev/null 2>&1 &
  until_true in_site sh -c 'ceph osd stat | grep -q "1 up"'
  in_site ceph osd pool create rbd 1 >/dev/null 2>&1
  in_site rbd pool init rbd
  seen "$(in_site rbd --version)"
}

make_mirrored_disk() {
  in_site rbd mirror pool enable rbd image
  in_site rbd create --size 4M rbd/disk
  in_site rbd mirror image enable rbd/disk snapshot >/dev/null
}
