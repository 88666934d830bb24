#!/usr/bin/env bash
# Prints the Debian packages that are needed, for building by hand.
#
#   scripts/packages.sh [PURPOSE...]    default: release
#
# PURPOSE is release (the programs), a label of the tests (unit, rpc, deploy, contract, integration,
# long), demo, browser (Chromium, for the test of the status page), lint, fuzz (libFuzzer), micro
# (benchmarks without clusters), package and image (to make those), or faster (ccache and lld,
# which are used where they are installed):
#
#   apt-get install --no-install-recommends $(scripts/packages.sh release unit)
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib/packages.sh
. scripts/lib/packages.sh

usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; }
case ${1:-} in
  -h | --help)
    usage
    exit 0
    ;;
esac
packages_for "${@:-release}" || {
  usage >&2
  exit 2
}
