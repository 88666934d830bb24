#!/usr/bin/env bash
# Switches off one condition or one call at a time in the given sources, runs the unit tests
# that reach it, and lists what none of them noticed. All mutants are compiled into one tree,
# in which an environment variable chooses, so that each costs only the tests' run.
#
#   scripts/mutate.sh SOURCE... [-- TEST...]
#
# SOURCE is a folder (replication/decide) or a file. TEST is a program of build/debug/tests/bin
# without the folder; by default those of scripts/dev.sh for the folder, as they stand in
# tests/unit/FOLDER. Works in build/mutate, a copy of the tree as it is committed or edited.
# JOBS=N bounds compilers and tests at a time. Each is told with its number: MUTANT=N before
# build/mutate/source/build/debug/tests/bin/TEST runs a test with that one alone.
#
# A line of the list that is right as it is (a log line, what only saves time) is named with its
# reason in tests/mutants.txt, and not told again. Ends with 1 when others are left.
# Not part of the gate: minutes to an hour.
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

wrong() { printf 'mutate.sh: %s (see --help)\n' "$1" >&2; exit 2; }
sources=() programs=()
while (($#)); do
  case $1 in
    -h | --help) usage && exit 0 ;;
    --) shift && programs=("$@") && break ;;
    -*) wrong "there is no option '$1'" ;;
    *) [[ -e $1 ]] || wrong "there is no '$1'" && sources+=("${1%/}") ;;
  esac
  shift
done
((${#sources[@]})) || wrong "which sources?"
if ((!${#programs[@]})); then
  for source in "${sources[@]}"; do
    tests=tests/unit/${source%%/*}/CMakeLists.txt
    [[ -e $tests ]] || wrong "$source has no tests below tests/unit; name programs after --"
    mapfile -t -O ${#programs[@]} programs < <(sed -n 's/^addons_test(NAME \([a-z_]*\).*/\1/p' "$tests")
  done
  # Once each, where several sources are of one folder.
  mapfile -t programs < <(printf '%s\n' "${programs[@]}" | sort -u)
fi
check_machine unit
on_interrupt_say_so
install_for unit

# Only what changed is written, so that only that is compiled again.
mkdir -p build/mutate/source
git ls-files -z -co --exclude-standard |
  python3 scripts/lib/mutate.py write build/mutate/source build/mutate/mutants.json "${sources[@]}"
(
  cd build/mutate/source
  configure debug
  build debug "${programs[@]}"
)
python3 scripts/lib/mutate.py run build/mutate/mutants.json build/mutate/source/build/debug/tests/bin \
  tests/mutants.txt "$(compile_jobs)" "${programs[@]}"
