#!/usr/bin/env bash
# Builds the Debian packages rbd-addonsd and rbd-addons, for the release of Debian and the
# machine that it runs on.
#
#   deploy/package/build-deb.sh [--build FOLDER] [INTO]    default: dist/
#
#   --build FOLDER   pack the programs of this built tree (build/release) instead of compiling
#
# At a terminal it offers to install what it needs, as root or through sudo; elsewhere it names
# the command for that.
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

built='' into=dist
usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; }
while (($#)); do
  case $1 in
    --build) built=$(realpath "$2") && shift ;;
    -h | --help) usage && exit 0 ;;
    -*) usage >&2 && exit 2 ;;
    *) into=$1 ;;
  esac
  shift
done
if [[ $built ]]; then offer_packages package; else offer_packages package release; fi
mkdir -p "$into"
into=$(realpath "$into")
work=$(mktemp -d "${TMPDIR:-/tmp}/rbda-deb.XXXXXX")
trap 'rm -rf "$work"' EXIT

source=$work/rbd-addons
mkdir "$source"
if [[ $built ]]; then
  export PREBUILT=$built
  cp -r deploy CHANGELOG.md "$source"
else
  copy_source "$source"
fi
cp -r deploy/debian "$source/debian"
version=$(sed -n 's/^project(rbd-addons VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
epoch=$(source_epoch)
sed -i "s/@BUILD@/$(packages_for release | paste -sd , | sed 's/,/, /g')/" "$source/debian/control"
cat >"$source/debian/changelog" <<CHANGES
rbd-addons ($version) unstable; urgency=medium

  * Version $version; CHANGELOG.md has what is new.

 -- rbd-addons maintainers <maintainers@rbd-addons.invalid>  $(LC_ALL=C date -R -u -d "@$epoch")
CHANGES
(cd "$source" && SOURCE_DATE_EPOCH=$epoch dpkg-buildpackage --build=binary --no-sign ${built:+--no-check-builddeps} 2>&1) |
  show_build_progress "$(compile_jobs)" '' "$work/log" || {
  tail -n 40 "$work/log" >&2
  exit 1
}
cp "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$into"
for package in "$work"/*.deb; do
  printf '%s: %d KiB\n' "$into/${package##*/}" "$(($(stat -c %s "$package") / 1024))"
done
