#!/usr/bin/env bash
# A trim of a filesystem that has just freed some space, or as much by fstrim itself;
# scripts/bench.sh --more runs it in a mount namespace of its own.
#
#   trim.sh WORK BED BIN LOAD SERVER     prints a row as a JSON object
set -euo pipefail
# shellcheck disable=SC2034 # bed and pool are for exported_image.sh
work=$1 bed=$2 bin=$3 load=$4 server=$5 pool=replicapool
# shellcheck source=scripts/lib/exported_image.sh
. scripts/lib/exported_image.sh
readonly times=5
daemon='' mounted=''
clean_up() {
  if [[ $mounted ]]; then umount "$mounted" || true; fi
  if [[ $daemon ]]; then
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" || true
  fi
  unexport
}
trap clean_up EXIT
export_volume "$work/exports" >&2
# Where ceph-csi mounts what is staged.
mkdir -p "$work/staging/$id"
mount -o loop "$exported" "$work/staging/$id"
mounted=$work/staging/$id

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
    --pid "$daemon" --json || true # the row has the error
}
if [[ $server != floor ]]; then
  "$bin/rbd-addonsd" --nodeserver --nodeid bench --drivername rbd.csi.ceph.com \
    --csi-addons-endpoint "unix://$work/node.sock" --admin-endpoint "unix://$work/node.admin.sock" \
    --config-dir "$bed/a/csi-config" --image-exports "$work/exports" 2>>"$work/$server-node.log" &
  daemon=$!
  until [[ -S $work/node.sock ]]; do sleep 0.1; done
  printf '{"volume_id":"%s","staging_target_path":"%s"}\n' "$id" "$work/staging" >"$work/trim.requests"
fi
for ((i = 0; i < times; ++i)); do
  leave_garbage "$mounted"
  trim
done | NAME="$server: trim that frees 96 MiB" python3 -c '
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
