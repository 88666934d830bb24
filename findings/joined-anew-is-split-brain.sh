#!/usr/bin/env bash
# Two sites mirror, and all is in step. The peer is removed, and the two are joined again, as after
# a lost key or a move of the monitors. One would guess that the copies go on where they stood: the
# images, their ids and the last mirror snapshot are the same. But the primary makes its next mirror
# snapshot for the new peer, and removes the last one, because no peer is left that needs it. It is
# the one from which the other site would go on. That says "split-brain" of each image, although
# nobody ever wrote there. Only a resync helps: it deletes each copy, and makes it from nothing.
#
# `rbd mirror pool peer set` changes client, key and monitors of a peer that stays. (Ceph 20.2.4 did
# the same, by hand.)
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
# shellcheck source=findings/lib/two_sites.sh
. "$(dirname "$0")/lib/two_sites.sh"
need_ceph 16.2.15+ds-0+deb12u2 rbd-mirror python3-rbd

mirror_from_a_to_b

image_id() { in_site rbd info --format json rbd/disk | grep -o '"id":"[^"]*' | cut -d'"' -f4; }
status() { in_site rbd mirror image status rbd/disk | sed -n "s/^  $1: *//p" | head -n 1; }
content() { with_disk 'print(image.read(0, 4).decode())' 'read_only=True'; }
use_site a
in_site rbd create --size 4M rbd/disk
in_site rbd mirror image enable rbd/disk snapshot >/dev/null
with_disk 'image.write(b"once", 0)'
use_site b
until_true in_site rbd info rbd/disk
use_site a
take_mirror_snapshot b
use_site b
replays() { [[ $(status state) == up+replaying ]]; }
until_true replays
expect "the copy before" "up+replaying once" "$(status state) $(content)"
id=$(image_id)

for site in b a; do
  use_site "$site"
  in_site rbd mirror pool peer remove rbd "$(in_site rbd mirror pool info rbd | sed -n 's/^UUID: //p')"
done
expect "the join anew, exit code" 0 "$(join a b rx-only >/dev/null 2>&1; echo $?)"
use_site a
# The other site's rbd-mirror makes itself known here.
until_true in_site sh -c 'rbd mirror pool info rbd | grep -q "^UUID:"'
with_disk 'image.write(b"more", 0)'
expect "mirror snapshot, exit code" 0 "$(in_site rbd mirror image snapshot rbd/disk >/dev/null; echo $?)"
expect "mirror snapshots of the primary" 1 "$(in_site rbd snap ls --all --format json rbd/disk | grep -o '"type":"mirror"' | wc -l)"
use_site b
fails() { [[ $(status state) == up+error ]]; }
# On a busy machine more than a minute passed, twice.
within 300 fails
expect "the copy after it" "split-brain once" "$(status description) $(content)"
in_site rbd mirror image resync rbd/disk >/dev/null
has_more() { [[ $(content) == more ]]; }
until_true has_more
same=no
if [[ $(image_id) == "$id" ]]; then same=yes; fi
expect "after a resync it is the same image" no "$same"
