#!/usr/bin/env bash
# A mirror snapshot schedule takes a start time with a zone: 12:00+05:00, which is 07:00 in UTC.
# Ceph 16.2.15 keeps the text, forgets the date of a whole date-time, and runs the schedule at
# 17:00 of its own time: it adds the offset where one would guess that it takes it off. So the
# same moment, written in two zones, is two moments, ten hours apart in this case.
#
# Who lets people give a start time reckons it into the manager's own time, and sends it with
# an offset of zero.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
need_ceph 16.2.15+ds-0+deb12u2
start_site

make_mirrored_disk
schedule() { in_site rbd mirror snapshot schedule "$@" 2>/dev/null; }
listed() { schedule ls --pool rbd --image disk; }
# When it runs next, hours and minutes; the manager looks for new images once a minute.
next_run() {
  until_true in_site sh -c 'rbd mirror snapshot schedule status | grep -q disk'
  schedule status | grep disk | grep -oE '[0-9]{2}:[0-9]{2}:[0-9]{2}' | cut -d: -f1,2
}
until_true schedule add --pool rbd --image disk 1d 2030-06-01T12:00:00+05:00
expect "kept as" "every 1d starting at 12:00:00+05:00" "$(listed)"
expect "the next run, by a manager in UTC" 17:00 "$(next_run)"
