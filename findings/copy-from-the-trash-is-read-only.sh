#!/usr/bin/env bash
# The other site has `rbd_mirroring_delete_delay`, so that a mirrored image that is removed by mistake
# stays in the trash there as long. It is removed, and its copy is restored at the other site. One
# would guess that the copy can be promoted by force, as after any loss of the first site, or be
# mirrored as an image of its own. Ceph 16.2.15 restores it with exit code 0, and all of it can be
# read. But it is still marked as a copy, and is mirrored no more. Writes, promotion, resync and
# enabling are refused; disabling is OK, and changes nothing. `rbd info` says nothing about mirroring:
# only the feature "non-primary" tells.
#
# `rbd cp` of it makes an image that takes writes and can be mirrored.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
# shellcheck source=findings/lib/two_sites.sh
. "$(dirname "$0")/lib/two_sites.sh"
need_ceph 16.2.15+ds-0+deb12u2 rbd-mirror python3-rbd

mirror_from_a_to_b
in_site rbd config global set global rbd_mirroring_delete_delay 86400
trash_id() { in_site rbd trash ls --all rbd | awk '$2 == "disk" { print $1 }'; }
restore() { in_site rbd trash restore "$(trash_id)" >/dev/null 2>&1; echo $?; }
answer() { # COMMAND...: its exit code
  there timeout 60 rbd mirror image "$@" >/dev/null 2>&1
  echo $?
}
features() { in_site rbd info --format json rbd/disk | grep -o '"features":\[[^]]*' | grep -oE 'non-primary|journaling' || echo none; }
mirroring() { in_site rbd info rbd/disk | grep -c mirroring || true; }
write() { # IMAGE
  in_site rbd bench --io-type write --io-size 512 --io-total 512 "rbd/$1" 2>&1 | sed -n 's/^write error: //p'
}

use_site a
make_mirrored_disk
with_disk 'image.write(b"x" * (4 << 20), 0)'
use_site b
until_true in_site rbd info rbd/disk
use_site a
take_mirror_snapshot b
in_site rbd rm --no-progress rbd/disk
use_site b
in_trash() { [[ $(trash_id) ]]; }
until_true in_trash
expect "the copy in the trash" MIRRORING "$(in_site rbd trash ls --all --long rbd | awk '$2 == "disk" { print $3 }')"
expect "rbd trash restore, exit code" 0 "$(restore)"
expect "bytes of it that are not zero" 4194304 "$(with_disk 'print(sum(map(bool, image.read(0, 4 << 20))))' read_only=True)"
expect "lines about mirroring in rbd info" 0 "$(mirroring)"
expect "a write" "(30) Read-only file system" "$(write disk)"
expect "rbd mirror image promote --force, exit code" 22 "$(answer promote --force rbd/disk)"
expect "rbd mirror image resync, exit code" 22 "$(answer resync rbd/disk)"
expect "rbd mirror image enable in snapshot mode, exit code" 22 "$(answer enable rbd/disk snapshot)"
expect "the same in journal mode" 30 "$(answer enable rbd/disk journal)"
expect "rbd mirror image disable --force, exit code" 0 "$(answer disable --force rbd/disk)"
expect "its feature" non-primary "$(features)"
expect "a write after that" "(30) Read-only file system" "$(write disk)"
in_site rbd cp --no-progress rbd/disk rbd/saved
expect "a write into its rbd cp" "" "$(write saved)"
expect "to mirror its rbd cp, exit code" 0 "$(answer enable rbd/saved snapshot)"
