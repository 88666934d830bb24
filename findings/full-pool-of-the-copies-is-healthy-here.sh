#!/usr/bin/env bash
# The pool with the copies, at the other site, is full. One would guess that this site is told: the
# copies fail, or fall behind, and the pool's health is no longer OK. But Ceph 16.2.15 lets
# rbd-mirror wait for room, as any client of that pool. It keeps reporting here, every 30 s, that
# the image is replaying, and "health: OK" stays here (200 s watched). Only a detail tells,
# syncing_percent, which stays 0. Nor can the copies be used there in a disaster: a forced promotion
# waits as well.
#
# Who watches mirroring must watch the room at the other site, too, and the age of the last complete
# copy. With room again it goes on by itself. (Ceph 20.2.4 did the same, by hand.)
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
# shellcheck source=findings/lib/two_sites.sh
. "$(dirname "$0")/lib/two_sites.sh"
need_ceph 16.2.15+ds-0+deb12u2 rbd-mirror python3-rbd

use_site a
start_site_at 127.0.0.1 memstore
look_often
use_site b
start_site_at 127.0.0.2 memstore
look_often
# Reading an image writes the time of it, once a minute, which would wait, too.
echo 'rbd_atime_update_interval = 0' >>"$root/etc/ceph/ceph.conf"
join a b rx-tx
start_rbd_mirror
use_site a
start_rbd_mirror

for image in disk other; do
  in_site rbd create --size 4M "rbd/$image"
  in_site rbd mirror image enable "rbd/$image" snapshot >/dev/null
done
write() { with_disk "image.write(b'$1', 0)"; }
content() { with_disk 'print(image.read(0, 3).decode())' 'read_only=True'; }
health() { in_site rbd mirror pool status rbd | grep -o '^health: .*'; }
# What the other site has told here of the image.
peer() { in_site rbd mirror image status rbd/disk | sed -n "/peer_sites/,\$s/^ *$1: *//p"; }
write old
use_site b
for image in disk other; do until_true in_site rbd info "rbd/$image"; done
use_site a
take_mirror_snapshot b
healthy() { [[ $(health) == 'health: OK' && $(peer state) == up+replaying ]]; }
until_true healthy

use_site b
full() { in_site sh -c 'ceph osd dump | grep -q full_quota'; }
in_site ceph osd pool set-quota rbd max_objects 1 >/dev/null 2>&1
until_true full
use_site a
write new
in_site rbd mirror image snapshot rbd/disk >/dev/null
tries() { [[ $(peer description) == *syncing_percent* ]]; }
until_true tries
told=$(peer last_update)
sleep 60
expect "the pool's health, here" "health: OK" "$(health)"
expect "the copy's state, here" up+replaying "$(peer state)"
expect "copied of it, in percent" 0 "$(peer description | grep -o '"syncing_percent":[0-9]*' | cut -d: -f2)"
later=no
if [[ $(peer last_update) > $told ]]; then later=yes; fi
expect "the other site has reported again" yes "$later"
use_site b
seen "the other site's own view of the pool: $(health)"
expect "the copy" old "$(content)"
expect "a forced promotion of another copy, exit code (124: it waited)" 124 \
  "$(in_site timeout 20 rbd mirror image promote --force rbd/other >/dev/null 2>&1; echo $?)"
in_site ceph osd pool set-quota rbd max_objects 0 >/dev/null 2>&1
is_new() { [[ $(content) == new ]]; }
until_true is_new
expect "the copy, with room" new "$(content)"
