# shellcheck shell=bash
# What each finding starts with: pinned Debian packages in a temporary folder, and mount, process
# and network namespaces of its own, all gone in the end. Nothing of this project runs in it.
# Sourced; the script that sources it is started anew in the namespaces.
#
#   need PACKAGE[=VERSION]...   unpacks packages of Debian 12 with all that they depend on
#   enter_root                gives the folder /proc and /dev
#   in_root COMMAND...        runs a command in the folder, for three minutes at most
#   until_true COMMAND...     waits for it, for a minute at most, and ends with 2 then
#   within SECONDS COMMAND... the same with another limit
#   seen TEXT                 prints what was seen
#   expect NAME WANT GOT      prints it, and ends with 1 when they differ; with 2 after a wait that
#                             had no end, of which nothing can be said
#
# Needs root, and Debian 12 with apt.
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

# SUITE ('' for what this machine's apt has) VERSION PACKAGE...
unpack() {
  local suite=$1 version=$2 apt=$FINDING_ROOT/apt to=$FINDING_ROOT/${1:-root} deb options
  local archive='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian'
  shift 2
  set -- coreutils dash grep "$@"
  for deb; do
    shift
    case $deb in *=*) ;; ceph-* | rbd-* | python3-r*) deb+="=$version" ;; esac
    set -- "$@" "$deb"
  done
  mkdir -p "$apt"/{archives,lists}/partial "$to"/{usr/{bin,sbin,lib,lib64},dev,proc,sys,tmp,run,etc,var/{lib,log}/ceph}
  : >"$apt/status"
  options=(-qq -y --no-install-recommends -o Dir::State::status="$apt/status" -o Dir::Cache::archives="$apt/archives" -o Debug::NoLocking=1)
  if [[ $suite ]]; then
    printf 'deb %s %s main\n' "$archive" "$suite" >"$apt/sources"
    options+=(-o Dir::Cache="$apt" -o Dir::State::lists="$apt/lists" -o Dir::Etc::SourceList="$apt/sources" -o Dir::Etc::SourceParts=/dev/null)
    apt-get "${options[@]}" update >"$apt/log" 2>&1 || true # the packages tell
  fi
  for deb in bin sbin lib lib64; do ln -s "usr/$deb" "$to/$deb"; done
  apt-get "${options[@]}" --download-only install "$@" >>"$apt/log" 2>&1 || {
    tail -n 5 "$apt/log" >&2
    echo "${0##*/}: these packages are not to be had: $*" >&2
    exit 2
  }
  for deb in "$apt"/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$to"
  done
  rm -rf "$apt"
  ldconfig -r "$to"
}
need() {
  [[ $FINDING_STAGE == unpack ]] || return 0
  unpack '' '' "$@"
  exit 0 # of this stage
}

enter_root() {
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  ip link set lo up
  echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
  echo 'root:x:0:' >"$root/etc/group"
  ln -sfn /run "$root/var/run"
}

there() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 TZ=UTC "$@"; }
in_root() { there timeout --kill-after=5 180 "$@"; }
seen() { printf '%s\n' "$*"; }
expect() {
  # A wait within $(...) ends only that.
  [[ ! -e $FINDING_ROOT/never-true ]] || exit 2
  printf '%s: %s\n' "$1" "$3"
  [[ $2 == "$3" ]] || { printf 'CHANGED: %s was: %s\n' "$1" "$2"; exit 1; }
}
within() {
  local i limit=$1
  shift
  for ((i = 0; i < 2 * limit; i++)); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.5
  done
  echo "${0##*/}: never true: $*" >&2
  : >"$FINDING_ROOT/never-true"
  exit 2
}
until_true() { within 60 "$@"; }
