#!/usr/bin/env bash
# A trim of a filesystem that has just freed some space, or as much by fstrim itself;
# scripts/bench.sh --more runs it in a mount namespace of its own. The image is exported as a file
# through FUSE, because a kernel without rbd has no other way, and a loop device lies on that.
#
#   trim.sh WORK BED BIN LOAD SERVER VOLUME_ID     prints a row as a JSON object
set -euo pipefail
work=$1 bed=$2 bin=$3 load=$4 server=$5 id=$6
readonly times=5 mebibytes=256
image=csi-vol-${id: -36}
exports=$work/exports file=$work/exports/replicapool/$image
# Where ceph-csi mounts what is staged.
staging=$work/staging mounted=$work/staging/$id
started=()
clean_up() {
  local pid
  umount "$mounted" 2>/dev/null || true
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
  umount "$file" 2>/dev/null || true
}
trap clean_up EXIT
await() { # COMMAND...
  local i
  for ((i = 0; i < 300; ++i)); do
    if "$@" 2>/dev/null; then return; fi
    sleep 0.1
  done
  printf 'trim.sh: gave up waiting for: %s\n' "$*" >&2
  exit 1
}
mkdir -p "${file%/*}" "$mounted"
: >"$file"
qemu-storage-daemon --blockdev \
  "driver=rbd,node-name=disk0,pool=replicapool,image=$image,conf=$bed/a/ceph.conf,discard=unmap" \
  --export "type=fuse,id=f0,node-name=disk0,mountpoint=$file,writable=on" >&2 &
started+=($!)
await test -s "$file"
mkfs.xfs -q -K -f "$file"
mount -o loop "$file" "$mounted"

# leave_garbage: the image holds what the filesystem does not.
leave_garbage() {
  dd if=/dev/urandom of="$mounted/garbage" bs=1M count=$mebibytes status=none
  sync -f "$mounted"
  rm "$mounted/garbage"
  sync -f "$mounted"
}
# trim: once; prints a row.
trim() {
  local begin took
  if [[ $server == floor ]]; then
    begin=$(date +%s%N)
    fstrim "$mounted"
    took=$(($(date +%s%N) - begin))
    printf '{"median_ms": %s, "errors": {}, "cpu_ms_per_call": 0, "resident_mib": 0, "threads": 0}\n' \
      "$((took / 1000000)).$((took % 1000000 / 100000))"
    return
  fi
  "$load" NodeReclaimSpace --endpoint "unix://$work/node.sock" --requests "$work/trim.requests" \
    --pid "${started[1]}" --json || true # the row has the error
}
if [[ $server != floor ]]; then
  "$bin/rbd-addonsd" --nodeserver --nodeid bench --drivername rbd.csi.ceph.com \
    --csi-addons-endpoint "unix://$work/node.sock" --admin-endpoint "unix://$work/node.admin.sock" \
    --config-dir "$bed/a/csi-config" --image-exports "$exports" 2>>"$work/$server-node.log" &
  started+=($!)
  await test -S "$work/node.sock"
  printf '{"volume_id":"%s","staging_target_path":"%s"}\n' "$id" "$staging" >"$work/trim.requests"
fi
for ((i = 0; i < times; ++i)); do
  leave_garbage
  trim
done | NAME="$server: trim that frees $mebibytes MiB" python3 -c '
import json, os, sys
rows = [json.loads(line) for line in sys.stdin]
took = sorted(row["median_ms"] for row in rows)
errors = {}
for row in rows:
    for error, count in row["errors"].items():
        errors[error] = errors.get(error, 0) + count
print(json.dumps({**rows[-1], "name": os.environ["NAME"], "method": "trim", "concurrency": 1,
                  "calls": len(took), "median_ms": took[len(took) // 2], "p99_ms": took[-1],
                  "calls_per_s": 1000 * len(took) / sum(took), "errors": errors,
                  "cpu_ms_per_call": sum(row["cpu_ms_per_call"] for row in rows) / len(rows)}))
sys.exit(bool(errors))'
