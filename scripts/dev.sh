#!/usr/bin/env bash
# The loop of seconds: builds the tests of one folder, and runs them.
#
#   scripts/dev.sh FOLDER [TESTS]
#
# FOLDER is a folder of the code (replication, ceph/librados, ...), whose tests are those in
# tests/unit/FOLDER, or a folder of tests (tests/rpc, tests/contract, tests/integration).
# TESTS is a regular expression for the names of tests: scripts/dev.sh replication Promote.
#
# Works in build/debug, which scripts/test.sh uses, too. ccache and lld shorten it a lot:
# apt-get install ccache lld, before build/debug is there.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib/common.sh
. scripts/lib/common.sh
# shellcheck source=scripts/lib/packages.sh
. scripts/lib/packages.sh
# shellcheck source=scripts/lib/machine.sh
. scripts/lib/machine.sh
# shellcheck source=scripts/lib/build.sh
. scripts/lib/build.sh

# Folders below tests/ that have tests of their own.
test_folders() {
  grep -lE '^addons_(integration_|fuzz_)?test\(' tests/*/CMakeLists.txt tests/*/*/CMakeLists.txt |
    sed 's|^tests/||; s|/CMakeLists.txt$||'
  printf 'structure\ndeploy\n'
}
usage_of_folders() {
  usage
  printf 'Folders:'
  test_folders | sed 's|^unit/||; t; s|^|tests/|' | sort | paste -sd ' ' | fold -s -w 90 | sed 's/^/  /'
}
# tests_of FOLDER: the folder below tests/.
tests_of() {
  local folder=${1#./} known
  folder=${folder%/}
  known=$(test_folders)
  case $folder in
    tests/*) folder=${folder#tests/} ;;
    # The command line is tested against a server, and messages where they are pinned.
    cli | cli/*) folder=rpc ;;
    deploy | deploy/*) folder=deploy ;;
    proto | proto/*) folder=unit/rpc ;;
    *) folder=unit/${folder%%/*} ;;
  esac
  # An interior (replication/group) is tested with the folder that it belongs to.
  while [[ $folder && $folder != . ]]; do
    if grep -qxF -e "$folder" <<<"$known"; then
      printf '%s' "$folder"
      return
    fi
    folder=$(dirname "$folder")
  done
  return 1
}

case ${1:-} in
  -h | --help)
    usage_of_folders
    exit 0
    ;;
esac
if ! tests=$(tests_of "${1:-}") || (($# > 2)); then
  if [[ ${1:-} ]]; then printf "dev.sh: '%s' has no tests\n\n" "$1" >&2; fi
  usage_of_folders >&2
  exit 2
fi
case $tests in
  contract | integration | deploy) purpose=$tests ;;
  *) purpose=unit ;;
esac
check_machine "$purpose"
on_interrupt_say_so
install_for "$purpose"

use_temporary_folder

if [[ $tests == deploy ]]; then tests/deploy/tools.sh; fi
UNITY=OFF configure debug
if [[ $tests == structure ]]; then target=; else target=tests-in-${tests//\//-}; fi
if [[ $target ]]; then build debug "$target"; fi
ctest --preset debug --parallel "${JOBS:-4}" --no-tests=error --no-label-summary --progress \
  --label-regex "^in-${tests//\//-}\$" ${2:+--tests-regex "$2"}
