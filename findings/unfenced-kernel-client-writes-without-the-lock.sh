#!/usr/bin/env bash
# A node is fenced by its address, and its volume goes on elsewhere: another client breaks the lock and
# writes. Later the fence is lifted, while the node still has the volume mapped. One would guess that
# the device stays dead until it is mapped anew, or that the kernel asks for the lock, as librbd does.
# Linux 6.1.187 asks nobody. It writes at once, exit code 0, beside the client that has the lock. It
# was not told of the loss, because its watch had gone with the fence.
#
# The watch does not come back, either. So `rbd status` names no client, and `rbd rm` removes the image
# under the device. What is written then makes objects that belong to no image.
#
# Who lifts a fence must know that the node was started anew. Neither watchers nor locks show that, only
# the node's own `rbd device list`.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
# shellcheck source=findings/lib/kernel_client.sh
. "$(dirname "$0")/lib/kernel_client.sh"
need_ceph 16.2.15+ds-0+deb12u2 python3-rbd "${KERNEL_CLIENT[@]}"
start_site_at 192.168.77.1 memstore
start_client rbd

watchers() { in_site rbd status rbd/disk | grep -c watcher= || true; }
locker() { in_site rbd lock ls rbd/disk | grep -o 'client\.[0-9]*'; }
write_by_kernel() { # TEXT BLOCK
  in_client "printf '%s' '$1' | dd of=/dev/rbd0 bs=4k seek=$2 conv=sync oflag=direct status=none 2>/dev/null; echo \$?"
}
content() { with_disk 'print(*[image.read(n << 12, 8).rstrip(b"\0").decode() or "-" for n in range(3)])' 'read_only=True'; }
in_site rbd create --size 4M rbd/disk
expect "map, exit code" 0 "$(in_client 'rbd map -o noudev rbd/disk >/dev/null; echo $?')"
expect "a write by the kernel, exit code" 0 "$(write_by_kernel kernel 0)"
expect "watchers" 1 "$(watchers)"
node=$(in_site rbd status rbd/disk | sed -n 's/.*watcher=\([^ ]*\) .*/\1/p')
kernel=$(locker)

in_site ceph osd blocklist add "$node" 3600 2>/dev/null
expect "a write by the fenced kernel, exit code" 1 "$(write_by_kernel kernel 0)"
hold='image.write(b"librbd", 4096); open("/tmp/holds", "w"); sys.stdin.readline(); image.write(b"librbd", 8192)'
with_disk "$hold" < <(until_true test -e "$root/tmp/done"; echo) &
holder=$!
until_true test -e "$root/tmp/holds"
owner=$(locker)
is_other() { [[ $owner != "$kernel" ]] && echo yes || echo no; }
expect "the lock is another client's" yes "$(is_other)"
expect "the first three blocks" "kernel librbd -" "$(content)"
in_site ceph osd blocklist rm "$node" 2>/dev/null
expect "a write by the kernel after the fence, exit code" 0 "$(write_by_kernel again 1)"
expect "the first three blocks" "kernel again -" "$(content)"
expect "the lock's owner" "$owner" "$(locker)"
expect "watchers" 1 "$(watchers)"
touch "$root/tmp/done"
wait "$holder"
expect "the first three blocks" "kernel again librbd" "$(content)"
expect "watchers when the other client has closed it" 0 "$(watchers)"
expect "a write by the kernel, exit code" 0 "$(write_by_kernel again 2)"

objects() { in_site rados -p rbd ls | grep -c '^rbd_data' || true; }
expect "rbd rm, exit code" 0 "$(in_site rbd rm --no-progress rbd/disk >/dev/null 2>&1; echo $?)"
expect "data objects" 0 "$(objects)"
expect "a write by the kernel, exit code" 0 "$(write_by_kernel again 0)"
expect "data objects" 1 "$(objects)"
