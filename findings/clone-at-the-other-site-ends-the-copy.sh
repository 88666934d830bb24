#!/usr/bin/env bash
# A protected snapshot of a mirrored image, in snapshot mode, arrives at the other site, and can be
# cloned there to have a look at the data. The primary knows nothing of that clone: there the snapshot
# can be unprotected and removed. One would guess that the other site keeps the snapshot for its clone,
# as it does for one of format 2, and copies on. `rbd clone` makes format 1 as long as the cluster
# admits clients before Mimic, which is the default. rbd-mirror of Ceph 16.2.15 then copies the next
# mirror snapshot, cannot unprotect the removed one (EBUSY), and ends with an error. That mirror
# snapshot stays at "100% copied" and incomplete, and later ones are not copied at all. The primary
# shows nothing; its own view is healthy.
#
# A failover finds the state before the removal. Once the clone is removed or flattened, the copy goes
# on by itself. `--rbd-default-clone-format 2` has no such trouble: the snapshot goes to the trash.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
# shellcheck source=findings/lib/two_sites.sh
. "$(dirname "$0")/lib/two_sites.sh"
need_ceph 16.2.15+ds-0+deb12u2 rbd-mirror python3-rbd

mirror_from_a_to_b

write() { with_disk "image.write(b'$1', 0)"; }
content() { with_disk 'print(image.read(0, 4).decode())' 'read_only=True'; }
at_b() { (use_site b; "$@"); }
description() { in_site rbd mirror image status rbd/disk | sed -n 's/^  description: *//p' | head -n 1; }
state() { in_site rbd mirror image status rbd/disk | sed -n 's/^  state: *//p' | head -n 1; }
fails() { [[ $(description) == "failed to apply remote image state" ]]; }
fails_there() { at_b fails; }
# The newest copy there: how far, and whether it is complete.
newest_copy() {
  in_site rbd snap ls --all --format json rbd/disk | grep -oE '"last_copied_object_number":[0-9]+|"complete":(true|false)' | tail -n 2 | grep -o 'true\|false'
}
snapshot_is_there() { at_b in_site rbd info rbd/disk@golden; }
removed_with_a_clone() { # FORMAT-OPTION...: at the other site
  use_site a
  in_site rbd snap create --no-progress rbd/disk@golden
  in_site rbd snap protect rbd/disk@golden
  take_mirror_snapshot b
  until_true snapshot_is_there
  use_site b
  in_site rbd clone "$@" rbd/disk@golden rbd/look
  use_site a
  in_site rbd snap unprotect rbd/disk@golden
  in_site rbd snap rm --no-progress rbd/disk@golden
}

use_site a
in_site rbd create --size 4M rbd/disk
in_site rbd mirror image enable rbd/disk snapshot >/dev/null
write day1
use_site b
until_true in_site rbd info rbd/disk

removed_with_a_clone --rbd-default-clone-format 2
write day2
take_mirror_snapshot b
expect "the copy beside a clone of format 2" "day2" "$(at_b content)"
at_b in_site rbd rm --no-progress rbd/look

removed_with_a_clone
expect "a plain clone is of format" "1" \
  "$(at_b in_site rbd info rbd/look | grep -q 'op_features:.*clone-child' && echo 2 || echo 1)"
write day3
in_site rbd mirror image snapshot rbd/disk >/dev/null
until_true fails_there
expect "the newest copy is complete" "false" "$(at_b newest_copy)"
write day4
in_site rbd mirror image snapshot rbd/disk >/dev/null
sleep 10
expect "the other site" "up+error: failed to apply remote image state" "$(at_b state): $(at_b description)"
expect "snapshots of the primary" "0" "$(in_site rbd snap ls rbd/disk | wc -l)"
at_b in_site rbd rm --no-progress rbd/look
copied() { [[ $(at_b content) == day4 ]]; }
until_true copied
expect "the copy after the clone is gone" "day4" "$(at_b content)"
