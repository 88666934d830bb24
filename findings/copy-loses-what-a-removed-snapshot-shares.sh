#!/usr/bin/env bash
# An image has a user's snapshot 'u', and a later snapshot that was removed. The OSDs have not
# trimmed that one yet, as on a busy cluster, or with the flag nosnaptrim. One would guess that a
# copy takes no notice of it. But `rbd deep cp` and rbd-mirror read what both share at the newest
# snapshot that shares it, also when that is the removed one. The OSD answers that there is no such
# object, and the copy takes that for a hole. `rbd deep cp` ends with 0, and each status is healthy.
#
# The copy has zeros there, or its older data when it had some. It stays so after the trim and later
# mirror snapshots; a resync after the trim mends it. Nobody has to remove a snapshot: Ceph removes
# each mirror snapshot by itself, and a resync right after that is enough. Reads of the snapshot,
# `rbd export`, `rbd cp` and `rbd export-diff` are right.
#
# The flag only makes it sure. Without it, with the default pause of an OSD on a disk, 3 of 4 deep
# copies right after the removal lost data. (Ceph 18.2.7 and 20.2.4 did the same with the flag, by
# hand. `rbd migration` of all three does, too, and its commit removes the image that had the data.)
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

fill() { with_disk "image.write(b'$1' * (8 << 20), 0)"; }
begin_with() { with_disk "image.write(b'$1' * 4096, 0)"; } # only 4 KiB, in the first of two objects
content() { # of an image, or of its snapshot: the first letter of each MiB
  in_site rbd export --no-progress "rbd/$1" - | tr '\0' 0 | fold -b -w 1048576 | cut -c 1 | tr -d '\n'
}
content_there() { (use_site b; content disk); }
snap() { in_site rbd snap "$1" --no-progress "rbd/disk@$2"; }
trim() { # on | off
  if [[ $1 == on ]]; then
    in_site ceph osd unset nosnaptrim 2>/dev/null
    until_true in_site sh -c 'ceph osd dump --format json | grep -qF "\"removed_snaps_queue\":[]"'
  else
    in_site ceph osd set nosnaptrim 2>/dev/null
  fi
}
image_id() { in_site rbd info --format json rbd/disk | grep -o '"id":"[^"]*' | cut -d'"' -f4; }
resync() {
  local was id
  id=$(newest_snapshot)
  use_site b
  was=$(image_id)
  in_site rbd mirror image resync rbd/disk >/dev/null
  is_new() { [[ $(image_id) != "$was" ]]; }
  until_true in_site rbd info rbd/disk
  until_true is_new
  until_true in_site sh -c "rbd snap ls --all --format json rbd/disk | grep -q '\"complete\":true,[^{}]*\"primary_snap_id\":$id,'"
  use_site a
}

use_site a
trim off
in_site rbd create --size 8M rbd/disk
fill a
snap create u
snap create removed
begin_with h
snap rm removed
expect "snapshot 'u' and the image" "aaaaaaaa haaaaaaa" "$(content disk@u) $(content disk)"
expect "rbd deep cp, exit code" 0 "$(in_site rbd deep cp --no-progress rbd/disk rbd/copy >/dev/null 2>&1; echo $?)"
expect "snapshot 'u' and the image in the deep copy" "0000aaaa h000aaaa" "$(content copy@u) $(content copy)"
in_site rbd create --size 8M rbd/imported
in_site sh -c 'rbd export-diff --no-progress rbd/disk@u - | rbd import-diff --no-progress - rbd/imported'
in_site sh -c 'rbd export-diff --no-progress --from-snap u rbd/disk - | rbd import-diff --no-progress - rbd/imported'
expect "the same from export-diff and import-diff" "aaaaaaaa haaaaaaa" "$(content imported@u) $(content imported)"

in_site rbd mirror image enable rbd/disk snapshot >/dev/null
use_site b
until_true in_site rbd info rbd/disk
use_site a
take_mirror_snapshot b
expect "the other site's copy, the first" h000aaaa "$(content_there)"
use_site b
state() { in_site rbd mirror image status rbd/disk | sed -n 's/^  state: *//p' | head -n 1; }
is_reported() { [[ $(state) == up+* ]]; }
until_true is_reported
expect "its state" up+replaying "$(state)"
expect "the pool's health" OK "$(in_site rbd mirror pool status rbd | sed -n 's/^health: //p')"
use_site a
trim on
take_mirror_snapshot b
expect "the other site's copy after the trim and one more mirror snapshot" h000aaaa "$(content_there)"
in_site rbd deep cp --no-progress rbd/disk rbd/copy-after-the-trim
expect "a deep copy after the trim" haaaaaaa "$(content copy-after-the-trim)"
resync
expect "the other site's copy after a resync" haaaaaaa "$(content_there)"

trim off
fill b
snap create v
snap create removed
begin_with i
snap rm removed
take_mirror_snapshot b
expect "what the next mirror snapshot should take there" ibbbbbbb "$(content disk)"
expect "what it took there" iaaabbbb "$(content_there)"

snap rm u
snap rm v
trim on
trim off
fill c
snap create w
take_mirror_snapshot b
shares=$(newest_snapshot)
begin_with j
take_mirror_snapshot b
take_mirror_snapshot b
is_removed() {
  local all
  all=$(in_site rbd snap ls --all --format json rbd/disk) && [[ $all != *"\"id\":$shares,"* ]]
}
until_true is_removed
expect "both sites after more of them, without a snapshot that a user removed" "jccccccc jccccccc" "$(content disk) $(content_there)"
resync
expect "both sites after a resync" "jccccccc j000cccc" "$(content disk) $(content_there)"
