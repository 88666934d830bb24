#!/usr/bin/env bash
# Makes the root file system of the image: the two programs, the libraries that they load,
# and nothing to start a shell with. Every file but the programs comes from a package of the
# distribution it runs on, whose copyright goes with it; sbom.spdx.json lists them.
#
#   collect.sh BUILD INTO    BUILD: a built tree; INTO: a folder that is not there yet
set -euo pipefail
build=$1 into=$2
[[ ! -e $into ]] || { echo "collect.sh: $into is there already" >&2; exit 1; }
mkdir -p "$into"/{etc,tmp,run,proc,sys,dev,usr/share/doc,var/run}
# Merged as the distribution's own: what is linked by /lib is found in /usr/lib.
for folder in bin sbin lib lib64; do
  if [[ -L /$folder ]]; then
    mkdir -p "$into/usr/$folder"
    ln -s "usr/$folder" "$into/$folder"
  fi
done

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
for component in daemon cli; do
  DESTDIR=$stage cmake --install "$build" --component "$component" --strip >/dev/null
done
install -D -m 755 "$stage/usr/sbin/rbd-addonsd" "$into/usr/sbin/rbd-addonsd"
install -D -m 755 "$stage/usr/bin/rbd-addons" "$into/usr/bin/rbd-addons"

# Libraries by the names by which the loader looks for them.
mapfile -t libraries < <(
  ldd "$into/usr/sbin/rbd-addonsd" "$into/usr/bin/rbd-addons" |
    grep -oE '(=> )?/[^ ]+ \(0x' | sed -e 's/^=> //' -e 's/ (0x$//' | sort -u
)
((${#libraries[@]} > 10)) || { echo "collect.sh: found only ${#libraries[@]} libraries" >&2; exit 1; }
declare -A packages=()
for library in "${libraries[@]}"; do
  real=$(readlink -f "$library")
  install -D -m 644 "$real" "$into$real"
  chmod --reference="$real" "$into$real"
  link=$(readlink -f "$(dirname "$library")")/$(basename "$library")
  if [[ $link != "$real" ]]; then
    mkdir -p "$into$(dirname "$link")"
    ln -sf "$(realpath --relative-to "$(dirname "$link")" "$real")" "$into$link"
  fi
  owner=$(dpkg-query -S "$real" 2>/dev/null || dpkg-query -S "${real#/usr}")
  packages[${owner%%: *}]=1
done
/sbin/ldconfig -r "$into" 2>/dev/null

cat >"$into/etc/passwd" <<'USERS'
root:x:0:0:root:/:/nonexistent
rbd-addons:x:65532:65532:rbd-addons:/:/nonexistent
USERS
printf 'root:x:0:\nrbd-addons:x:65532:\n' >"$into/etc/group"
echo 'hosts: files dns' >"$into/etc/nsswitch.conf"
install -D -m 644 "$(dirname "$0")/../../LICENSE" "$into/usr/share/doc/rbd-addons/LICENSE"
chmod 1777 "$into/tmp"

version=$("$into/usr/sbin/rbd-addonsd" --version | sed 's/^[^0-9]*//')
{
  printf '{"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",\n'
  printf ' "name": "rbd-addons-%s", "documentNamespace": "urn:rbd-addons:%s",\n' "$version" "$version"
  # The same input gives the same image.
  printf ' "creationInfo": {"created": "%s", "creators": ["Tool: collect.sh"]},\n' \
    "$(date -u -d "@${SOURCE_DATE_EPOCH:-0}" +%Y-%m-%dT%H:%M:%SZ)"
  printf ' "packages": [\n'
  printf '  {"SPDXID": "SPDXRef-rbd-addons", "name": "rbd-addons", "versionInfo": "%s",' "$version"
  printf ' "downloadLocation": "NOASSERTION", "licenseConcluded": "Apache-2.0"}'
  while IFS= read -r package; do
    # shellcheck disable=SC2016 # dpkg-query expands it
    read -r name has source from < <(dpkg-query -W \
      -f='${Package} ${Version} ${source:Package} ${source:Version}\n' "$package")
    printf ',\n  {"SPDXID": "SPDXRef-%s", "name": "%s", "versionInfo": "%s",' "${name//[^A-Za-z0-9.-]/-}" "$name" "$has"
    printf ' "downloadLocation": "NOASSERTION", "sourceInfo": "Debian source package %s %s"}' "$source" "$from"
    if [[ -e /usr/share/doc/$name/copyright ]]; then
      install -D -m 644 "$(readlink -f "/usr/share/doc/$name/copyright")" "$into/usr/share/doc/$name/copyright"
    fi
  done < <(printf '%s\n' "${!packages[@]}" | sort)
  printf '\n ]}\n'
} >"$into/usr/share/doc/rbd-addons/sbom.spdx.json"
