#!/usr/bin/env bash
# Feeds the parsers of foreign input, and all RPCs, with what a fuzzer makes up, under the
# address and undefined behaviour sanitizers.
#
#   scripts/fuzz.sh                           every target, one minute each
#   scripts/fuzz.sh TARGET... --minutes N     these, so long each (a fraction is fine)
#   scripts/fuzz.sh TARGET... --merge         besides, adds to tests/fuzz/corpus what reaches
#                                             code that nothing there reaches
#
# Targets are the folders of tests/fuzz/corpus, and redaction, which takes rpc's. New inputs
# are kept in build/fuzz/corpus, where the next run goes on; an input that breaks a promise
# is in build/fuzz/findings. One that was found is run again with
#   build/fuzz/tests/bin/TARGET_fuzz FILE
# Prints a table; ends with 1 when something was found. Needs clang.
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
  printf 'fuzz.sh: %s\n\n' "$1" >&2
  usage >&2
  exit 2
}
mapfile -t known < <(sed -n 's/^addons_fuzz_test(NAME \([a-z_]*\) MUTATIONS.*/\1/p' tests/fuzz/CMakeLists.txt)
corpus_of() { # TARGET
  if [[ $1 == redaction ]]; then printf 'rpc'; else printf '%s' "$1"; fi
}

minutes=1 merge='' targets=()
while (($#)); do
  case $1 in
    -h | --help)
      usage
      exit 0
      ;;
    --minutes)
      (($# > 1)) || wrong "$1 needs a value"
      minutes=$2
      shift
      ;;
    --merge) merge=yes ;;
    -*) wrong "there is no option '$1'" ;;
    *)
      [[ " ${known[*]} " == *" $1 "* ]] || wrong "there is no target '$1': ${known[*]}"
      targets+=("$1")
      ;;
  esac
  shift
done
[[ $minutes =~ ^[0-9]*\.?[0-9]+$ ]] || wrong "--minutes needs a number, not '$minutes'"
seconds=$(awk -v minutes="$minutes" 'BEGIN { s = int(minutes * 60); print s < 1 ? 1 : s }')
((${#targets[@]})) || targets=("${known[@]}")

check_machine unit
on_interrupt_say_so
install_for unit fuzz
use_temporary_folder
configure fuzz
build fuzz "${targets[@]/%/_fuzz}"

# The address sanitizer of older compilers does not start where addresses are very random.
start=()
if (($(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28) > 28)) && setarch -R true 2>/dev/null; then
  start=(setarch -R)
fi
# A daemon in the process holds threads, sockets and clusters for good.
export ASAN_OPTIONS=detect_leaks=0:${ASAN_OPTIONS:-}
export UBSAN_OPTIONS=print_stacktrace=1:${UBSAN_OPTIONS:-}

found=0
table=()
for target in "${targets[@]}"; do
  kept=build/fuzz/corpus/$target findings=build/fuzz/findings/$target
  log=$TMPDIR/$target.log
  given=tests/fuzz/corpus/$(corpus_of "$target")
  mkdir -p "$kept" "$findings"
  progress "    $target: $seconds s"
  result=0
  "${start[@]}" "build/fuzz/tests/bin/${target}_fuzz" -max_total_time="$seconds" -max_len=4096 -timeout=60 \
    -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$findings/" \
    "$kept" "$given" >"$log" 2>&1 || result=$?
  progress_done
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  coverage=$(grep -oE 'cov: [0-9]+' "$log" | tail -1 | cut -d' ' -f2)
  verdict=nothing
  if ((result != 0)); then
    found=1
    verdict=$(grep -hoE 'BROKEN PROMISE: .*|runtime error: .*|SUMMARY: .*' "$log" | head -1)
    verdict=${verdict:-"ended with $result"}
    tail -n 40 "$log"
  elif [[ $merge ]]; then
    "${start[@]}" "build/fuzz/tests/bin/${target}_fuzz" -merge=1 -max_len=1024 "$given" "$kept" >>"$log" 2>&1
  fi
  table+=("$(printf '%-15s %12s %10s   %s' "$target" "${executions:-?}" "${coverage:-?}" "$verdict")")
done

printf '\n%s s each:\n%-15s %12s %10s   %s\n' "$seconds" target executions coverage found
printf '%s\n' "${table[@]}"
((found == 0))
