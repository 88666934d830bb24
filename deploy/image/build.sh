#!/usr/bin/env bash
# Builds the image without any registry: the base is made by mmdebstrap from the
# distribution's own packages, and buildah needs neither a daemon nor user namespaces.
#
#   deploy/image/build.sh [OPTION...] [NAME:TAG]    default: rbd-addons:VERSION
#
#   --suite SUITE    of Debian; default forky, which has librados 20.2.4
#   --aptopt OPTION  for apt, where the mirror needs one; repeat it for more
#   --base IMAGE     use this image of Debian instead of making one
#   --build FOLDER   take the programs of a tree that was built on this very machine, and its
#                    libraries: quick, to try things; not what is shipped
#   --archive FILE   write the image there as well (an OCI archive)
#
# As root. At a terminal it offers to install what it needs; elsewhere it names the command for
# that. Prints the size, and what the largest libraries in it are.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=scripts/lib/common.sh
. scripts/lib/common.sh
# shellcheck source=scripts/lib/packages.sh
. scripts/lib/packages.sh
# shellcheck source=scripts/lib/machine.sh
. scripts/lib/machine.sh
# shellcheck source=scripts/lib/build.sh
. scripts/lib/build.sh
# shellcheck source=scripts/lib/source.sh
. scripts/lib/source.sh

suite=forky aptopts=() base='' built='' archive='' name=''
usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; }
while (($#)); do
  case $1 in
    --suite) suite=$2 && shift ;;
    --aptopt) aptopts+=("--aptopt=$2") && shift ;;
    --base) base=$2 && shift ;;
    --build) built=$2 && shift ;;
    --archive) archive=$2 && shift ;;
    -h | --help) usage && exit 0 ;;
    -*) usage >&2 && exit 2 ;;
    *) name=$1 ;;
  esac
  shift
done
((EUID == 0)) || { echo "build.sh: only root can make an image here" >&2 && exit 2; }
offer_packages image
version=$(sed -n 's/^project(rbd-addons VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=${name:-rbd-addons:$version}
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
# The time of that change, so that the same input gives the same image.
created=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(source_epoch)}" +%Y-%m-%dT%H:%M:%SZ)

# The combination that needs least: no overlay file system, no namespaces.
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=${STORAGE_DRIVER:-vfs}
work=$(mktemp -d "${TMPDIR:-/tmp}/rbda-image.XXXXXX")
trap 'rm -rf "$work"' EXIT

if [[ $built ]]; then
  bash deploy/image/collect.sh "$built" "$work/root"
  # The last stage of the Containerfile, with the folder in place of the first one.
  sed -n '/^FROM scratch/,$p' deploy/image/Containerfile | sed 's,^COPY --from=build /image /,COPY root /,' >"$work/Containerfile"
  buildah bud --quiet --tag "$name" --build-arg VERSION="$version" --build-arg REVISION="$revision" \
    --build-arg CREATED="$created" --file "$work/Containerfile" "$work"
else
  if [[ ! $base ]]; then
    base=localhost/rbd-addons-build:$suite
    if ! buildah inspect --type image "$base" >/dev/null 2>&1; then
      echo "the base: Debian $suite with what the build needs, some minutes"
      mmdebstrap --variant=minbase "${aptopts[@]}" --include="$(scripts/packages.sh release | paste -sd ,)" "$suite" "$work/base.tar"
      container=$(buildah from scratch)
      buildah add --quiet "$container" "$work/base.tar" /
      buildah commit --quiet --rm "$container" "$base"
      rm "$work/base.tar"
    fi
  fi
  copy_source "$work/source"
  buildah bud --tag "$name" --build-arg BASE="$base" --build-arg VERSION="$version" \
    --build-arg REVISION="$revision" --build-arg CREATED="$created" --file deploy/image/Containerfile "$work/source" 2>&1 |
    show_build_progress "$(compile_jobs)" '' "$work/log" || {
    tail -n 40 "$work/log" >&2
    exit 1
  }
fi

if [[ $archive ]]; then buildah push --quiet "$name" "oci-archive:$archive:$name"; fi
container=$(buildah from "$name")
root=$(buildah mount "$container")
printf '%s: %d MiB\n' "$name" "$(du -sm "$root" | cut -f1)"
du -a --apparent-size -m "$root" 2>/dev/null | sort -rn | awk -v root="$root/" \
  '{ path = substr($2, length(root) + 1) } path ~ /\.so|bin\/rbd/ && n++ < 8 { printf "%5d MiB  %s\n", $1, path }'
buildah rm "$container" >/dev/null
