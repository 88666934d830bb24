#!/usr/bin/env bash
# A release from a tag, in a clone that is thrown away: every artefact is there, is what the
# checksums say, and has the one version, also in the answer of GetIdentity.
#
#   tests/deploy/release.sh [--keep FOLDER] [OPTION...]
#
#   --keep FOLDER   leave the artefacts there; tests/deploy/image.sh tries the image of them
#   OPTION          those of scripts/release.sh; SKIP and HELM are as there
#
# Half an hour, most of it for the image. Ends with 77 where it cannot be tried.
# shellcheck disable=SC2016 # what is in single quotes is expanded by another shell
set -euo pipefail
cd "$(dirname "$0")/../.."

into=''
if [[ ${1:-} == --keep ]]; then into=$(realpath -m "${2:?}") && shift 2; fi
skip() { echo "skipped: $*"; exit 77; }
((EUID == 0)) || skip "not root"
wants() { [[ " ${SKIP:-} " != *" $1 "* ]]; }
needed=(git)
if wants image; then needed+=(buildah mmdebstrap); fi
if wants packages; then needed+=(dh dpkg-buildpackage); fi
for program in "${needed[@]}"; do command -v "$program" >/dev/null || skip "$program is not here"; done
HELM=${HELM:-$(command -v helm || echo "$PWD/build/deploy-tools/bin/helm")}
[[ -x $HELM ]] || skip "helm is not here (tests/deploy/tools.sh)"
export HELM

work=$(mktemp -d "${TMPDIR:-/tmp}/rbda-release.XXXXXX")
into=${into:-$work/dist}
daemon=''
clean_up() {
  if [[ $daemon ]]; then
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
  fi
  rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
# shellcheck source=scripts/lib/checks.sh
. scripts/lib/checks.sh

version=$(sed -n 's/^project(rbd-addons VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
clone=$work/clone
git clone --quiet --no-tags "file://$PWD" "$clone" 2>/dev/null
in_clone() { (cd "$clone" && "$@"); }
commit() { in_clone git -c user.name=release -c user.email=release@example.invalid commit --quiet --all --message "$1"; }
release() { in_clone scripts/release.sh --into "$into" "$@"; }

# What is not a release is refused before anything is made.
in_clone git tag v9.9.9
refused() { ! release "$1" && [[ ! $(ls -A "$into" 2>/dev/null) ]]; }
check "a tag of another version is refused" refused v9.9.9
in_clone git tag "v$version"
if grep -q '(not released)' CHANGELOG.md; then
  check "a version that is not released is refused" refused "v$version"
  sed -i "s/^## $version (not released)/## $version/" "$clone/CHANGELOG.md"
  commit "Release $version"
  in_clone git tag --force "v$version" >/dev/null
fi
# The tag counts, not what is checked out.
sed -i "s/VERSION $version /VERSION 9.9.9 /" "$clone/CMakeLists.txt"
commit "The next version"

check "scripts/release.sh v$version" release "$@" "v$version"
tail -n 20 "$work/output"

wanted=("rbd-addons-$version.tar.gz" "rbd-addons-chart-$version.tgz" "rbd-addons-kustomize-$version.tar.gz" NOTES.md SHA256SUMS)
architecture=$(dpkg --print-architecture)
if wants image; then wanted+=("rbd-addons-image-$version.tar"); fi
if wants packages; then wanted+=("rbd-addonsd_${version}_$architecture.deb" "rbd-addons_${version}_$architecture.deb"); fi
printf '%s\n' "${wanted[@]}" | sort >"$work/wanted"
# Debian's packages of debugging symbols are there or not, as debhelper likes.
find "$into" -type f ! -name '*-dbgsym_*' -printf '%f\n' | sort >"$work/made"
check "every artefact is there, and no other" diff "$work/wanted" "$work/made"
check "the checksums are those of all others" bash -euc 'cd "$1"; sha256sum --check --strict --quiet SHA256SUMS
  [[ $(wc -l <SHA256SUMS) == $(($(find . -type f | wc -l) - 1)) ]]' x "$into"
check "the notes are those of the version" bash -c '[[ -s $1 ]] && ! grep -q "^## " "$1"' x "$into/NOTES.md"
check "the source is the tag's" bash -euc 'tar -xzOf "$1" "rbd-addons-$2/CMakeLists.txt" | grep -q "VERSION $2 "' \
  x "$into/rbd-addons-$version.tar.gz" "$version"
check "the chart has the version, and gives its image it" bash -euc '"$HELM" show chart "$1" | grep -qx "version: $2"
  "$HELM" template x "$1" --kube-version 1.31 --set localImages=true | grep -q "image: \"rbd-addons:$2\""' x "$into/rbd-addons-chart-$version.tgz" "$version"
check "the overlays name it, too" bash -euc 'tar -xzOf "$1" kustomize/base/controller.yaml | grep -q "image: \"rbd-addons:$2\""' \
  x "$into/rbd-addons-kustomize-$version.tar.gz" "$version"
if wants packages; then
  for name in rbd-addonsd rbd-addons; do
    package=$into/${name}_${version}_$architecture.deb
    check "$name has the version" test "$(dpkg-deb --field "$package" Version)" = "$version"
    dpkg-deb --extract "$package" "$work/root"
  done
  mkdir "$work/config"
  echo '[]' >"$work/config/config.json"
  "$work/root/usr/sbin/rbd-addonsd" --controllerserver --config-dir="$work/config" \
    --csi-addons-endpoint="unix://$work/s" --admin-endpoint="unix://$work/admin" 2>"$work/log" &
  daemon=$!
  identity() { "$work/root/usr/bin/rbd-addons" call identity.Identity/GetIdentity --endpoint "unix://$work/s" 2>&1; }
  for _ in $(seq 100); do if [[ -S $work/s ]]; then break; fi; sleep 0.1; done
  check "the daemon of the package answers GetIdentity with it" bash -c '[[ $1 == *"\"$2\""* ]]' x "$(identity || true)" "$version"
fi

printf '%d failures\n' "$failures"
((failures == 0))
