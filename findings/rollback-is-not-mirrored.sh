#!/usr/bin/env bash
# A mirrored image, in snapshot mode, is rolled back to a snapshot, as after a bad upgrade or
# malware. One would guess that the next mirror snapshot takes that to the other site: every block
# may have changed. But the copy asks the object map what has changed, and a rollback brings the map
# of the snapshot back. What had not been written right before that snapshot is called unchanged
# there. So the bad state stays at the other site, and each status calls it complete and healthy.
# What is written later arrives, into the bad state. `rbd diff --whole-object`, which backup tools
# use, is wrong as well.
#
# `rbd object-map rebuild` between the rollback and the next mirror snapshot avoids it. Afterwards
# a resync mends it. (Ceph 18.2.7 and 20.2.4 did the same, by hand.)
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
# shellcheck source=findings/lib/two_sites.sh
. "$(dirname "$0")/lib/two_sites.sh"
need_ceph 16.2.15+ds-0+deb12u2 rbd-mirror python3-rbd

use_site a
start_site_at 127.0.0.1 bluestore
use_site b
start_site_at 127.0.0.2 bluestore
look_often
join a b rx-only
start_rbd_mirror

write() { with_disk "image.write(b'$1' * ($2 << 20), 0)"; } # LETTER MEGABYTES
content() { with_disk 'print(image.read(0, 8 << 20)[::1 << 20].decode())' 'read_only=True'; }
contents() { # the first letter of each MiB, at both sites
  local letters
  letters=$(content)
  use_site b
  letters+=" $(content)"
  use_site a
  echo "$letters"
}
use_site a
in_site rbd create --size 8M rbd/disk
in_site rbd mirror image enable rbd/disk snapshot >/dev/null
write g 8
use_site b
until_true in_site rbd info rbd/disk
use_site a
take_mirror_snapshot b
in_site rbd snap create --no-progress rbd/disk@good
write b 8
take_mirror_snapshot b
in_site rbd snap create --no-progress rbd/disk@bad
expect "both sites before the rollback" "bbbbbbbb bbbbbbbb" "$(contents)"
in_site rbd snap rollback --no-progress rbd/disk@good
whole_objects() { in_site rbd diff --whole-object --format json --from-snap bad rbd/disk; }
expect "what differs from snapshot 'bad', by whole objects" '[]' "$(whole_objects)"
take_mirror_snapshot b
expect "both sites after the rollback and a mirror snapshot" "gggggggg bbbbbbbb" "$(contents)"
write n 3
take_mirror_snapshot b
expect "both sites after 3 MiB more" "nnnggggg nnnbbbbb" "$(contents)"
use_site b
state() { in_site rbd mirror image status rbd/disk | sed -n 's/^  state: *//p' | head -n 1; }
is_reported() { [[ $(state) == up+* ]]; }
until_true is_reported
expect "the copy's state" up+replaying "$(state)"
expect "the pool's health" OK "$(in_site rbd mirror pool status rbd | sed -n 's/^health: //p')"

use_site a
in_site rbd snap rollback --no-progress rbd/disk@good
in_site rbd object-map rebuild --no-progress rbd/disk
take_mirror_snapshot b
expect "both sites after a rollback and a rebuild of the object map" "gggggggg gggggggg" "$(contents)"
