#!/usr/bin/env bash
# Installs what is needed, builds, and runs the tests.
#
#   scripts/test.sh                    everything
#   scripts/test.sh unit               one label: unit, rpc, contract or integration
#   PRESET=asan scripts/test.sh unit   another preset: debug (default), asan, tsan
#
# Integration tests start real Ceph clusters on loopback, in a temporary folder,
# and take them down again, also when the run is interrupted.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib/packages.sh
. scripts/lib/packages.sh

preset=${PRESET:-debug}
selection=()
if [[ ${1:-} ]]; then
  selection=(--label-regex "^$1\$")
fi

install_packages "${build_packages[@]}" "${test_packages[@]}" "${ceph_packages[@]}"

# UNIX sockets allow 107 bytes of path, so this one is short.
TMPDIR=$(mktemp -d /tmp/rbda.XXXXXX)
export TMPDIR
# A test that was killed could not end its clusters itself.
clean_up() {
  local bed
  for bed in "$TMPDIR"/*/.rbd-addons-testbed; do
    if [[ -e $bed ]]; then scripts/testbed down "${bed%/*}" || true; fi
  done
  rm -rf "$TMPDIR"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

cmake --preset "$preset" >"$TMPDIR/configure.log" || {
  cat "$TMPDIR/configure.log" >&2
  exit 1
}
cmake --build --preset "$preset"

# Most integration tests wait for Ceph, not for the processor.
ctest --preset "$preset" --parallel "${JOBS:-4}" --no-tests=error "${selection[@]}"
