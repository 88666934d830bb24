#!/usr/bin/env bash
# A snapshot of a mirrored image arrives at the other site with the next mirror snapshot. One would
# guess that it reads there as on the primary, or, where Ceph does not carry a discard, as the copy
# itself does. Ceph 16.2.15 carries a discard of the beginning of an object neither into the copy nor
# into what is read of the snapshot: the copy has all 4 MiB of the object, and the snapshot reads as
# if the object had never been written. Its object map says that there is none; the data are there.
# A volume that is restored of it is empty. A promotion does not change that.
#
# `rbd object-map rebuild IMAGE@SNAPSHOT` does, once the image is primary. Until then only the
# objects themselves tell (`rados get` of a snapshot); neither reading nor `rbd export` or `rbd du` does.
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

# Of the image, or of a snapshot: its bytes that are not zero.
bytes_of() { with_disk 'print(sum(map(bool, image.read(0, 4 << 20))))' "${1:+snapshot='$1'}"; }
use_site a
in_site rbd create --size 4M rbd/disk
in_site rbd mirror image enable rbd/disk snapshot >/dev/null
with_disk 'image.write(b"x" * (4 << 20), 0)'
use_site b
until_true in_site rbd info rbd/disk
use_site a
take_mirror_snapshot b
with_disk 'image.discard(0, 1 << 20)'
in_site rbd snap create --no-progress rbd/disk@mine
take_mirror_snapshot b
expect "primary, image" 3145728 "$(bytes_of)"
expect "primary, snapshot" 3145728 "$(bytes_of mine)"
use_site b
expect "secondary, image" 4194304 "$(bytes_of)"
expect "secondary, snapshot" 0 "$(bytes_of mine)"
in_site rbd mirror image promote --force rbd/disk >/dev/null
expect "promoted, snapshot" 0 "$(bytes_of mine)"
in_site rbd clone --rbd-default-clone-format 2 rbd/disk@mine rbd/restored
in_site rbd export --no-progress rbd/restored /tmp/restored
expect "restored volume, bytes that are not zero" 0 "$(in_site tr -d '\0' <"$root/tmp/restored" | wc -c)"
in_site rbd object-map rebuild --no-progress rbd/disk@mine
expect "snapshot after a rebuild of its object map" 4194304 "$(bytes_of mine)"
