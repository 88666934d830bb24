# shellcheck shell=bash
# Ceph's own programs as client.admin of a site.

# bounded COMMAND...: at most WAIT seconds. In the foreground mode of timeout(1) the program stays in our
# process group, where "down" finds it.
bounded() { timeout --foreground "$WAIT" "$@"; }

# admin_ceph SITE ARGS...: runs ceph.
admin_ceph() { bounded ceph -c "$DIR/$1/ceph.conf" "${@:2}"; }

# admin_rados SITE ARGS...: runs rados.
admin_rados() { bounded rados -c "$DIR/$1/ceph.conf" "${@:2}"; }

# admin_rbd SITE ARGS...: runs rbd. A client that was here before the OSD would look for a newer map every 5 s
# only.
admin_rbd() { bounded rbd -c "$DIR/$1/ceph.conf" --objecter-tick-interval 0.2 "${@:2}"; }

# rbd_step SITE ARGS...: rbd has to succeed. Its chatter goes to the log.
rbd_step() {
  local log=$DIR/$1/log/rbd.out
  admin_rbd "$@" >>"$log" 2>&1 || die "$1: 'rbd ${*:2}' failed, see $log and $DIR/$1/log/osd.0.log"
}

# cmd_cli PROGRAM DIR SITE ARGS...: becomes the program.
cmd_cli() {
  local program=$1 site=${3:-}
  load_bed "${2:-}"
  need_site "$site"
  CEPH_CONF=$DIR/$site/ceph.conf exec "$program" "${@:4}"
}
