#!/usr/bin/env bash
# An image is a clone, as ceph-csi makes of a restored VolumeSnapshot. Its parent and the clone are
# both mirrored, in snapshot mode, and both copies are right. Then 4 KiB are written into the clone.
# One would guess that 4 KiB are copied. But at the primary such a write first brings the object's
# data from the parent, and at the other site nothing does. The object there has the 4 KiB, and
# zeros around them. `rbd flatten` at the primary makes it worse: all that came from the parent is
# zeros then. Each status calls the copy complete and healthy.
#
# Flatten before the mirroring begins. A resync mends it. (Ceph tracker 61891; 20.2.4 did the same,
# by hand.)
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

zeros() { # how many KiB of the disk are zeros, at both sites
  local site count=
  for site in b a; do
    use_site "$site"
    count="$(with_disk 'print(image.read(0, 16 << 20).count(0) >> 10)' 'read_only=True') $count"
  done
  echo "${count% }"
}
has() { in_site sh -c "rbd snap ls --all rbd/$1 | grep -q '$2'"; } # IMAGE TEXT
use_site a
in_site rbd create --size 16M rbd/disk
with_disk 'image.write(b"p" * (16 << 20), 0)'
in_site rbd rename rbd/disk rbd/parent
in_site rbd snap create --no-progress rbd/parent@restored
in_site rbd mirror image enable rbd/parent snapshot >/dev/null
use_site b
until_true has parent copied
use_site a
in_site rbd clone --rbd-default-clone-format 2 rbd/parent@restored rbd/disk
in_site rbd mirror image enable rbd/disk snapshot >/dev/null
use_site b
until_true has disk copied
use_site a
take_mirror_snapshot b
expect "KiB of zeros at both sites before" "0 0" "$(zeros)"
with_disk 'image.write(b"x" * 4096, 0)'
take_mirror_snapshot b
expect "KiB of zeros after a write of 4 KiB" "0 4092" "$(zeros)"
in_site rbd flatten --no-progress rbd/disk
take_mirror_snapshot b
expect "KiB of zeros after rbd flatten" "0 16380" "$(zeros)"
use_site b
state() { in_site rbd mirror image status rbd/disk | sed -n 's/^  state: *//p' | head -n 1; }
is_reported() { [[ $(state) == up+* ]]; }
until_true is_reported
expect "the copy's state" up+replaying "$(state)"
expect "the pool's health" OK "$(in_site rbd mirror pool status rbd | sed -n 's/^health: //p')"
