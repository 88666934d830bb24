# shellcheck shell=bash
# Two sites whose pools "rbd" mirror. Sourced after ceph_site.sh.
#
#   look_often                rbd-mirror of this site, to be started, looks each second
#   join SITE OTHER DIRECTION   OTHER takes the token of SITE (rx-only, rx-tx)
#   start_rbd_mirror          of this site
#   mirror_from_a_to_b        both sites, on memstore, of which only b's rbd-mirror runs and copies; b is
#                             this site then
#   take_mirror_snapshot      of this site's rbd/disk, and waits until site OTHER has all of it
#
# The packages need rbd-mirror. Takes a minute more.
look_often() {
  cat >>"$root/etc/ceph/ceph.conf" <<'CONF'
[client]
rbd_mirror_pool_replayers_refresh_interval = 1
rbd_mirror_image_state_check_interval = 1
rbd_mirror_leader_heartbeat_interval = 1
CONF
}
join() {
  local token
  use_site "$1"
  in_site rbd mirror pool enable rbd image
  token=$(in_site rbd mirror pool peer bootstrap create --site-name "$1" rbd)
  use_site "$2"
  in_site rbd mirror pool enable rbd image
  printf '%s' "$token" >"$root/tmp/token"
  in_site rbd mirror pool peer bootstrap import --site-name "$2" --direction "$3" rbd /tmp/token
}
start_rbd_mirror() { there rbd-mirror -f >/dev/null 2>&1 & }
mirror_from_a_to_b() {
  use_site a
  start_site_at 127.0.0.1 memstore
  use_site b
  start_site_at 127.0.0.2 memstore
  look_often
  join a b rx-only
  start_rbd_mirror
}
newest_snapshot() { in_site rbd snap ls --all --format json rbd/disk | grep -oE '"id":[0-9]+' | tail -n 1 | cut -d: -f2; }
take_mirror_snapshot() { # OTHER
  local here=$root id
  in_site rbd mirror image snapshot rbd/disk >/dev/null
  id=$(newest_snapshot)
  use_site "$1"
  until_true in_site sh -c "rbd snap ls --all --format json rbd/disk | grep -q '\"complete\":true,[^{}]*\"primary_snap_id\":$id,'"
  root=$here
}
