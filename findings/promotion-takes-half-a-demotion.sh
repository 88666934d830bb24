#!/usr/bin/env bash
# A planned move in snapshot mode: the image is demoted at one site, and promoted at the other one
# without --force. There rbd-mirror dies while it copies the demotion. One would guess that the
# promotion is refused until the copy is whole, as it is while the other site is primary, or that it
# returns to the last whole state, as with --force. Ceph 16.2.15 answers 0 once the dead client has
# no watch any more: the image is primary and takes writes, and holds a mixture of old and new
# objects, which it never was at the other site.
#
# Who promotes must look first whether the newest mirror snapshot is complete (`rbd snap ls --all`).
# (By hand: Ceph 18.2.7 did the same, 20.2.4 refuses it as busy.)
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
# shellcheck source=findings/lib/two_sites.sh
. "$(dirname "$0")/lib/two_sites.sh"
need_ceph 16.2.15+ds-0+deb12u2 rbd-mirror python3-rbd

use_site a
start_site_at 127.0.0.1 memstore
use_site b
start_site_at 127.0.0.2 memstore
look_often
# So that the copy of the demotion takes some seconds.
echo 'rbd_concurrent_management_ops = 1' >>"$root/etc/ceph/ceph.conf"
join a b rx-only
there sh -c 'echo $$ >/tmp/mirror; exec rbd-mirror -f' >/dev/null 2>&1 &

objects=8192
# Of each object the first letter: how many are of the first and of the second writing.
letters() { with_disk "read = image.read(0, $objects << 12)[::4096]; print(read.count(b'1'), read.count(b'2'))" 'read_only=True'; }
write() { with_disk "[image.write(b'$1' * 4096, n << 12) for n in range($objects)]"; }
use_site a
in_site rbd create --size "$((objects / 256))M" --object-size 4K rbd/disk
in_site rbd mirror image enable rbd/disk snapshot >/dev/null
write 1
use_site b
until_true in_site rbd info rbd/disk
use_site a
take_mirror_snapshot b
write 2
in_site rbd mirror image demote rbd/disk >/dev/null
use_site b
arriving() { [[ $(letters) == *' '[1-9]* ]]; }
until_true arriving
kill -KILL "$(cat "$root/tmp/mirror")"
no_watcher() { ! in_site rbd status rbd/disk | grep -q watcher=; }
until_true no_watcher
newest() { in_site rbd snap ls --all --format json rbd/disk | grep -oE '"state":"demoted",[^{}]*"complete":[a-z]+' | grep -oE '[a-z]+$'; }
expect "the copy of the demotion is complete" false "$(newest)"
expect "the promotion's exit code" 0 "$(there timeout 60 rbd mirror image promote rbd/disk >/dev/null 2>&1; echo $?)"
expect "primary after it" true "$(in_site rbd info --format json rbd/disk | grep -o '"primary":[a-z]*' | cut -d: -f2)"
promoted=$(letters)
seen "objects of the first and of the second writing in the new primary: $promoted"
mixed=no
if [[ $promoted == [1-9]*' '[1-9]* ]]; then mixed=yes; fi
expect "a mixture of both" yes "$mixed"
expect "a write into it" written "$(with_disk "image.write(b'3', 0)" >/dev/null 2>&1 && echo written || echo refused)"
