#!/usr/bin/env bash
# `rbd snap rm` that is killed. One would guess that the snapshot is still there, or gone. Ceph
# 16.2.15 may leave it in the trash of snapshots, where nothing looks for it again: `rbd snap ls`
# lists none, `rbd snap purge` answers 0 and removes nothing, and it counts where an image may
# have so many snapshots and no more.
#
# Who counts snapshots asks for all kinds (`rbd snap ls --all`). `rbd snap rm --snap-id` ends it.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
need_ceph 16.2.15+ds-0+deb12u2
start_site

in_site rbd create --size 64M rbd/disk
in_site rbd bench --io-type write --io-size 4M --io-total 16M rbd/disk >/dev/null
all() { in_site rbd snap ls --all --format json rbd/disk; }
left=
for ((try = 1; try <= 200 && ${#left} == 0; try++)); do
  in_site rbd snap create --no-progress "rbd/disk@snapshot-$try"
  # The time until it is in the middle depends on the machine: every second try waits up to a second.
  after=$(printf '%03d' $((try % 2 ? RANDOM % 100 : RANDOM % 1000)))
  in_site sh -c "rbd snap rm --no-progress rbd/disk@snapshot-$try >/dev/null 2>&1 & sleep 0.$after; kill -9 \$!" || true
  left=$(all | grep -o '"type":"trash"' || true)
done
[[ $left ]] || { echo "no try of 200 met the moment"; exit 2; }
# Those that were killed too early go with the purge.
expect "rbd snap purge's exit code" 0 "$(in_site rbd snap purge --no-progress rbd/disk >/dev/null 2>&1; echo $?)"
expect "snapshots in rbd snap ls" 0 "$(in_site rbd snap ls --format json rbd/disk | grep -o '"id"' | wc -l)"
expect "snapshots in rbd snap ls --all" 1 "$(all | grep -o '"type":"trash"' | wc -l)"
in_site rbd snap limit set --limit 1 rbd/disk
expect "the first snapshot with a limit of 1" "failed to create snapshot: (122) Disk quota exceeded" \
  "$(in_site rbd snap create --no-progress rbd/disk@first 2>&1 | sed -n 's/^rbd: //p')"
id=$(all | grep -oE '"id":[0-9]+' | cut -d: -f2)
in_site rbd snap rm --snap-id "$id" rbd/disk >/dev/null 2>&1
expect "the same after rbd snap rm --snap-id" 0 "$(in_site rbd snap create --no-progress rbd/disk@first >/dev/null 2>&1; echo $?)"
