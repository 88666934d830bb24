#!/usr/bin/env bash
# Mirror snapshots count where an image may have so many snapshots and no more, and a demotion
# is such a snapshot. One would guess that a demotion for which there is no room is refused.
# Ceph 16.2.15 answers 0: it has made no snapshot, the image says that it is still primary, and
# every write is refused, "Read-only file system". Asked again it is 0 again.
#
# Who demotes by program must read the role back, and should ask for the limit first.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
need_ceph 16.2.15+ds-0+deb12u2
start_site

make_mirrored_disk
in_site rbd snap create rbd/disk@mine 2>/dev/null
in_site rbd snap limit set --limit 2 rbd/disk
write() {
  in_site rbd bench --io-type write --io-size 512 --io-total 512 rbd/disk >/dev/null 2>&1 && echo written || echo refused
}
expect "a write before" written "$(write)"
expect "the demotion's exit code" 0 "$(in_site rbd mirror image demote rbd/disk >/dev/null 2>&1; echo $?)"
expect "primary after it" true "$(in_site rbd info --format json rbd/disk | grep -o '"primary":[a-z]*' | cut -d: -f2)"
expect "mirror snapshots after it" 1 "$(in_site rbd snap ls --all --format json rbd/disk | grep -o '"type":"mirror"' | wc -l)"
expect "a write after it" refused "$(write)"
