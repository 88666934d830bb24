#!/usr/bin/env bash
# rbd-nbd that is killed (a node's plugin that is updated, say), with time to be attached again. One
# would guess that the device is still listed, as it is still there, with its size, its mounts and
# what waits to be written. rbd-nbd 16.2.15 on Linux 6.1.187 lists nothing and answers 0: it goes by
# processes, and the one that the kernel names is gone. Half a minute later the image has no watcher,
# either. So neither the node nor the cluster shows that the volume is in use; once it is attached
# again, it is written to. A list from within another process namespace is empty all the time.
#
# What is left is /sys/block/nbd*/backend: the cookie with which it is attached again.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
# shellcheck source=findings/lib/kernel_client.sh
. "$(dirname "$0")/lib/kernel_client.sh"
need_ceph 16.2.15+ds-0+deb12u2 rbd-nbd procps util-linux "${KERNEL_CLIENT[@]}"
start_site_at 192.168.77.1 memstore
start_client nbd

in_site rbd create --size 8M rbd/disk
list='rbd-nbd list-mapped --format json 2>/dev/null; echo " $?"'
devices() { grep -oE '"device":"[^"]*"|\[\]| [0-9]+$' <<<"$1" | xargs; }
has_watcher() { in_site sh -c 'rbd status rbd/disk | grep -q watcher='; }
has_none() { ! has_watcher; }
expect "map" /dev/nbd0 "$(in_client 'rbd-nbd map --try-netlink --reattach-timeout 600 rbd/disk 2>/dev/null')"
expect "listed, exit code" "device:/dev/nbd0 0" "$(devices "$(in_client "$list")")"
expect "listed in another process namespace" "[] 0" "$(devices "$(in_client "unshare --pid --fork --mount-proc bash -c '$list'")")"
expect "watchers" yes "$(has_watcher && echo yes || echo no)"
cookie=$(in_client 'cat /sys/block/nbd0/backend')
in_client 'kill -9 $(pgrep -x rbd-nbd); while pgrep -x rbd-nbd; do sleep 0.1; done' >/dev/null
expect "listed after a kill, exit code" "[] 0" "$(devices "$(in_client "$list")")"
expect "size of the device in sectors" 16384 "$(in_client 'cat /sys/block/nbd0/size')"
until_true has_none
expect "watchers a minute later" no "$(has_watcher && echo yes || echo no)"
expect "cookie as before" "$cookie" "$(in_client 'cat /sys/block/nbd0/backend')"
expect "attach again" /dev/nbd0 "$(in_client "rbd-nbd attach --device /dev/nbd0 --cookie $cookie --reattach-timeout 600 rbd/disk 2>/dev/null")"
expect "a write, exit code" 0 "$(in_client 'dd if=/dev/zero of=/dev/nbd0 bs=4k count=1 oflag=direct status=none; echo $?')"
expect "listed, exit code" "device:/dev/nbd0 0" "$(devices "$(in_client "$list")")"
