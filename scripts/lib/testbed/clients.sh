# shellcheck shell=bash
# Ceph's own programs: those of a site, and as client.admin of it.

# ceph_of SITE: sets WITH to the words that begin each of its commands (TESTBED_WITH_A, TESTBED_WITH_B).
ceph_of() {
  local words=TESTBED_WITH_${1^^}
  WITH=()
  if [[ ${!words:-} ]]; then read -ra WITH <<<"${!words}"; fi
}

# at SITE PROGRAM ARGS...: runs the program of its release.
at() {
  local WITH
  ceph_of "$1"
  "${WITH[@]}" "${@:2}"
}

# bounded COMMAND...: at most WAIT seconds. In the foreground mode of timeout(1) the program stays in our
# process group, where "down" finds it.
bounded() { timeout --foreground "$WAIT" "$@"; }

# bounded_at SITE PROGRAM ARGS...: both.
bounded_at() {
  local WITH
  ceph_of "$1"
  bounded "${WITH[@]}" "${@:2}"
}

# admin_ceph SITE ARGS...: runs ceph.
admin_ceph() { bounded_at "$1" ceph -c "$DIR/$1/ceph.conf" "${@:2}"; }

# admin_rados SITE ARGS...: runs rados.
admin_rados() { bounded_at "$1" rados -c "$DIR/$1/ceph.conf" "${@:2}"; }

# admin_rbd SITE ARGS...: runs rbd. A client that was here before the OSD would look for a newer map every 5 s
# only.
admin_rbd() { bounded_at "$1" rbd -c "$DIR/$1/ceph.conf" --objecter-tick-interval 0.2 "${@:2}"; }

# rbd_step SITE ARGS...: rbd has to succeed. Its chatter goes to the log.
rbd_step() {
  local log=$DIR/$1/log/rbd.out
  admin_rbd "$@" >>"$log" 2>&1 || die "$1: 'rbd ${*:2}' failed, see $log and $DIR/$1/log/osd.0.log"
}

# cmd_cli PROGRAM DIR SITE ARGS...: becomes the program.
cmd_cli() {
  local program=$1 site=${3:-} WITH
  load_bed "${2:-}"
  need_site "$site"
  ceph_of "$site"
  CEPH_CONF=$DIR/$site/ceph.conf exec "${WITH[@]}" "$program" "${@:4}"
}
