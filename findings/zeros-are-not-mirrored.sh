#!/usr/bin/env bash
# A virtual machine writes zeros over old data, on a disk that is mirrored in snapshot mode. QEMU
# has detect-zeroes, as is common beside discard: it makes "write zeroes" out of such a write. One
# would guess that zeros arrive at the other site as any data do. A discard may be forgotten, but
# zeros are content. Ceph 16.2.15 copies none of these: the old data stay at the other site, also
# where whole objects are zeros. Each status calls that copy complete and healthy. After a failover
# the machine reads what it had overwritten.
#
# Without detect-zeroes all arrive. The kernel (BLKZEROOUT, `blkdiscard -z`) and rbd_write_zeroes
# write such zeros, too. A resync mends the copy. (Seen by hand as well: a kernel client, Linux
# 6.1.187, and librbd and rbd-mirror of Ceph 20.2.4. Zeros of less than 64 KiB arrive.)
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
# shellcheck source=findings/lib/two_sites.sh
. "$(dirname "$0")/lib/two_sites.sh"
qemu=1:7.2+dfsg-7+deb12u18+b3
need_ceph 16.2.15+ds-0+deb12u2 rbd-mirror python3-rbd "qemu-utils=$qemu" "qemu-block-extra=$qemu"

use_site a
start_site_at 127.0.0.1 bluestore
use_site b
start_site_at 127.0.0.2 bluestore
look_often
join a b rx-only
start_rbd_mirror

# What a guest would write: a byte, and where.
write() { # DETECT-ZEROES BYTE OFFSET LENGTH
  in_site qemu-io --image-opts "driver=rbd,pool=rbd,image=disk,discard=unmap,detect-zeroes=$1" \
    -c "write -P $2 $3 $4" -c flush >/dev/null
}
zeros() { # how many KiB of the disk are zeros, at both sites
  local site count
  for site in b a; do
    use_site "$site"
    count="$(with_disk 'print(image.read(0, 16 << 20).count(0) >> 10)' 'read_only=True') ${count:-}"
  done
  echo "${count% }"
}
use_site a
seen "$(in_site qemu-io --version | head -n 1)"
in_site rbd create --size 16M rbd/disk
in_site rbd mirror image enable rbd/disk snapshot >/dev/null
write off 0x61 0 16M
use_site b
until_true in_site rbd info rbd/disk
use_site a
take_mirror_snapshot b
expect "KiB of zeros at both sites before" "0 0" "$(zeros)"
write off 0 0 1M
take_mirror_snapshot b
expect "the same after 1 MiB of zeros without detect-zeroes" "1024 1024" "$(zeros)"
write unmap 0 4M 1M
take_mirror_snapshot b
expect "after 1 MiB with detect-zeroes=unmap" "2048 1024" "$(zeros)"
write on 0 8M 8M
take_mirror_snapshot b
expect "after two whole objects with detect-zeroes=on" "10240 1024" "$(zeros)"
use_site b
state() { in_site rbd mirror image status rbd/disk | sed -n 's/^  state: *//p' | head -n 1; }
is_reported() { [[ $(state) == up+* ]]; }
until_true is_reported
expect "the copy's state" up+replaying "$(state)"
expect "the pool's health" OK "$(in_site rbd mirror pool status rbd | sed -n 's/^health: //p')"
in_site rbd mirror image promote --force rbd/disk >/dev/null
expect "at 4 MiB, after a failover" aaaa "$(with_disk 'print(image.read(4 << 20, 4).decode())')"
