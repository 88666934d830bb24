#!/usr/bin/env bash
# At an image's limit of snapshots `rbd mirror image snapshot` is refused ("Disk quota exceeded",
# 122). One would guess that the same without the pause of the clients, --skip-quiesce, is
# refused, too. Ceph 16.2.15 answers 0 and names a snapshot, 18446744073709551614 (2^64 - 2),
# and there is none: what a program believes to be on its way to the other site is not.
#
# The id must be looked for among the image's snapshots.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
need_ceph 16.2.15+ds-0+deb12u2
start_site

in_site rbd mirror pool enable rbd image
in_site rbd mirror pool peer add rbd client.admin@other >/dev/null # no snapshot without one
in_site rbd create --size 4M rbd/disk
in_site rbd mirror image enable rbd/disk snapshot >/dev/null
in_site rbd snap create rbd/disk@mine 2>/dev/null
in_site rbd snap limit set --limit 2 rbd/disk
snapshots() { in_site rbd snap ls --all --format json rbd/disk | grep -o '"id":' | wc -l; }
expect "snapshots before" 2 "$(snapshots)"
expect "exit code with the pause" 122 "$(in_site rbd mirror image snapshot rbd/disk >/dev/null 2>&1; echo $?)"
expect "answer without it" "Snapshot ID: 18446744073709551614" "$(in_site rbd mirror image snapshot --skip-quiesce rbd/disk 2>/dev/null)"
expect "snapshots after" 2 "$(snapshots)"
