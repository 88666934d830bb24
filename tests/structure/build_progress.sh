#!/usr/bin/env bash
# What a build shows: that the estimate of the time left starts from the documented time and
# is, from the first minute on, never wrong by more than half, on a quiet and on a busy
# machine. Plays a build that was recorded. Prints each offence.
set -euo pipefail
cd "$1"
# shellcheck source=scripts/lib/common.sh
. scripts/lib/common.sh
# shellcheck source=scripts/lib/build.sh
. scripts/lib/build.sh

# shellcheck source=tests/structure/lib/offences.sh
. tests/structure/lib/offences.sh

recorded=tests/fixtures/builds/release.txt
mapfile -t ends < <(sed -n '/^[0-9]/s/ .*//p' "$recorded")
mapfile -t weights < <(sed -n '/^[0-9]/s/.* //p' "$recorded")
steps=${#ends[@]}
total=0
for weight in "${weights[@]}"; do total=$((total + weight)); done
took=$((ends[steps - 1] / 1000))

first=$(estimated_left 0 0 "$total" 2 0 "$steps")
((first > took / 2 && first < took * 3 / 2)) || offend "the estimate starts with $first s, and the build takes $took s"

# played TENTHS: the build with each step so many tenths as long as recorded.
played() {
  local tenths=$1 at=60 finished=0 weight=0 left estimated slack
  while ((at < took * tenths / 10)); do
    while ((finished < steps && ends[finished] * tenths / 10 <= at * 1000)); do
      weight=$((weight + weights[finished]))
      finished=$((finished + 1))
    done
    left=$((took * tenths / 10 - at))
    estimated=$(estimated_left "$at" "$weight" "$total" 2 "$finished" "$steps")
    # The last step may be any, so the end is told to a twentieth of the whole.
    slack=$((left / 2 > took * tenths / 200 ? left / 2 : took * tenths / 200))
    ((estimated >= left - slack && estimated <= left + slack)) ||
      offend "after $at s of $((took * tenths / 10)): about $estimated s left, and it is $left s"
    at=$((at + 20))
  done
}
played 10
played 5
played 30
played 60

# What ninja says is shown, and the weights are those of the steps.
steps_file=$(mktemp)
trap 'rm -f "$steps_file"' EXIT
printf '60000\tBuilding CXX object a.o\n20000\tLinking b\n' >"$steps_file"
shown=$(printf '[1/2] Building CXX object a.o\na.cc:1: warning\n[2/2] Linking b\n' |
  show_build_progress 2 "$steps_file")
[[ $shown == *'a.cc:1: warning'* && $shown == *'building: 1 of 2'*'about'*'left'* && $shown == *'built: 2 steps'* ]] ||
  offend "the progress of a build shows: $shown"
shown=$(printf '[1/2] Building CXX object a.o\n' | show_build_progress 2)
[[ $shown == *'building: 1 of 2'* && $shown != *about* ]] || offend "without weights: $shown"

# Ninja looks first whether build.ninja is to be made anew: that is no step of the build.
shown=$(printf '[0/2] Re-checking globbed directories...\n[1/3] Building CXX object a.o\n' | show_build_progress 2)
[[ $shown == *'building: 1 of 3'* && $shown != *' of 2'* ]] || offend "what comes before a build shows: $shown"

# The steps of a build are known beforehand, also where build.ninja is to be made anew.
tree=$(mktemp -d)
mkdir -p "$tree/build/debug"
cat >"$tree/build/debug/build.ninja" <<'END'
rule made
  command = touch $out
  description = $verb $out
build always: phony
build build.ninja: made always
  generator = 1
  verb = Re-running
build a: made
  verb = Building CXX object
build b: made a
  verb = Linking
END
listed=$(
  cd "$tree"
  cmake() { while [[ $1 != -- ]]; do shift; done && shift && ninja -C build/debug "$@" b; }
  weighted_steps debug
)
rm -rf "$tree"
[[ $listed == *'Building CXX object a'*'Linking b' ]] || offend "the steps of a build are said to be: $listed"

# With a log only the progress is shown, and each step counts alike.
shown=$(printf 'dh_auto_build\n[1/2] /usr/bin/c++ a.cc\nnote\n[2/2] /usr/bin/c++ b.cc\n' |
  show_build_progress 2 '' "$steps_file")
[[ $shown == *'building: 1 of 2'*'about'*'left'* && $shown != *note* && $(<"$steps_file") == *note* ]] ||
  offend "with a log: $shown"

# A step that never ends is ended, also the first one, and the build is tried once more.
stuck=$(mktemp -d)
trap 'rm -rf "$steps_file" "$stuck"' EXIT
cat >"$stuck/build.ninja" <<'END'
rule made
  command = if [ -e started ]; then touch $out; else touch started; sleep 600; fi
  description = Linking $out
build first: phony
build b: made first
END
mkdir "$stuck/bin"
printf '#!/bin/sh\ncd "%s" && exec ninja "$@"\n' "$stuck" >"$stuck/bin/build"
chmod +x "$stuck/bin/build"
shown=$(
  stuck_after=2
  cmake() { shift $(($# - 2)) && "$stuck/bin/build" "$@" 2>&1; }
  compile_jobs() { echo 2; }
  weighted_steps() { printf '200\tLinking b\n'; }
  build debug
) || offend "a build whose step was ended is not tried again: $shown"
[[ $shown == *'no step has ended for 2 s'*'sleep 600'*'once more'*'built: 1 steps'* && -e $stuck/b ]] ||
  offend "a step that never ends shows: $shown"

((offences == 0)) || exit 1
echo "a build of $took s, at four speeds"
