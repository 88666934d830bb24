#!/usr/bin/env bash
# An image with snapshots cannot be removed, and one would guess the same of an rbd group with
# snapshots of the group: they are restore points. Ceph 16.2.15 removes the group without a word,
# and the members' snapshots of it with it.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
need_ceph 16.2.15+ds-0+deb12u2
start_site

in_site rbd create --size 4M rbd/disk
in_site rbd group create rbd/disks
in_site rbd group image add rbd/disks rbd/disk
in_site rbd group snap create rbd/disks@yesterday
snapshots() { in_site rbd snap ls --all --format json rbd/disk | grep -o '"type":"group"' | wc -l; }
expect "group snapshots of the member before" 1 "$(snapshots)"
expect "exit code of the removal" 0 "$(in_site rbd group rm rbd/disks >/dev/null 2>&1; echo $?)"
expect "group snapshots of the member after" 0 "$(snapshots)"
