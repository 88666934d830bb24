#!/usr/bin/env bash
# NodeReclaimSpace as it is deployed, on a filesystem that is really mounted on an image of a
# throwaway Ceph site: with the image's root file system and exactly what the DaemonSet's
# manifest gives, and what fails without each capability. Half a minute; ends with 77 where
# that cannot be tried.
#
#   tests/deploy/node_trim.sh BUILD    a built tree, default build/release
set -euo pipefail
cd "$(dirname "$0")/../.."
# The mounts that are made here end with the script, and nobody else sees them.
if [[ ${1:-} != --inside ]]; then
  ((EUID == 0)) || { echo "skipped: not root"; exit 77; }
  unshare --mount --propagation private true 2>/dev/null || { echo "skipped: namespaces cannot be made here"; exit 77; }
  exec unshare --mount --propagation private bash tests/deploy/node_trim.sh --inside "$(realpath "${1:-build/release}")"
fi
build=$2
# shellcheck source=scripts/lib/checks.sh
. scripts/lib/checks.sh
# shellcheck source=scripts/lib/two_sites.sh
. scripts/lib/two_sites.sh
# shellcheck source=scripts/lib/exported_image.sh
. scripts/lib/exported_image.sh
have_ceph
have_exports
for python in python3 /usr/bin/python3 ''; do
  if [[ ! $python ]]; then echo "skipped: no python3 with yaml (package python3-yaml)"; exit 77; fi
  if "$python" -c 'import yaml' 2>/dev/null; then break; fi
done
make_work trim
mounted=''
end() {
  stop_daemons
  if [[ $mounted ]]; then umount --lazy "$mounted" || true; fi
  unexport
  clean_up
}
trap end EXIT

root=$work/root volumes=$work/volumes
bash deploy/image/collect.sh "$build" "$root"
mkdir -p "$volumes"/{socket-dir,admin-socket-dir,ceph-csi-config}
scripts/testbed up "$bed" --objectstore bluestore
cp "$bed/a/csi-config"/* "$volumes/ceph-csi-config"
# The kubelet's folders, at their own paths; on this machine there may be none.
mount -t tmpfs tmpfs /var/lib
mount --make-shared /var/lib
mkdir -p /var/lib/kubelet/{plugins/kubernetes.io/csi/staged,pods}
exports=/var/lib/kubelet/plugins/exports
staging=/var/lib/kubelet/plugins/kubernetes.io/csi/staged
export_volume "$exports"

socket=unix://$volumes/socket-dir/csi-addons.sock
# start [--without CAPABILITY]
start() {
  stop_daemons
  # Mounts of the host arrive, but none of this.
  unshare --mount --propagation slave "$python" -B tests/deploy/node_pod.py "$root" "$volumes" "$@" \
    --metricsport=0 --image-exports="$exports" 2>"$work/log" &
  daemons+=($!)
  for _ in $(seq 100); do
    if "$root/usr/bin/rbd-addons" probe --endpoint "$socket" >/dev/null 2>&1; then return 0; fi
    sleep 0.1
  done
  cat "$work/log"
  return 1
}
trim() { "$root/usr/bin/rbd-addons" trim "$id" --endpoint "$socket" --path "$staging" --timeout 90 >"$work/answer" 2>&1; }
refused() { # TEXT: it says so, and gives nothing back
  ! trim && grep -q "$1" "$work/answer" && (($(stored) >= full - 8))
}
answer() { tr '\n' ' ' <"$work/answer"; }
capabilities() { awk '$1 == "CapEff:" { print $2 }' "/proc/${daemons[0]}/status"; }

check "the daemon starts with what the manifest gives, and answers" start
check "it has just the two capabilities: $(capabilities)" test "$(capabilities)" = 0000000000200004
mkdir "$staging/$id"
not_mounted() { ! trim && grep -q 'no filesystem is mounted exactly there' "$work/answer"; }
check "a folder that nothing is mounted on is refused" not_mounted

# As kubelet and ceph-csi do it, while the daemon runs; it is another user's alone.
mount -o loop "$exported" "$staging/$id"
mounted=$staging/$id
leave_garbage "$mounted"
chown 1000:1000 "$mounted"
chmod 700 "$mounted"
full=$(stored)
check "the pool has what was deleted ($full MiB)" test "$full" -ge 104
for capability in SYS_ADMIN DAC_READ_SEARCH; do
  check "without $capability it starts, too" start --without "$capability"
  if refused "CAP_$capability"; then held "and trims nothing: $(answer)"; else failed "trim without $capability: $(answer)"; fi
done
check "with both again" start
if trim; then held "trim: $(answer)"; else failed "trim: $(answer)"; fi
left=$(stored)
check "the pool has got it back ($full MiB before, $left MiB after)" test "$left" -le $((full - 96 + 24))
check "what was not deleted is there" keeps_its_data "$mounted"

if ((failures)); then tail -n 20 "$work/log"; fi
printf '%d failures\n' "$failures"
((failures == 0))
