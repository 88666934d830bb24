#!/usr/bin/env bash
# A pool of one tenant has reached its quota. One of its images is given a schedule of mirror snapshots,
# as when replication is enabled for a volume. One would guess that this command waits or fails, and
# that nothing else does: the cluster has space, and no other pool is full. Ceph 16.2.15 keeps the
# schedule in the full pool, and its manager holds a lock while it waits to write there. So no image of
# any pool gets a mirror snapshot by schedule any more, as long as that pool is full. No schedule can
# be listed, and no task (`ceph rbd task`) made. The health names the full pool only.
#
# The one who asked may be long gone. `ceph mgr fail` ends it, until the next such command. Who sets
# schedules by program looks for a full pool first. A mirror snapshot by hand works all the time. (To
# take a schedule away has the same effect, also where there is none. That was seen by hand.)
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
# shellcheck source=findings/lib/two_sites.sh
. "$(dirname "$0")/lib/two_sites.sh"
need_ceph 16.2.15+ds-0+deb12u2
start_site

in_site ceph osd pool create tenant 1 >/dev/null 2>&1
in_site rbd pool init tenant
for pool in rbd tenant; do
  in_site rbd mirror pool enable "$pool" image
  # Mirror snapshots are made for a peer. Here it never comes.
  in_site rbd mirror pool peer add "$pool" client.none@elsewhere >/dev/null
  in_site rbd create --size 4M "$pool/disk"
  in_site rbd mirror image enable "$pool/disk" snapshot >/dev/null
done
schedule() { in_site timeout 20 rbd mirror snapshot schedule "$@" 2>/dev/null; }
code() { "$@" >/dev/null 2>&1 && echo 0 || echo $?; }
# A schedule of "1m" runs on each full minute.
over_a_full_minute() { sleep $((80 - 10#$(date +%S))); }
newer() { [[ $(newest_snapshot) != "$last" ]]; }
# A pool's first run may take a minute more.
first_run() { over_a_full_minute; until_true newer; }
is_newer() { newer && echo yes || echo no; }
is_full() { in_site sh -c 'ceph osd dump | grep -q full_quota'; }
last=$(newest_snapshot)
until_true schedule add --pool rbd 1m
first_run
expect "a mirror snapshot by schedule" yes "$(is_newer)"

in_site ceph osd pool set-quota tenant max_objects 1 >/dev/null 2>&1
until_true is_full
expect "a schedule for the full pool's image, exit code (124: no answer)" 124 "$(code schedule add --pool tenant --image disk 1m)"
last=$(newest_snapshot)
expect "the list of the other pool's schedules, exit code" 124 "$(code schedule ls --pool rbd)"
expect "the list of tasks, exit code" 124 "$(code in_site timeout 20 ceph rbd task list)"
over_a_full_minute
expect "a mirror snapshot by schedule in the other pool" no "$(is_newer)"
expect "health, of pools and of the manager" POOL_FULL "$(in_site ceph health --format json | grep -oE '(POOL|MGR|RBD)_[A-Z_]+' | xargs)"
expect "a mirror snapshot by hand, exit code" 0 "$(code in_site rbd mirror image snapshot rbd/disk)"
last=$(newest_snapshot)
in_site ceph osd pool set-quota tenant max_objects 0 >/dev/null 2>&1
until_true newer
expect "a mirror snapshot by schedule when the pool has room" yes "$(is_newer)"
expect "the schedules" "every 1m every 1m" "$(schedule ls -R | grep -o 'every.*' | xargs)"
