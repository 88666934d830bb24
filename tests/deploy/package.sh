#!/usr/bin/env bash
# The Debian packages: built from a built tree, looked at by lintian, installed, started (also
# by a real systemd: systemd.sh, and unit_trim.sh for its trims), upgraded, removed and purged
# in a fresh root of this release of Debian. Ends with 77 where that cannot be tried.
#
#   tests/deploy/package.sh BUILD
# shellcheck disable=SC2016 # what is in single quotes is expanded inside the root
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "${1:-build/release}")

skip() { echo "skipped: $*"; exit 77; }
((EUID == 0)) || skip "not root"
for program in mmdebstrap lintian dh systemd-analyze unshare; do
  command -v "$program" >/dev/null || skip "$program is not here"
done
unshare --mount --pid --fork true 2>/dev/null || skip "namespaces cannot be made here"

work=$(mktemp -d "${TMPDIR:-/tmp}/rbda-package.XXXXXX")
clean_up() { rm -rf --one-file-system "$work"; }
trap clean_up EXIT
trap 'exit 130' INT TERM
# shellcheck source=scripts/lib/checks.sh
. scripts/lib/checks.sh

deploy/package/build-deb.sh --build "$build" "$work/dist"
daemon=$(echo "$work"/dist/rbd-addonsd_*.deb)
cli=$(echo "$work"/dist/rbd-addons_*.deb)

# A first upload to Debian would close a bug there; this is none.
check "lintian has nothing to say" lintian --allow-root --fail-on error,warning \
  --suppress-tags initial-upload-closes-no-bugs "$work"/dist/*.changes

# "cmake --install" puts the same files in the same places.
DESTDIR=$work/installed cmake --install "$build" >/dev/null
(cd "$work/installed" && find . -type f ! -path './usr/share/doc/*' | sed 's/^\.//' | sort) >"$work/by-cmake"
for package in "$daemon" "$cli"; do dpkg-deb --contents "$package"; done | awk '$1 ~ /^-/ { sub(/^\./, "", $6); print $6 }' |
  grep -v '^/usr/share/\(doc\|lintian\)/' | sed -e 's/^\/lib\//\/usr\/lib\//' -e 's/\(\/man\/.*\)\.gz$/\1/' | sort >"$work/by-package"
check "packages and cmake --install agree" diff "$work/by-cmake" "$work/by-package"

root=$work/root
# shellcheck source=/dev/null
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-forky}")
mmdebstrap --quiet --variant=minbase --include=systemd,mount,bash-completion,man-db "$suite" "$root"
mkdir "$root/packages"
cp "$daemon" "$cli" "$root/packages"
cp /etc/resolv.conf "$root/etc/resolv.conf"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
# In namespaces of its own, so that nothing is left mounted or running.
inside() {
  unshare --mount --pid --fork --kill-child bash -c '
    mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/run" && mount --bind /dev "$1/dev" &&
    shift_root=$1 && shift && exec chroot "$shift_root" "$@"' inside "$root" "$@"
}
apt() { inside env DEBIAN_FRONTEND=noninteractive apt-get -y -q --no-install-recommends "$@"; }

apt update >/dev/null
check "install" apt install "/packages/${daemon##*/}" "/packages/${cli##*/}"
check "the user is there" grep -q '^rbd-addons:' "$root/etc/passwd"
check "the daemon starts there, with its sample of a configuration" inside bash -euc '
  cp /usr/share/doc/rbd-addonsd/examples/config.json.example /tmp/config.json
  rbd-addonsd --controllerserver --csi-addons-endpoint unix:///tmp/s --admin-endpoint unix:///tmp/admin --config-dir /tmp 2>/tmp/log &
  for i in $(seq 100); do rbd-addons probe --endpoint unix:///tmp/s && exit 0; sleep 0.2; done
  cat /tmp/log; exit 1'
check "the flags of /etc/default/rbd-addons are known" inside bash -euc '
  set -a; . /etc/default/rbd-addons; ! out=$(rbd-addonsd --log-level=none 2>&1); [[ $(wc -l <<<"$out") == 1 ]]'
check "what a host without a checkout needs" inside bash -euc '
  [[ -d /etc/rbd-addons ]]; /usr/share/rbd-addons/create-user.sh --help | grep -q -- --for
  grep -q RbdAddonsControllerGone /usr/share/rbd-addons/rules.yaml; grep -q panels /usr/share/rbd-addons/dashboard.json
  [[ -f /usr/share/doc/rbd-addonsd/docs/standalone.md && -f /usr/share/doc/rbd-addonsd/docs/runbooks/disaster.md ]]'
check "systemd takes the unit" inside env SYSTEMD_LOG_TARGET=console systemd-analyze verify /usr/lib/systemd/system/rbd-addonsd.service
check "the manual pages" inside bash -euc 'for page in rbd-addonsd.8 rbd-addons.1 kubectl-rbd_addons.1; do
  man --warnings -l /usr/share/man/man${page##*.}/$page.gz >/tmp/page 2>/tmp/warnings; ! [ -s /tmp/warnings ]; done
  man -l /usr/share/man/man8/rbd-addonsd.8.gz | grep -q -- --settle-time
  man -l /usr/share/man/man1/rbd-addons.1.gz | grep -q "site failover POOL"'
check "the plugin of kubectl" inside bash -euc 'kubectl-rbd_addons --help | grep -q "pvc/NAME"
  rbd-addons kubectl-plugin | cmp - /usr/bin/kubectl-rbd_addons'
check "completion" inside bash -euc '. /usr/share/bash-completion/completions/rbd-addons
  COMP_WORDS=(rbd-addons op) COMP_CWORD=1; _rbd_addons; [[ ${COMPREPLY[*]} == operations ]]
  COMP_WORDS=(rbd-addons site fail) COMP_CWORD=2; _rbd_addons; [[ ${COMPREPLY[*]} == "failover failback" ]]
  COMP_WORDS=(rbd-addons call Promote) COMP_CWORD=2; _rbd_addons; [[ ${COMPREPLY[*]} == PromoteVolume ]]
  COMP_WORDS=(rbd-addons call --sec) COMP_CWORD=2; _rbd_addons; [[ ${COMPREPLY[*]} == --secrets-file ]]'
exposure=$(inside systemd-analyze security --offline=true --threshold=20 rbd-addonsd.service 2>&1 | tail -n 1)
if [[ $exposure == *"OK"* || $exposure == *"SAFE"* ]]; then held "exposure: $exposure"; else failed "exposure: $exposure"; fi

newer() { # NUMBER: a package that is newer by so much
  rm -rf "$work/newer"
  dpkg-deb --raw-extract "$daemon" "$work/newer"
  sed -i "s/^Version: .*/&+$1/" "$work/newer/DEBIAN/control"
  dpkg-deb --root-owner-group --build "$work/newer" "$root/packages/newer-$1.deb" >/dev/null
}
newer 1
under_systemd() {
  local result=0
  "$@" || result=$?
  case $result in
    0 | 77) ;;
    *) failures=$((failures + 1)) ;;
  esac
}
under_systemd tests/deploy/unit_trim.sh "$root"
under_systemd tests/deploy/systemd.sh "$root" /packages/newer-1.deb

echo '# of this host' >>"$root/etc/default/rbd-addons"
newer 2
check "upgrade" apt install /packages/newer-2.deb
check "what the administrator changed stays" grep -q '^# of this host' "$root/etc/default/rbd-addons"
check "remove" apt remove rbd-addonsd rbd-addons
check "the configuration stays" test -e "$root/etc/default/rbd-addons"
check "purge" apt purge rbd-addonsd rbd-addons
# Also what systemd made as it started it.
left=$(find "$root/etc" "$root/usr" "$root/var/lib/systemd" -name '*rbd-addons*' ! -path '*/cache/*' 2>/dev/null)
if [[ $left ]]; then failed "left: $left"; else held "nothing is left"; fi

printf '%d failures\n' "$failures"
((failures == 0))
