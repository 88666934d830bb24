#!/usr/bin/env bash
# Installs what is needed, builds it, and runs the tests.
#
#   scripts/test.sh                    all of them but "long"
#   scripts/test.sh LABEL...           only these, and only what they need is installed and built
#   PRESET=asan scripts/test.sh unit   another preset: debug (default), asan, tsan
#   SAMPLE=6 scripts/test.sh integration   so many of them, by a seed; SEED=S repeats them
#   GATE=yes scripts/test.sh integration   those that the change since BASE (default: main, or the
#                                      last commit) reaches, by tests/reach.txt and by includes,
#                                      and a sixth of the others, by the number of commits or
#                                      SEED: six numbers in a row run all; of a change that
#                                      reaches more than half an hour of them a part, or what
#                                      GATE_SECONDS hold one after the other
#
# Labels:
#   unit         value types, the verbs on a model of two clusters, the structure of the tree
#   rpc          the real gRPC server and the program, on the model
#   deploy       chart, manifests, alert rules and packages, with the tools that read them
#   contract     one suite on the model and on real clusters, so that the model stays honest
#   integration  the daemon on real clusters; includes the real half of contract
#   long         real clusters with rbd-mirror's default intervals; hours
#
# Real clusters run on loopback, below a temporary folder, and are taken down again, also
# when the run is interrupted. JOBS=N bounds compilers and tests at a time; JUNIT=FILE
# writes the results there, too, and single tests that were skipped within a program into
# FILE.skips.
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
# shellcheck source=scripts/lib/reached.sh
. scripts/lib/reached.sh

labels=()
for argument; do
  case $argument in
    -h | --help)
      usage
      exit 0
      ;;
    unit | rpc | deploy | contract | integration | long) labels+=("$argument") ;;
    *)
      printf "test.sh: there is no label '%s'\n\n" "$argument" >&2
      usage >&2
      exit 2
      ;;
  esac
done
preset=${PRESET:-debug}
case $preset in
  debug | asan | tsan) ;;
  *)
    printf "test.sh: there is no preset '%s' for tests: debug, asan, tsan\n" "$preset" >&2
    exit 2
    ;;
esac
sample=${SAMPLE:-}
if [[ $sample && ! $sample =~ ^[1-9][0-9]*$ ]]; then
  printf "test.sh: SAMPLE is a number of tests, not '%s'\n" "$sample" >&2
  exit 2
fi

if [[ ${SEED:-} && ! $SEED =~ ^[0-9]{1,15}$ ]]; then
  printf "test.sh: SEED is a number, not '%s'\n" "$SEED" >&2
  exit 2
fi
gate=${GATE:-}
if [[ $gate && $gate != yes ]] || [[ $gate && $sample ]]; then
  printf "test.sh: GATE is 'yes' or not set, and goes without SAMPLE\n" >&2
  exit 2
fi

if [[ ${GATE_SECONDS:-} && ! $GATE_SECONDS =~ ^[1-9][0-9]{0,5}$ ]]; then
  printf "test.sh: GATE_SECONDS is a number of seconds, not '%s'\n" "$GATE_SECONDS" >&2
  exit 2
fi

((${#labels[@]})) || labels=(unit rpc deploy contract integration)
check_machine "${labels[@]}"
on_interrupt_say_so
install_for "${labels[@]}"

use_temporary_folder

for label in "${labels[@]}"; do
  if [[ $label == deploy ]]; then tests/deploy/tools.sh; fi
done
configure "$preset"
build "$preset" "${labels[@]/#/tests-}"

regex=$(IFS='|' && printf '^(%s)$' "${labels[*]}")
selection=(--label-regex "$regex")
if [[ $sample ]]; then
  seed=${SEED:-$RANDOM}
  # A test's place is its own, so that one more test changes little.
  mapfile -t chosen < <(
    ctest --preset "$preset" --show-only "${selection[@]}" | sed -n 's/^ *Test *#[0-9]*: //p' |
      with_hash "$seed " | LC_ALL=C sort | head -n "$sample" | cut -d' ' -f2-
  )
  printf '    SEED=%s: %s\n' "$seed" "${chosen[*]}"
  # Names have dots and slashes, and no other sign that means something.
  selection+=(--tests-regex "^($(IFS='|' && printf '%s' "${chosen[*]//./[.]}"))\$")
fi
if [[ $gate && " ${labels[*]} " == *" integration "* ]]; then
  choose_tests "${SEED:-}"
  if ((${#left_out[@]})); then
    selection+=(--exclude-regex "^($(IFS='|' && printf '%s' "${left_out[*]//./[.]}"))\$")
  fi
fi
# Most tests on real clusters wait for Ceph, not for the processor; two sites take 1 GB.
jobs=4
memory_kb=$(awk '/^MemTotal/ { print $2 }' /proc/meminfo)
if ((memory_kb >= 16000000)); then jobs=8; fi
# A sanitizer takes the processor several times as long.
if [[ $preset != debug ]]; then jobs=$(nproc); fi
# Of programs some of whose tests were skipped: ctest does not know.
RBD_ADDONS_TEST_SKIPS=$(realpath -m -- "${JUNIT:-$TMPDIR/junit}.skips")
export RBD_ADDONS_TEST_SKIPS
draw_from_tree
status=0
ctest --preset "$preset" --parallel "${JOBS:-$jobs}" --no-tests=error --no-label-summary \
  ${JUNIT:+--output-junit "$JUNIT"} "${selection[@]}" || status=$?
if [[ -s $RBD_ADDONS_TEST_SKIPS ]]; then sed 's/^/skipped: /' "$RBD_ADDONS_TEST_SKIPS"; fi
((status == 0))
