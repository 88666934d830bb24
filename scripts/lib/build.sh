# shellcheck shell=bash disable=SC2154 # the colours are set in common.sh
# Configures and builds, with a counter and an estimate. Sourced, after machine.sh.

# configure PRESET [CMAKE ARGUMENT...]. ccache and lld are used where they are installed
# when a tree is made; a tree keeps what it was made with. A new tree compiles several files
# at a time, which makes the whole three times as fast; with UNITY=OFF each alone, so that
# one that was edited is there sooner.
configure() {
  local preset=$1 log faster=()
  shift
  if [[ ! -f build/$preset/CMakeCache.txt ]]; then
    faster+=("-DCMAKE_UNITY_BUILD=${UNITY:-ON}" -DCMAKE_UNITY_BUILD_BATCH_SIZE=16)
    if command -v ccache >/dev/null; then faster+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
    # What is shipped is linked with the distribution's own linker.
    if [[ $preset != release ]] && command -v ld.lld >/dev/null; then
      faster+=(-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld)
    fi
  fi
  log=$(mktemp)
  cmake --preset "$preset" "${faster[@]}" "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    rm -f "$log"
    return 1
  }
  rm -f "$log"
}

# weighted_steps PRESET [CMAKE ARGUMENT...]: for each step that a build would take its weight,
# a tab, and what ninja calls it. The weight is in hundredths of the seconds of a compiler that
# runs beside another one on two quiet processors that are one core.
weighted_steps() {
  local preset=$1
  shift
  {
    grep -rsH --include='unity_*_cxx.cxx' '^#include "' "build/$preset" |
      sed -nE 's|^build/[^/]*/(.*):#include "(.*)"$|\2\t\1|p' |
      while IFS=$'\t' read -r source unity; do
        # Those that are generated may not be there yet, and most of them is their headers.
        printf 'size %s %s\n' "$(stat -c %s "$source" 2>/dev/null || echo 2000)" "$unity"
      done
    # Ninja would first make build.ninja anew, and a trial run ends there.
    cp "build/$preset/build.ninja" "build/$preset/trial.ninja"
    NINJA_STATUS='[%f/%t] ' cmake --build --preset "$preset" "$@" -- -f trial.ninja -n 2>/dev/null
    rm -f "build/$preset/trial.ninja"
  } | awk '
    $1 == "size" { bytes[$3] += $2; next }
    sub(/^\[[0-9]+\/[0-9]+\] /, "") {
      weight = 10
      if (/^Building CXX/) {
        source = $NF
        sub(/[.]o$/, "", source)
        if (source in bytes) weight = 900 + bytes[source] / 45
        else if (source ~ /[.]grpc[.]pb[.]cc$/) weight = 900
        else if (source ~ /[.]pb[.]cc$/) weight = 1400
        else weight = 600
      } else if (/^Linking/) {
        weight = 200
      }
      printf "%d\t%s\n", weight, $0
    }'
}

# estimated_left SECONDS DONE TOTAL JOBS FINISHED STEPS: how many seconds a build still takes
# that has run for so long; DONE and TOTAL are weights. It starts from what the weights say of
# a quiet machine. What runs is taken for a quarter done.
estimated_left() {
  local seconds=$1 finished_weight=$2 total=$3 jobs=$4 steps_left=$(($6 - $5)) running
  ((steps_left > 0)) || { printf 0; return; }
  running=$((jobs * (total - finished_weight) / steps_left / 4))
  if ((running > (total - finished_weight) / 4)); then running=$(((total - finished_weight) / 4)); fi
  finished_weight=$((finished_weight + running))
  # As if a thousand had been done at a quiet machine's speed before.
  printf '%d' $(((seconds * jobs + 10) * (total - finished_weight) / ((finished_weight + 1000) * jobs)))
}

# The mean of a release build's steps, in the weights' unit.
readonly weight_of_any=860

# A step takes seconds, and on a machine with much else to do minutes. A linker (mold 1.10.1) that
# never ends with one of our programs took whole gates with it.
stuck_after=${ADDONS_STUCK_AFTER:-900}

# end_stuck_step FILE: shows what a ninja of this script has been running for too long, ends it,
# and makes FILE then. Ninja fails by itself.
end_stuck_step() {
  local process pid ninja ended=()
  for ninja in $(pgrep -x ninja || true); do
    is_below "$ninja" $$ || continue
    for process in /proc/[0-9]*; do
      pid=${process#/proc/}
      if ((pid != ninja && $(ps -o etimes= -p "$pid" || echo 0) >= stuck_after)) && is_below "$pid" "$ninja"; then
        ended+=("$pid")
      fi
    done
  done
  ((${#ended[@]})) || return 0
  progress_done
  printf 'no step has ended for %s; these processes are ended:\n' "$(duration "$stuck_after")"
  ps -o pid,ppid,stat,wchan:24,etimes,time,rss,args -p "$(IFS=, && printf '%s' "${ended[*]}")" | cut -c1-240
  kill -KILL "${ended[@]}" 2>/dev/null || true
  : >"$1"
}

# show_build_progress JOBS [STEPS [LOG]]: reads ninja's output, STEPS is a file of
# weighted_steps; 130 when ninja says that it was interrupted. With LOG everything is written
# there, and nothing but the progress is shown; without weights each step counts alike then.
show_build_progress() {
  local line='' part finished=0 total=0 began=$SECONDS left result=0 status jobs=$1 log=${3:-}
  local weight name done_weight=0 total_weight=0 moved=$SECONDS
  local -A weight_of=()
  while IFS=$'\t' read -r weight name; do
    weight_of[$name]=$weight
    total_weight=$((total_weight + weight))
  done < <(if [[ ${2:-} ]]; then cat "$2"; fi)
  while true; do
    status=0
    IFS= read -r -t 1 part || status=$?
    line+=$part
    if ((status == 0)); then
      moved=$SECONDS
      if [[ $log ]]; then printf '%s\n' "$line" >>"$log"; fi
      if [[ $line =~ ^\[[0-9/]+\]\ Re- ]]; then
        : # ninja sees whether build.ninja is as it should be, and begins to count after that
      elif [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (.*)$ ]]; then
        if ((total == 0)); then progress_at_once; fi
        finished=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
        done_weight=$((done_weight + ${weight_of[${BASH_REMATCH[3]}]:-0}))
        if [[ $log ]] && ((${#weight_of[@]} == 0)); then
          done_weight=$((finished * weight_of_any)) total_weight=$((total * weight_of_any))
        fi
      elif [[ $line == *'interrupted by user'* ]]; then
        result=130
      elif [[ $log ]]; then
        if ((total == 0)); then progress "    preparing: $(duration $((SECONDS - began)))"; fi
      elif [[ $line != 'ninja: no work to do.' && $line != 'ninja: Entering directory'* ]]; then
        progress_done
        printf '%s\n' "$line"
      fi
      line=''
    elif ((status <= 128)); then
      break
    fi
    if [[ ${2:-} ]] && ((SECONDS - moved >= stuck_after)); then
      end_stuck_step "$2.stuck"
      moved=$SECONDS
    fi
    ((total)) || continue
    left=''
    if ((total_weight > done_weight && finished < total)); then
      left=$(estimated_left $((SECONDS - began)) "$done_weight" "$total_weight" "$jobs" "$finished" "$total")
      left=", about $(duration "$left") left"
    fi
    progress "    building: $finished of $total, $(duration $((SECONDS - began)))$left"
  done
  progress_done
  if ((result == 0 && total > 0 && finished == total)); then
    printf '    %s%s%s built: %d steps, %s\n' "$green" "$tick" "$plain" "$total" "$(duration $((SECONDS - began)))"
  fi
  return "$result"
}

# build PRESET [TARGET...]: 130 when interrupted. Once more where a step had to be ended.
build() {
  local preset=$1 targets=() results jobs steps again
  shift
  if (($#)); then targets=(--target "$@"); fi
  jobs=$(compile_jobs)
  steps=$(mktemp)
  weighted_steps "$preset" "${targets[@]}" >"$steps" || true
  for again in yes no; do
    rm -f "$steps.stuck"
    NINJA_STATUS='[%f/%t] ' cmake --build --preset "$preset" "${targets[@]}" -- -j "$jobs" 2>&1 |
      show_build_progress "$jobs" "$steps" && results=("${PIPESTATUS[@]}") || results=("${PIPESTATUS[@]}")
    if ((results[1] == 130)); then interrupted; fi
    if ((results[0] == 0)) || [[ $again == no || ! -e $steps.stuck ]]; then break; fi
    printf 'building once more what is missing\n'
  done
  rm -f "$steps" "$steps.stuck"
  return "${results[0]}"
}
