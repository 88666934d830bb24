#!/usr/bin/env bash
# A suite that no ctest test names is compiled and never run, and a name without a suite
# passes with no tests: compares the suites in the sources of each program of
# addons_integration_test with those that the folder's CMakeLists.txt names, under the filter
# of cmake/Targets.cmake. A program without SUITES runs whole. Also finds test files that no
# program is made of. Prints each offence.
set -euo pipefail
cd "$1"

# shellcheck source=tests/structure/lib/offences.sh
. tests/structure/lib/offences.sh

# facts_of FILE: its calls, one fact a line: "program NAME", "source FILE", "suite SUITE".
facts_of() {
  sed -E 's/#.*//; s/^([a-z_]+)\(/call:\1 (/' "$1" | tr '()' '  ' | tr -s ' \t' '\n' | awk '
    /^call:/ { ours = /:addons_integration_(test|suites)$/; what = ""; next }
    !ours { next }
    /^(NAME|PROGRAM)$/ { what = "program"; next }
    /^SRCS$/ { what = "source"; next }
    /^SUITES$/ { what = "suite"; next }
    /^[A-Z]+$/ { what = ""; next }
    what && NF { print what, $0 }'
}

# The filter of one suite, in which "${suite}" stands for its name.
# shellcheck disable=SC2016 # CMake expands it
suite_name='${suite}'
filter=$(sed -n 's/.*"--gtest_filter=\(.*\)".*/\1/p' cmake/Targets.cmake)
[[ $filter == *"$suite_name"* && $filter != *$'\n'* ]] || offend "cmake/Targets.cmake: there is not one filter of suites"

# runs TEST SUITE...: whether the filter of one of these suites lets the test through.
runs() {
  local test=$1 suite pattern
  local -a patterns
  shift
  for suite; do
    IFS=: read -ra patterns <<<"${filter//"$suite_name"/$suite}"
    for pattern in "${patterns[@]}"; do
      # shellcheck disable=SC2053 # a pattern
      if [[ $test == $pattern ]]; then return 0; fi
    done
  done
  return 1
}

# tests_of FILE...: their suites, and a name of one of the suite's tests as GoogleTest has it.
tests_of() {
  tr '\n' ' ' < <(cat "$@") | grep -oE '\bTEST(_F|_P)?\( *[A-Za-z0-9_]+' | sort -u |
    sed -E 's/^TEST_P\( *(.*)/\1 Values\/\1.Behaves\/0/; t; s/^TEST(_F)?\( *(.*)/\2 \2.Behaves/'
}

checked=0
while IFS= read -r list; do
  folder=${list%/*}
  facts=$(facts_of "$list")
  while IFS= read -r program; do
    mapfile -t suites < <(awk -v wanted="$program" '
      $1 == "program" { at = $2 } $1 == "suite" && at == wanted { print $2 }' <<<"$facts")
    mapfile -t sources < <(awk -v wanted="$program" -v folder="$folder" '
      $1 == "program" { at = $2 } $1 == "source" && at == wanted { print folder "/" $2 }' <<<"$facts")
    ((${#sources[@]})) || { offend "$list: $program has no sources"; continue; }
    ((${#suites[@]})) || continue
    known=' '
    while read -r suite test; do
      checked=$((checked + 1))
      known+="$suite "
      runs "$test" "${suites[@]}" ||
        offend "$list: $program has $suite, which no test runs; name it under SUITES"
    done < <(tests_of "${sources[@]}")
    for suite in "${suites[@]}"; do
      [[ $known == *" $suite "* ]] || offend "$list: $program has no suite $suite"
    done
  done < <(sed -n 's/^program //p' <<<"$facts" | sort -u)
done < <(grep -rlE '^addons_integration_test\(' --include=CMakeLists.txt tests | sort)

while IFS= read -r file; do
  folder=${file%/*}
  while [[ ! -e $folder/CMakeLists.txt ]]; do folder=${folder%/*}; done
  grep -qE "(^|[ (])${file#"$folder"/}([ )]|\$)" "$folder/CMakeLists.txt" ||
    offend "$folder/CMakeLists.txt: does not name ${file#"$folder"/}"
done < <(find tests -name '*_test.cc' | sort)

((checked > 30)) || offend "only $checked suites were found"
((offences == 0)) || exit 1
echo "$checked suites, each run by a test"
