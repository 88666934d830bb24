#!/usr/bin/env bash
# A mirrored image that is demoted while a client still has it open. Clients of librbd get "Read-only
# file system" for each write from then on, and one would guess the same of the kernel's: to map a
# copy for writing is refused there, too. But what is mapped already is not told: Linux 6.1.187 gives
# the exclusive lock away for the demotion, takes it again, and writes into the demoted image with
# exit code 0. The other site may be promoted by then; nothing of this is ever copied there.
#
# Who demotes looks for watchers first: the kernel client is one. Neither the answer of the demotion
# nor an error of the writer tells. (Linux 6.12.117 and 7.2.12 did the same, by hand.)
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
# shellcheck source=findings/lib/kernel_client.sh
. "$(dirname "$0")/lib/kernel_client.sh"
need_ceph 16.2.15+ds-0+deb12u2 python3-rbd "${KERNEL_CLIENT[@]}"
start_site_at 192.168.77.1 memstore
start_client rbd

make_mirrored_disk
write_by_kernel() { # TEXT
  in_client "printf '%s' '$1' | dd of=/dev/rbd0 bs=512 conv=sync oflag=direct status=none; echo \$?"
}
write_by_librbd() {
  in_site rbd bench --io-type write --io-size 512 --io-total 512 rbd/disk 2>&1 | sed -n 's/^write error: //p'
}
content() { # of an image or a snapshot, its first sector
  in_site sh -c "rbd export --no-progress '$1' /tmp/content; head -c 512 /tmp/content; rm /tmp/content" | tr -d '\0'
}
expect "map, exit code" 0 "$(in_client 'rbd map -o noudev rbd/disk >/dev/null; echo $?')"
expect "a write by the kernel, exit code" 0 "$(write_by_kernel before)"
expect "the demotion's exit code" 0 "$(in_site rbd mirror image demote rbd/disk >/dev/null 2>&1; echo $?)"
expect "primary after it" false "$(in_site rbd info --format json rbd/disk | grep -o '"primary":[a-z]*' | cut -d: -f2)"
expect "a write by the kernel after it, exit code" 0 "$(write_by_kernel after)"
expect "the device's flag 'read-only'" 0 "$(in_client 'cat /sys/block/rbd0/ro')"
expect "the image's first sector" after "$(content rbd/disk)"
expect "a write by librbd" "(30) Read-only file system" "$(write_by_librbd)"
demotion=$(in_site rbd snap ls --all --format json rbd/disk | grep -oE '"id":[0-9]+' | tail -n 1 | cut -d: -f2)
expect "the demotion's own snapshot, first sector" before "$(in_site python3 -c 'import rados, rbd, sys
with rados.Rados(conffile="/etc/ceph/ceph.conf") as cluster, cluster.open_ioctx("rbd") as pool:
    with rbd.Image(pool, "disk", read_only=True) as image:
        image.set_snap_by_id(int(sys.argv[1]))
        print(image.read(0, 512).rstrip(b"\0").decode())' "$demotion")"
in_client 'rbd unmap -o noudev /dev/rbd0' >/dev/null
expect "map again" "map failed: (6) No such device or address" \
  "$(in_client 'timeout 20 rbd map -o noudev rbd/disk 2>&1 | grep -o "map failed: .*"')"
