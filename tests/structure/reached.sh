#!/usr/bin/env bash
# What the gate leaves out of the tests on real clusters: that tests/reach.txt names files and
# tests that exist, that a change reaches what it should and six gates in a row run all, and
# that a clone without history runs all. Prints each offence.
set -euo pipefail
cd "$1"
# shellcheck source=scripts/lib/common.sh
. scripts/lib/common.sh
# shellcheck source=scripts/lib/reached.sh
. scripts/lib/reached.sh

# shellcheck source=tests/structure/lib/offences.sh
. tests/structure/lib/offences.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

suites=$(wanted_suites)
count=$(wc -l <<<"$suites")
((count > 50)) || offend "only $count suites were found"
sources=$(real_tests)
while IFS= read -r suite; do
  grep -q "^$suite " <<<"$sources" || offend "$suite: has no source"
done <<<"$suites"

# The table.
while read -r pattern names; do
  # shellcheck disable=SC2086 # a pattern
  compgen -G "$pattern" >/dev/null || offend "tests/reach.txt: no file is like $pattern"
  for name in $names; do
    grep -qxF "$name" <<<"$suites" || offend "tests/reach.txt: $pattern names $name, which the label integration does not run"
  done
done < <(grep '^[^#]' tests/reach.txt)
while read -r _ name; do
  [[ $name != integration.* ]] || grep -qxF "${name#integration.}" <<<"$suites" ||
    offend "tests/durations.txt: there is no $name"
done < <(grep '^[^#]' tests/durations.txt)

# reaches FILE SUITE...: exactly these, or with "..." at the end these and others.
reaches() {
  local file=$1 expected found name
  shift
  [[ -e $file ]] || offend "$file: is gone; write this test for another file"
  found=$(reached_by "$file" | tr '\n' ' ')
  expected="$* "
  if [[ $expected == *' ... ' ]]; then
    for name in ${expected% ... }; do
      [[ " $found" == *" $name "* ]] || offend "a change of $file does not reach $name but $found"
    done
  else
    [[ $found == "${expected# }" ]] || offend "a change of $file reaches ${found:-nothing}, not ${expected}"
  fi
}
reaches replication/steps/promote.cc PlannedMoveTest DisasterTest ...
reaches replication/steps/promote.h PlannedMoveTest DisasterTest ...
reaches networkfence/range_turns.h FenceTest FenceCrashTest ...
reaches reclaimspace/trim.cc FilesystemTrimTest NodeTrimTest
reaches tests/integration/resync_test.cc OlderContentTest ResyncTest
reaches tests/cluster/fence_bed.cc FenceTest ChaosTest ... # through its header
reaches tests/integration/interrupted_copy.h CopyBeginningTest ...
# Part of every test, and no code at all.
reaches ceph/image.h
reaches docs/testing.md

# The shares.
in_six=$(for seed in 7 8 9 10 11 12; do share_of "$seed" <<<"$suites"; done | sort)
[[ $in_six == "$suites" ]] || offend "six seeds in a row are not each test once: $in_six"
for seed in 0 1 2 3 4 5; do
  share=$(share_of "$seed" <<<"$suites" | wc -l)
  ((share >= count / 6 && share <= count / 6 + 1)) || offend "seed $seed has $share of $count tests"
done
[[ $(share_of 3 <<<"$suites") == "$(share_of 9 <<<"$suites")" ]] || offend "seed 3 is not seed 9"

# The room. 500 s and 150 s, of a suite without a time, are together 650 s.
listed=$(printf '%s\n' InterruptedMoveTest NoSuchTest EnableTest)
[[ $(as_many_as_fit 600 <<<"$listed") == InterruptedMoveTest ]] || offend "600 s hold more than one of '$listed'"
[[ $(as_many_as_fit 10000 <<<"$listed") == "$listed" ]] || offend "10000 s do not hold '$listed'"
[[ $(as_many_as_fit 1 <<<"$listed") == InterruptedMoveTest ]] || offend "a gate may run no suite at all"
read -r few _ < <(ranked_reach reclaimspace/trim.cc tests/cluster/fence_bed.cc | grep ' FilesystemTrimTest$')
((few == 2)) || offend "FilesystemTrimTest is one of two that trim.cc reaches, not of $few"

# Commits to compare with. Each repository holds the sources that are looked at.
if command -v git >/dev/null; then
  commit() {
    git -C "$work/tree" -c user.name=t -c user.email=t@localhost -c commit.gpgsign=false \
      commit -q --no-verify --allow-empty -am "$1"
  }
  chosen_in() { # FOLDER [SEED]: the note, and how many are left out
    (
      cd "$work/$1" || exit
      unset BASE
      # shellcheck disable=SC2034 # width and left_out: of the sourced functions
      width=100000
      choose_tests "${@:2}"
      # shellcheck disable=SC2154
      printf '%s left out\n' "${#left_out[@]}"
    )
  }
  says() { # TEXT PATTERN
    # shellcheck disable=SC2053 # a pattern
    [[ $1 == $2 ]] || offend "choose_tests said '$1', not like '$2'"
  }
  git init -q -b main "$work/tree" 2>/dev/null || git init -q "$work/tree"
  git ls-files -z -- '*.cc' '*.h' 'tests/*CMakeLists.txt' tests/reach.txt tests/durations.txt 2>/dev/null |
    xargs -0 -r cp --parents -t "$work/tree" 2>/dev/null || true
  [[ -e $work/tree/tests/reach.txt ]] || # this checkout is no repository
    find . -mindepth 2 \( -name '*.cc' -o -name '*.h' -o -name CMakeLists.txt -o -name reach.txt \
        -o -name durations.txt \) \
      -not -path './build/*' -not -path './.*' -exec cp --parents -t "$work/tree" {} +
  git -C "$work/tree" add -A
  commit first
  says "$(chosen_in tree)" "*all tests on real clusters run: there is no earlier commit*0 left out"
  echo '// changed' >>"$work/tree/reclaimspace/trim.cc"
  commit second
  says "$(chosen_in tree)" "*SEED=2: *FilesystemTrimTest NodeTrimTest*left out"
  says "$(chosen_in tree 5)" "*SEED=5: *FilesystemTrimTest NodeTrimTest*left out"
  [[ $(chosen_in tree) != *' 0 left out' ]] || offend "nothing is left out for one file"
  says "$(GATE_SECONDS=1 chosen_in tree)" "*1 of $count suites*reached, but not run*FilesystemTrimTest*$((count - 1)) left out"
  says "$(GATE_SECONDS=999999 chosen_in tree)" "$(chosen_in tree)"
  reached_seconds=1
  says "$(GATE_SECONDS=999999 chosen_in tree)" "*1 of $count suites*"
  reached_seconds=4500
  git clone -q --depth 1 "file://$work/tree" "$work/one"
  says "$(chosen_in one)" "*all tests on real clusters run*0 left out"
  commit third
  git clone -q --depth 2 "file://$work/tree" "$work/two"
  says "$(chosen_in two)" "*the history is cut off here*left out"
  # One tree draws the same under another commit, and what was given stays.
  draws_in() { (cd "$work/$1" && draw_from_tree && printf '%s %s %s' "$RBD_ADDONS_FAULTS_SEED" "$RBD_ADDONS_WALK_SEED" "$RBD_ADDONS_FUZZ_SEED"); }
  unset RBD_ADDONS_FAULTS_SEED RBD_ADDONS_WALK_SEED RBD_ADDONS_FUZZ_SEED
  drawn=$(draws_in two)
  [[ $drawn =~ ^([0-9]+)\ ([0-9]+)\ ([0-9]+)$ ]] || offend "drawn from a tree: '$drawn'"
  [[ $(draws_in tree) == "$drawn" ]] || offend "one tree draws '$drawn', and another time otherwise"
  [[ $(draws_in one) == "$drawn" ]] || offend "one tree draws otherwise under another commit"
  [[ $(RBD_ADDONS_WALK_SEED=5 draws_in tree) == "${BASH_REMATCH[1]} 5 ${BASH_REMATCH[3]}" ]] ||
    offend "a seed that is given is not kept"
  git -C "$work/tree" checkout -q -b side HEAD~2
  [[ $(draws_in tree) != "$drawn" ]] || offend "two trees draw '$drawn'"
  echo '// changed' >>"$work/tree/networkfence/fence.cc"
  commit beside
  says "$(chosen_in tree)" "*since * changed: FenceCrashTest *left out"
else
  echo "skipped: without git nothing is compared"
fi

((offences == 0)) || exit 1
echo "$count suites on real clusters, six gates run each"
