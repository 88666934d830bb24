# shellcheck shell=bash
# What each finding about Ceph starts with: a site of pinned Debian packages in a temporary
# folder, in mount, process and network namespaces of its own, all gone in the end. Nothing of
# this project runs in it. Sourced; the script that sources it is started anew in the namespaces.
#
#   also_need SUITE VERSION [PACKAGE[=ITS VERSION]...]   unpacks the Ceph of another Debian for
#                             site SUITE; stands before need_ceph
#   need_ceph VERSION [PACKAGE[=ITS VERSION]...]   unpacks the Ceph of Debian 12 and what else,
#                             with all that they depend on
#   use_site NAME             what follows is about site NAME from now on: a SUITE, or a new copy of
#                             Debian 12; without it there is one site
#   start_site                a monitor, a manager and an OSD in memory; pool "rbd"
#   start_site_at ADDRESS STORE   the same; memstore keeps the objects in memory, bluestore in a file
#   make_mirrored_disk        image rbd/disk of 4 MiB, primary, in snapshot mode
#   in_site COMMAND...        runs a command there
#   with_disk STATEMENT [HOW]   runs a line of Python, in which `image` is rbd/disk, opened as the
#                             keywords HOW say; needs python3-rbd
#
# The rest is in finding.sh. Needs root, Debian 12 with apt, 1 GB of disk and a minute.
set -euo pipefail
# shellcheck source=findings/lib/finding.sh
. "$(dirname "${BASH_SOURCE[0]}")/finding.sh"

also_need() {
  [[ $FINDING_STAGE == unpack ]] || return 0
  unpack "$1" "$2" ceph-mon ceph-mgr ceph-osd ceph-common "${@:3}"
}
need_ceph() {
  [[ $FINDING_STAGE == unpack ]] || return 0
  unpack '' "$1" ceph-mon ceph-mgr ceph-osd ceph-common "${@:2}"
  exit 0 # of this stage
}

use_site() {
  root=$FINDING_ROOT/$1
  # The programs are the same files, what a site writes is its own.
  [[ -e $root ]] || cp -al "$FINDING_ROOT/root" "$root"
}

in_site() { in_root "$@"; }
with_disk() {
  in_site python3 -c 'import rados, rbd, sys
with rados.Rados(conffile="/etc/ceph/ceph.conf") as cluster, cluster.open_ioctx("rbd") as pool:
    with rbd.Image(pool, "disk", **eval(f"dict({sys.argv[2]})")) as image:
        exec(sys.argv[1])' "$1" "${2:-}"
}

start_site() { start_site_at 127.0.0.1 memstore; }
start_site_at() {
  local address=$1 store=$2 fsid
  fsid=$(cat /proc/sys/kernel/random/uuid)
  enter_root
  [[ $address == 127.* ]] || ip address add "$address/32" dev lo
  mkdir -p "$root"/{etc/ceph,run/ceph,var/lib/ceph/{mon/ceph-a,osd/ceph-0},var/lib/ceph/mgr/ceph-x}
  cat >"$root/etc/ceph/ceph.conf" <<CONF
[global]
fsid = $fsid
mon host = [v1:$address:6789]
public addr = $address
osd pool default size = 1
osd pool default min size = 1
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
ms bind msgr2 = false
osd objectstore = $store
memstore device bytes = 1G
bluestore block size = 1G
log file = /var/log/ceph/\$name.log
mgr initial modules =
keyring = /etc/ceph/keyring
CONF
  # A manager without cephx takes its callers for nobody.
  local caps=(--cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *')
  in_site ceph-authtool --create-keyring /etc/ceph/keyring --gen-key -n mon. --cap mon 'allow *' >/dev/null
  in_site ceph-authtool /etc/ceph/keyring --gen-key -n client.admin "${caps[@]}" >/dev/null
  in_site monmaptool --create --clobber --fsid "$fsid" --addv a "[v1:$address:6789]" /tmp/monmap >/dev/null
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
