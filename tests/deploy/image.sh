#!/usr/bin/env bash
# The image: built without a registry, started as its manifests start it (not root, nothing
# that can be written but the socket's folder), and called. Ends with 77 where that cannot
# be tried.
#
#   tests/deploy/image.sh BUILD   with the programs of a built tree and this host's libraries
#   tests/deploy/image.sh FILE    the OCI archive that scripts/release.sh has made
#   tests/deploy/image.sh [OPTION...]
#                                 as it is shipped, with those of Debian testing; takes long.
#                                 The options are those of deploy/image/build.sh
# shellcheck disable=SC2016 # what is in single quotes is expanded by another shell
set -euo pipefail
cd "$(dirname "$0")/../.."

build='' archive=''
if [[ -d ${1:-} ]]; then build=$1 && shift; elif [[ -f ${1:-} ]]; then archive=$1 && shift; fi

skip() { echo "skipped: $*"; exit 77; }
((EUID == 0)) || skip "not root"
for program in buildah unshare setpriv; do
  command -v "$program" >/dev/null || skip "$program is not here"
done
[[ $build$archive ]] || command -v mmdebstrap >/dev/null || skip "mmdebstrap is not here"
unshare --mount --pid --fork true 2>/dev/null || skip "namespaces cannot be made here"

work=$(mktemp -d "${TMPDIR:-/tmp}/rbda-image.XXXXXX")
# Its own store, so that nothing is left of it.
export CONTAINERS_STORAGE_CONF=$work/storage.conf
printf '[storage]\ndriver = "vfs"\nrunroot = "%s/run"\ngraphroot = "%s/graph"\n' "$work" "$work" >"$CONTAINERS_STORAGE_CONF"
export STORAGE_DRIVER=vfs
daemon=''
clean_up() {
  if [[ $daemon ]]; then kill -KILL "$(ps -o pid= --ppid "$daemon" | tr -d ' ')" 2>/dev/null || true; fi
  buildah rm --all >/dev/null 2>&1 || true
  rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
# shellcheck source=scripts/lib/checks.sh
. scripts/lib/checks.sh

if [[ $archive ]]; then
  name=$(buildah pull --quiet "oci-archive:$archive")
else
  name=localhost/rbd-addons-test:1
  deploy/image/build.sh ${build:+--build "$build"} "$@" "$name"
fi
container=$(buildah from "$name")
root=$(buildah mount "$container")
size=$(du -sm --apparent-size "$root" | cut -f1)
echo "size: $size MiB"
if [[ ! $build ]]; then check "less than 150 MiB" test "$size" -lt 150; fi

config() { buildah inspect --type image --format "{{.OCIv1.Config.$1}}" "$name"; }
check "it is not root" test "$(config User)" = 65532:65532
check "it starts the daemon" test "$(config Entrypoint)" = '[/usr/sbin/rbd-addonsd]'
version=$(sed -n 's/^project(rbd-addons VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
label() { buildah inspect --type image --format "{{index .OCIv1.Config.Labels \"org.opencontainers.image.$1\"}}" "$name"; }
check "its label is the version" test "$(label version)" = "$version"
for name_of_label in title description revision created licenses; do
  check "and it has the label $name_of_label" test -n "$(label "$name_of_label")"
done
others=$(find "$root" -type f -perm /111 ! -name '*.so*' ! -name 'rbd-addons*' ! -name 'ld-*' | head)
if [[ $others ]]; then failed "programs that are not ours: $others"; else held "there are no other programs, and no shell"; fi
writable=$(find "$root" -perm /022 ! -type l ! -path "$root/tmp" | head)
if [[ $writable ]]; then failed "others may write: $writable"; else held "nobody else may write anything"; fi
check "the SBOM is JSON, and names what is loaded" python3 -c '
import json, sys
packages = {p["name"] for p in json.load(open(sys.argv[1]))["packages"]}
assert {"rbd-addons", "librados2", "librbd1", "libc6"} <= packages, packages' "$root/usr/share/doc/rbd-addons/sbom.spdx.json"
librados=$(python3 -c '
import json, sys
print(next(p["versionInfo"] for p in json.load(open(sys.argv[1]))["packages"] if p["name"] == "librados2"))' \
  "$root/usr/share/doc/rbd-addons/sbom.spdx.json")
echo "librados: $librados"
# Older ones cannot talk to a fresh cluster of today.
if [[ ! $build ]]; then check "librados is 20.2.4 or newer" dpkg --compare-versions "$librados" ge 20.2.4; fi
check "and each package brings its copyright" bash -c '
for name in librados2 librbd1 libc6; do test -s "$1/usr/share/doc/$name/copyright"; done' x "$root"

# As the controller runs: user 65532 without a capability, a read-only root, and three folders.
mkdir "$work/csi" "$work/admin" "$work/config"
chmod 1777 "$work/csi" "$work/admin"
echo '[{"clusterID": "a", "monitors": ["127.0.0.1:1"]}]' >"$work/config/config.json"
cat >"$work/start" <<'START'
root=$1 work=$2
shift 2
mkdir -p "$root/csi" "$root/run/rbd-addons" "$root/etc/ceph-csi-config" "$root/proc"
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --bind "$work/csi" "$root/csi"
mount --bind "$work/admin" "$root/run/rbd-addons"
mount --bind "$work/config" "$root/etc/ceph-csi-config"
mount -o remount,bind,ro "$root"
exec chroot --userspec=65532:65532 "$root" "$@"
START
inside() {
  # Capabilities are dropped by exec as another user; the bounding set after the mounts.
  unshare --mount --pid --fork --kill-child bash -eu "$work/start" "$root" "$work" "$@"
}
# A shell between the two would outlive the kill below.
(exec unshare --mount --pid --fork --kill-child bash -eu "$work/start" "$root" "$work" \
  /usr/sbin/rbd-addonsd --controllerserver --csi-addons-endpoint=unix:///csi/csi-addons.sock \
  --config-dir=/etc/ceph-csi-config) 2>"$work/log" &
daemon=$!
ask() { inside /usr/bin/rbd-addons "$@" --endpoint unix:///csi/csi-addons.sock; }
for _ in $(seq 100); do
  if [[ -S $work/csi/csi-addons.sock ]]; then break; fi
  sleep 0.1
done
check "Probe" ask probe
check "it brings the plugin of kubectl" cmp <(inside /usr/bin/rbd-addons kubectl-plugin) deploy/kubectl/kubectl-rbd_addons
check "administrators have a socket of their own" inside /usr/bin/rbd-addons operations
check "GetIdentity has the version" bash -c 'grep -q "$1" <<<"$2"' x "\"$version\"" "$(ask call identity.Identity/GetIdentity)"
check "the log says that it serves" grep -q ' serving ' "$work/log"
# As the kubelet ends it. unshare only waits for it, and another user's process does not end
# with unshare.
ended=no
if kill -TERM "$(ps -o pid= --ppid "$daemon" | tr -d ' ')" && wait "$daemon"; then ended=yes; fi
check "SIGTERM ends the daemon, with 0" test "$ended" = yes
daemon=''

# From the start of the program to its first answer, on this machine as it is now: what else
# runs here slows it down, so the limit is the fastest one's.
check "start to the first Probe, less than 100 ms" python3 tests/deploy/first_probe.py "$root" 10 100
cat "$work/output"

printf '%d failures\n' "$failures"
((failures == 0))
