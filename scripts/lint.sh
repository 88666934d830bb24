#!/usr/bin/env bash
# Looks at the source without running it. Installs what it needs.
#
#   scripts/lint.sh             all checks; clang-tidy on what changed
#   scripts/lint.sh CHECK...    only these
#
# Checks:
#   format     clang-format on all files
#   shell      shellcheck on all scripts
#   structure  includes point downwards, charts tell the truth (the tests labelled in-structure)
#   threads    clang's thread-safety analysis and its other warnings, a second compiler's
#              opinion, on every production file and on what tests use the annotations
#   tidy       clang-tidy on the production files that changed since the merge base with the branch BASE
#              (default: main or origin/main, else the last commit), at most TIDY_FILES (12);
#              a header through a source that includes it; all files: cmake --preset tidy && cmake --build --preset tidy
#
# Ends with 1 when a check found something; all checks are made.
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

checks=()
for argument; do
  case $argument in
    -h | --help)
      usage
      exit 0
      ;;
    format | shell | structure | threads | tidy) checks+=("$argument") ;;
    *)
      printf "lint.sh: there is no check '%s'\n\n" "$argument" >&2
      usage >&2
      exit 2
      ;;
  esac
done
((${#checks[@]})) || checks=(format shell structure threads tidy)

sources() { find . -mindepth 2 \( -name '*.cc' -o -name '*.h' \) -not -path './build/*' -not -path './.*' "$@" | sort; }
production() { sources -name '*.cc' -not -path './tests/*' -not -path './bench/*'; }

check_format() {
  local version
  version=$(clang-format --version | grep -oE 'version [0-9]+' | cut -d' ' -f2)
  if [[ $version != 14 ]]; then
    # Releases differ in details; everybody's editor would fight over them.
    wrapped "    " "skipped: clang-format $version formats differently from 14 (Debian 12), which is ours"
    return 0
  fi
  sources | xargs clang-format --dry-run -Werror
}

check_shell() {
  { grep -rlE '^#!/(usr/)?bin/(env )?(ba)?sh' scripts tests deploy .ci; find scripts/lib -name '*.sh'; } | sort -u |
    xargs shellcheck -x
}

check_structure() {
  local script result=0
  for script in tests/structure/*.sh; do bash "$script" "$PWD" || result=1; done
  return "$result"
}

# What clang needs of a build: compile_commands.json with each file alone, and the generated
# headers.
prepare_clang() { UNITY=OFF configure tidy && build tidy addons_proto_sources; }

# What this clang can parse: one before 16 takes a comparison in Ceph's own C++ header for
# ambiguous.
parseable() {
  local version
  version=$(clang++ -dumpversion)
  if ((${version%%.*} < 16)); then xargs -r grep -LF '<rados/librados.hpp>' || true; else cat; fi
}

# first_source HEADER FIND_EXPRESSION...: a source that clang can parse and that includes the
# header, perhaps through others; of those that find finds.
first_source() {
  local queue=("$1") seen=" $1 " header candidate candidates
  shift
  while ((${#queue[@]})); do
    header=${queue[0]}
    queue=("${queue[@]:1}")
    mapfile -t candidates < <(
      if [[ -f ${header%.h}.cc ]]; then echo "${header%.h}.cc"; fi
      sources "$@" | sed 's|^\./||' | xargs grep -lxF "#include \"$header\"" || true
    )
    for candidate in "${candidates[@]}"; do
      if [[ $candidate == *.cc && $(parseable <<<"$candidate") ]]; then
        echo "$candidate"
        return
      elif [[ $candidate == *.h && $seen != *" $candidate "* ]]; then
        queue+=("$candidate")
        seen+="$candidate "
      fi
    done
  done
  return 1
}

# For each file of standard input a source through which clang sees it.
seen_through() {
  local name
  while IFS= read -r name; do
    name=${name#./}
    if [[ $name == *.cc ]]; then
      echo "$name"
    else
      first_source "$name" -not -path './tests/*' || first_source "$name" ||
        wrapped "    " "not seen: no source that clang can parse includes $name" >&2
    fi
  done | sort -u
}

# On the files of standard input.
clang_tidy() {
  xargs -P "$(compile_jobs)" -n 1 clang-tidy -p build/tidy --quiet \
    --extra-arg=-Wno-unknown-warning-option 2>&1 |
    { grep -vE '^[0-9]+ warnings? (generated|treated)|^Suppressed|^Use -(header|system)' || true; }
}

# The compilations of a tree, one per line: the file, a tab, the command.
compilations() { # TREE
  sed -nE 's|^ *"command": "(.*)",?$|\1|p; s|^ *"file": "(.*)",?$|\1|p' "build/$1/compile_commands.json" |
    sed 's|\\\\|\\|g; s|\\"|"|g' | paste -d '\t' - - | awk -F '\t' '{ print $2 "\t" $1 }'
}

# The sources that a file of a unity build includes, or the file itself.
sources_of() {
  if [[ $1 == *.cxx ]]; then sed -nE 's|^#include "(.*)"$|\1|p' "$1"; else printf '%s\n' "$1"; fi
}

# All of production, and what tests use the annotations; several files at a time, as they
# are compiled. All tests would take minutes more.
check_threads() {
  local file command wanted
  configure threads && build threads addons_proto_sources || return
  wanted=$(sources -path './tests/*' -exec grep -qE 'ABSL_(PT_)?GUARDED_BY|MutexLock' {} \; -print |
    seen_through | sed "s|^|$PWD/|")
  while IFS=$'\t' read -r file command; do
    case ${file#"$PWD"/} in
      build/threads/gen/* | build/threads/proto/*) continue ;;
      tests/* | build/threads/tests/*) sources_of "$file" | grep -qxF "$wanted" || continue ;;
    esac
    if [[ $(parseable <<<"$file") ]]; then printf '%s -fsyntax-only\0' "$command"; fi
  done < <(compilations threads) |
    (cd build/threads && xargs -0 -r -P "$(compile_jobs)" -n 1 bash -c)
}

changed() {
  local base
  base=$(base_of_change) || return 0
  git diff --name-only --diff-filter=d "$base" -- '*.cc' '*.h' ':!tests' ':!bench'
}

check_tidy() {
  local files=() limit=${TIDY_FILES:-12}
  if ! command -v git >/dev/null || ! git rev-parse -q --verify HEAD >/dev/null 2>&1; then
    wrapped "    " "skipped: without git it is not known what changed"
    return 0
  fi
  mapfile -t files < <(changed | seen_through | parseable)
  if ((${#files[@]} == 0)); then
    echo "    nothing changed"
    return 0
  fi
  if ((${#files[@]} > limit)); then
    wrapped "    " "${#files[@]} files changed; looking at $limit of them (TIDY_FILES)"
    # Not always the first of the alphabet: those whose names come first in a hash.
    mapfile -t files < <(printf '%s\n' "${files[@]}" | shuf --random-source=<(git rev-parse HEAD; yes) -n "$limit")
  fi
  prepare_clang || return
  printf '%s\n' "${files[@]}" | clang_tidy
}

check_machine lint
on_interrupt_say_so
install_for lint
failed=()
for check in "${checks[@]}"; do
  printf '%s%s%s\n' "$bold" "$check" "$plain"
  began=$SECONDS
  if "check_$check"; then
    printf '    %s%s%s %s, %s\n' "$green" "$tick" "$plain" "$check" "$(duration $((SECONDS - began)))"
  else
    printf '    %sFAILED%s %s, %s\n' "$red" "$plain" "$check" "$(duration $((SECONDS - began)))"
    failed+=("$check")
  fi
done
((${#failed[@]} == 0)) || die "found something: ${failed[*]}"
