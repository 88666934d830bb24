#!/usr/bin/env bash
# Makes everything of a release from a tag: image, Helm chart, kustomize overlays, Debian
# packages, notes, checksums. Publishes nothing.
#
#   scripts/release.sh [--into FOLDER] [--aptopt OPTION] [TAG]
#                                  default: dist/, the tag of the current commit
#
#   --aptopt OPTION  for apt as it makes the image's base; repeat it for more
#
# TAG is v and the version in CMakeLists.txt. Works on the tag's own files, in a copy. As root,
# on Debian, with buildah, mmdebstrap, debhelper and helm (or tests/deploy/tools.sh).
# SKIP="image packages" leaves these out.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib/common.sh
. scripts/lib/common.sh

into=dist tag='' aptopts=()
while (($#)); do
  case $1 in
    --into) into=${2:?} && shift ;;
    --aptopt) aptopts+=(--aptopt "${2:?}") && shift ;;
    -h | --help) usage && exit 0 ;;
    v[0-9]*) tag=$1 ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done
tag=${tag:-$(git describe --exact-match --tags --match 'v[0-9]*' 2>/dev/null)} ||
  die "the current commit has no tag v...; name one"
version=${tag#v}
git rev-parse -q --verify "$tag^{commit}" >/dev/null || die "there is no tag $tag"
on_interrupt_say_so

# What the tag says must be one.
show() { git show "$tag:$1"; }
[[ $(show CMakeLists.txt) == *"project(rbd-addons VERSION $version "* ]] || die "$tag: CMakeLists.txt has another version"
[[ $(show deploy/helm/rbd-addons/Chart.yaml) == *"appVersion: $version"* ]] || die "$tag: Chart.yaml has another version"
[[ $(show CHANGELOG.md) == *"## $version"* ]] || die "$tag: CHANGELOG.md has no part for $version"
[[ $(show CHANGELOG.md) != *"## $version (not released)"* ]] || die "$tag: CHANGELOG.md says that $version is not released"

mkdir -p "$into"
into=$(realpath "$into")
[[ ! $(ls -A "$into") ]] || die "$into is not empty"
source=$(mktemp -d "${TMPDIR:-/tmp}/rbda-release.XXXXXX")
trap 'rm -rf "$source"' EXIT
git clone --quiet --branch "$tag" --depth 1 "file://$PWD" "$source/rbd-addons" 2>/dev/null
cd "$source/rbd-addons"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
wants() { [[ " ${SKIP:-} " != *" $1 "* ]]; }

git archive --format=tar --prefix="rbd-addons-$version/" HEAD | gzip -n >"$into/rbd-addons-$version.tar.gz"

helm=${HELM:-$(command -v helm || echo "$OLDPWD/build/deploy-tools/bin/helm")}
[[ -x $helm ]] || die "helm is not here: install it, or run tests/deploy/tools.sh"
"$helm" package deploy/helm/rbd-addons --destination "$into" >/dev/null
mv "$into/rbd-addons-$version.tgz" "$into/rbd-addons-chart-$version.tgz"
tar --sort=name --owner=0 --group=0 --mtime="@$SOURCE_DATE_EPOCH" -C deploy -cf - kustomize samples |
  gzip -n >"$into/rbd-addons-kustomize-$version.tar.gz"

if wants image; then
  deploy/image/build.sh "${aptopts[@]}" --archive "$into/rbd-addons-image-$version.tar" "rbd-addons:$version"
fi
if wants packages; then
  deploy/package/build-deb.sh "$into"
  rm -f "$into"/*.buildinfo "$into"/*.changes
fi

# The part of CHANGELOG.md up to the next version.
awk -v version="$version" '$1 == "##" { on = $2 == version; next } on' CHANGELOG.md | sed -e '/./,$!d' >"$into/NOTES.md"
sums=$(cd "$into" && find . -type f -printf '%f\n' | sort | xargs sha256sum)
printf '%s\n' "$sums" >"$into/SHA256SUMS"
printf '%s, in %s:\n' "$tag" "$into"
find "$into" -type f -printf '  %9s  %f\n' | sort -k 2
