#!/usr/bin/env bash
# A pool of one tenant has reached its quota. Ten of its images are mirrored, with a schedule of mirror
# snapshots. One would guess that these ten are not copied any more, and that all others are: the
# cluster has space, and no other pool is full. The manager of Ceph 16.2.15 makes ten mirror snapshots
# at once, of whatever pools. Those of the full pool wait without end, and nobody gives up. So no image
# of the cluster gets a mirror snapshot by schedule any more, as long as that pool is full.
#
# The health names the full pool only. The list of schedules says that the next ones are due within the
# minute. The other site's status stays "up+replaying", by hand. Only the age of the newest mirror
# snapshot tells. (With nine such images the others went on, by hand. A mirror snapshot by hand works.)
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
# shellcheck source=findings/lib/two_sites.sh
. "$(dirname "$0")/lib/two_sites.sh"
need_ceph 16.2.15+ds-0+deb12u2
start_site

in_site ceph osd pool create tenant 1 >/dev/null 2>&1
in_site rbd pool init tenant
schedule() { in_site timeout 20 rbd mirror snapshot schedule "$@" 2>/dev/null; }
make() { # POOL IMAGE
  in_site rbd create --size 4M "$1/$2"
  in_site rbd mirror image enable "$1/$2" snapshot >/dev/null
}
for pool in rbd tenant; do
  in_site rbd mirror pool enable "$pool" image
  # Mirror snapshots are made for a peer. Here it never comes.
  in_site rbd mirror pool peer add "$pool" client.none@elsewhere >/dev/null
  until_true schedule add --pool "$pool" 1m
done
make rbd disk
for image in {0..9}; do make tenant "disk-$image"; done
# A schedule of "1m" runs on each full minute.
over_a_full_minute() { sleep $((80 - 10#$(date +%S))); }
next_run() { schedule status | grep 'rbd/disk' | grep -oE '[0-9]{2}:[0-9]{2}:[0-9]{2}' | cut -d: -f1,2; }
newer() { [[ $(newest_snapshot) != "$last" ]]; }
# A pool's first run may take a minute more.
first_run() { over_a_full_minute; until_true newer; }
is_newer() { newer && echo yes || echo no; }
is_full() { in_site sh -c 'ceph osd dump | grep -q full_quota'; }
last=$(newest_snapshot)
first_run
expect "a mirror snapshot by schedule" yes "$(is_newer)"

in_site ceph osd pool set-quota tenant max_objects 1 >/dev/null 2>&1
until_true is_full
# Those of the first minute may still be in time.
over_a_full_minute
last=$(newest_snapshot)
over_a_full_minute
expect "a mirror snapshot by schedule in the other pool" no "$(is_newer)"
expect "the next one is due" "$(date -u -d '+40 seconds' +%H:%M)" "$(next_run)"
expect "health, of pools and of the manager" POOL_FULL "$(in_site ceph health --format json | grep -oE '(POOL|MGR|RBD)_[A-Z_]+' | xargs)"
in_site ceph osd pool set-quota tenant max_objects 0 >/dev/null 2>&1
until_true newer
expect "a mirror snapshot by schedule when the pool has room" yes "$(is_newer)"
