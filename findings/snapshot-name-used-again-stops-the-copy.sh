#!/usr/bin/env bash
# A backup keeps one snapshot `latest` of a mirrored image, in snapshot mode: it removes the old one
# and makes the new one. Another backup turns names: `daily.0` becomes `daily.1`, and there is a new
# `daily.0`. One would guess that the next mirror snapshot takes that to the other site. Each step
# alone arrives there. rbd-mirror of Ceph 16.2.15 makes the new snapshot first, and removes or renames
# the old one at the end of the copy. So the name is taken, and the copy ends with an error before
# its first byte. Later mirror snapshots meet the same error: nothing is copied any more.
#
# A failover then finds the state before that backup. The primary's snapshot has to lose its name until
# a copy is complete. A backup that gives each snapshot a new name has no such trouble.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
# shellcheck source=findings/lib/two_sites.sh
. "$(dirname "$0")/lib/two_sites.sh"
need_ceph 16.2.15+ds-0+deb12u2 rbd-mirror python3-rbd

mirror_from_a_to_b

snap() { in_site rbd snap "$@"; }
write() { with_disk "image.write(b'$1', 0)"; }
content() { with_disk 'print(image.read(0, 4).decode())' 'read_only=True'; }
names() { in_site rbd snap ls rbd/disk | awk 'NR > 1 { print $2 }' | xargs; }
at_b() { (use_site b; "$@"); }
description() { in_site rbd mirror image status rbd/disk | sed -n 's/^  description: *//p' | head -n 1; }
fails() { [[ $(description) == "failed to copy snapshots"* ]]; }
fails_there() { at_b fails; }
mirror_snapshots() { # COUNT: each is left to the other site for some seconds
  local i
  for ((i = 0; i < $1; i++)); do
    in_site rbd mirror image snapshot rbd/disk >/dev/null
    sleep 3
  done
}

use_site a
in_site rbd create --size 4M rbd/disk
in_site rbd mirror image enable rbd/disk snapshot >/dev/null
write day1
snap create --no-progress rbd/disk@latest
use_site b
until_true in_site rbd info rbd/disk
use_site a
take_mirror_snapshot b
expect "the copy and its snapshots" "day1 latest" "$(at_b content) $(at_b names)"

write day2
snap rm --no-progress rbd/disk@latest
snap create --no-progress rbd/disk@latest
mirror_snapshots 1
until_true fails_there
write day3
mirror_snapshots 3
until_true fails_there
expect "primary" "day3 latest" "$(content) $(names)"
expect "the other site" "failed to copy snapshots from remote to local image" "$(at_b description)"
expect "the copy and its snapshots" "day1 latest" "$(at_b content) $(at_b names)"
snap rename rbd/disk@latest rbd/disk@daily.0
take_mirror_snapshot b
expect "the copy after the snapshot got another name" "day3 daily.0" "$(at_b content) $(at_b names)"

write day4
snap rename rbd/disk@daily.0 rbd/disk@daily.1
snap create --no-progress rbd/disk@daily.0
mirror_snapshots 2
until_true fails_there
expect "primary" "day4 daily.1 daily.0" "$(content) $(names)"
expect "the copy after names were turned" "day3 daily.0" "$(at_b content) $(at_b names)"
