#!/usr/bin/env bash
# Two real sites live through moves, disasters and returns for as long as asked, with
# workloads that write all the time, while daemons of Ceph and ours die and hang, clocks are
# wrong, pools are full and the link is cut or slow. What counts is the data; see
# docs/testing.md, "Chaos".
#
#   scripts/chaos.sh                        30 minutes with a seed that is printed
#   scripts/chaos.sh --minutes N --seed S   new rounds begin for N minutes; S repeats a run,
#                                           several seeds are run one after the other; odd
#                                           ones have BlueStore, even ones memstore
#                    --volumes N            so many volumes, 10 when not given
#                    --members N            so many members of the group, 5; 0: no group
#
# As root the clusters have a network of their own, whose link can be cut and slow; otherwise
# that is left out, and hosts are not fenced. Prints what happens as it happens, and at the end what was done and found;
# ends with 1 when anything was lost, stuck or left over. The output is kept in build/chaos.
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

wrong() {
  printf 'chaos.sh: %s\n\n' "$1" >&2
  usage >&2
  exit 2
}

minutes=30 volumes=10 members=5 seeds=()
while (($#)); do
  case $1 in
    -h | --help)
      usage
      exit 0
      ;;
    --minutes | --volumes | --members)
      [[ ${2:-} =~ ^[0-9]+$ ]] || wrong "$1 needs a number"
      case $1 in
        --minutes) minutes=$2 ;;
        --volumes) volumes=$2 ;;
        --members) members=$2 ;;
      esac
      shift
      ;;
    --seed)
      [[ ${2:-} =~ ^[0-9]+$ ]] || wrong "$1 needs a number"
      while [[ ${2:-} =~ ^[0-9]+$ ]]; do
        seeds+=("$2")
        shift
      done
      ;;
    *) wrong "there is no option '$1'" ;;
  esac
  shift
done
((minutes > 0)) || wrong "--minutes needs a number above 0"
((volumes + members > 0)) || wrong "there is nothing to move: --volumes or --members"
((${#seeds[@]})) || seeds=("$((SRANDOM % 1000000000))")

check_machine integration
on_interrupt_say_so
install_for integration
use_temporary_folder
configure debug
build debug chaos_integration_test rbd-addonsd

mkdir -p build/chaos
failed=()
for seed in "${seeds[@]}"; do
  log=$PWD/build/chaos/$seed.log
  result=0
  RBD_ADDONS_CHAOS_MINUTES=$minutes RBD_ADDONS_CHAOS_SEED=$seed RBD_ADDONS_CHAOS_VOLUMES=$volumes \
    RBD_ADDONS_CHAOS_MEMBERS=$members build/debug/tests/bin/chaos_integration_test 2>&1 | tee "$log" || result=$?
  ((result == 0)) || failed+=("$seed")
done
printf '\n%s run(s) of %s minutes, %s failed%s\n' "${#seeds[@]}" "$minutes" "${#failed[@]}" \
  "${failed[*]:+: seeds ${failed[*]}}"
((${#failed[@]} == 0))
