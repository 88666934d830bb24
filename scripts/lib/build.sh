# shellcheck shell=bash disable=SC2154 # the colours are set in common.sh
# Configures and builds, with a counter and an estimate. Sourced, after machine.sh.

# configure PRESET [CMAKE ARGUMENT...]. ccache and mold are used where they are installed
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
    if [[ $preset != release ]] && command -v mold >/dev/null; then
      faster+=(-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold)
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

# Reads ninja's output; 130 when ninja says that it was interrupted.
show_build_progress() {
  local line='' part finished=0 total=0 began=$SECONDS left result=0 status
  while true; do
    status=0
    IFS= read -r -t 1 part || status=$?
    line+=$part
    if ((status == 0)); then
      if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
        finished=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
      elif [[ $line == *'interrupted by user'* ]]; then
        result=130
      elif [[ $line != 'ninja: no work to do.' && $line != 'ninja: Entering directory'* ]]; then
        progress_done
        printf '%s\n' "$line"
      fi
      line=''
    elif ((status <= 128)); then
      break
    fi
    ((total)) || continue
    left=''
    if ((finished >= 20 && finished < total)); then
      left=$(((SECONDS - began) * (total - finished) / finished))
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

# build PRESET [TARGET...]: 130 when interrupted.
build() {
  local preset=$1 targets=() results
  shift
  if (($#)); then targets=(--target "$@"); fi
  NINJA_STATUS='[%f/%t] ' cmake --build --preset "$preset" "${targets[@]}" -- -j "$(compile_jobs)" 2>&1 |
    show_build_progress && results=("${PIPESTATUS[@]}") || results=("${PIPESTATUS[@]}")
  if ((results[1] == 130)); then interrupted; fi
  return "${results[0]}"
}
