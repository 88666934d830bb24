# shellcheck shell=bash disable=SC2034 # chosen and left_out are for those who source this
# Which of the tests on real clusters a change runs: what it reaches, and a share of the
# rest. Sourced; the working directory is the root of the checkout.

# In so many gates whose seeds follow one another each test has run.
reached_gates=6

# What is chosen takes at most so many seconds one after the other on a quiet machine, by
# tests/durations.txt, so that a change of everything does not take the gate's limit.
# GATE_SECONDS bounds it further, where little time is left.
reached_seconds=4500

# What a suite takes that tests/durations.txt does not know, in seconds.
reached_unknown=150

# base_of_change: the commit that HEAD is compared with. The merge base with the branch BASE
# (default: main or origin/main); on that branch itself the last commit. 1 without git and
# where there is nothing to compare with, as in a clone of one commit.
base_of_change() {
  local base branch
  command -v git >/dev/null && git rev-parse -q --verify HEAD >/dev/null 2>&1 || return 1
  for branch in "${BASE:-}" main origin/main; do
    if [[ $branch ]] && base=$(git merge-base HEAD "$branch" 2>/dev/null) &&
      [[ $base != "$(git rev-parse HEAD)" ]]; then
      printf '%s' "$base"
      return
    fi
  done
  git rev-parse -q --verify HEAD~1 2>/dev/null
}

# seed_of_change: the number of commits up to HEAD, so that gates of commits in a row have
# seeds in a row. 1 where the history is cut off, because that is no such number.
seed_of_change() {
  [[ $(git rev-parse --is-shallow-repository 2>/dev/null) == false ]] || return 1
  git rev-list --count --first-parent HEAD
}

# draw_from_tree: what the tests leave to chance follows from the tree of HEAD, where no seed is
# given, so that one tree draws the same everywhere: what passed is not red elsewhere by luck.
# Another tree draws anew. Without a history each test draws for itself.
draw_from_tree() {
  local tree number name
  tree=$(git rev-parse -q --verify 'HEAD^{tree}' 2>/dev/null) || return 0
  number=$((16#${tree:0:7}))
  for name in RBD_ADDONS_FAULTS_SEED RBD_ADDONS_WALK_SEED RBD_ADDONS_FUZZ_SEED; do
    [[ ${!name:-} ]] || export "$name=$number"
  done
}

# real_tests: "SUITE SOURCE" a line, of each suite in a test source.
real_tests() {
  grep -roE '^TEST(_F|_P)?\([A-Za-z0-9_]+' --include='*_test.cc' tests |
    sed -E 's/^([^:]*):TEST(_F|_P)?\((.*)$/\3 \1/' | sort -u
}

# reached_by FILE...: the suites that changes of these files reach, one a line.
reached_by() { ranked_reach "$@" | cut -d' ' -f2 | LC_ALL=C sort; }

# ranked_reach FILE...: "COUNT SUITE" a line of each suite that changes of these files reach,
# COUNT being how many suites the most particular of those files reaches.
#
# A file of the tests reaches the suites of all sources that include it, also through others
# and through the header of its name. A file of the program reaches what tests/reach.txt
# says; one of which it says nothing what the files that include it reach. What more than a
# third of the suites are reached by is part of every test, and reaches none for itself.
ranked_reach() {
  real_tests | awk -v changed="$*" '
    function header_of(file) { sub(/[.]cc$/, ".h", file); return file }
    function fits(file, pattern) {
      gsub(/[.]/, "[.]", pattern); gsub(/[*]/, ".*", pattern)
      return file ~ ("^" pattern "$")
    }
    function told(file,   i, n, names, found) {
      for (i = 1; i <= lines; ++i)
        if (fits(file, where[i])) {
          found = 1
          n = split(what[i], names, " ")
          while (n > 0) hit[names[n--]] = 1
        }
      return found
    }
    function walk(from,   queue, first, last, seen, file, i, n, list) {
      queue[last = 1] = from; seen[from] = 1; first = 1
      while (first <= last) {
        file = queue[first++]
        if (file ~ /^tests\//) {
          n = split(suites[file], list, " ")
          while (n > 0) hit[list[n--]] = 1
        } else if (told(file)) {
          continue
        }
        if (file ~ /[.]cc$/) n = split(header_of(file), list, " ")
        else n = split(includers[file], list, " ")
        while (n > 0) {
          # A test that includes a header of the program does not run its code for that.
          if (!(list[n] in seen) && !(file !~ /^tests\// && list[n] ~ /^tests\//)) {
            seen[list[n]] = 1; queue[++last] = list[n]
          }
          --n
        }
      }
    }
    input == "suites" { suites[$2] = suites[$2] " " $1; next }
    input == "told" {
      if (/^[^#]/) { where[++lines] = $1; $1 = ""; what[lines] = $0 }
      next
    }
    { split($0, part, /:#include "|"/); includers[part[2]] = includers[part[2]] " " part[1] }
    END {
      total = split(changed, files, " ")
      for (file_number = 1; file_number <= total; ++file_number) {
        split("", hit)
        walk(files[file_number])
        count = 0
        for (suite in hit) ++count
        if (count * 3 <= most || files[file_number] ~ /^tests\//)
          for (suite in hit)
            if (!(suite in reached) || count < reached[suite]) reached[suite] = count
      }
      for (suite in reached) print reached[suite], suite
    }' most="$(wanted_suites | wc -l)" input=suites - input=told tests/reach.txt input=includes <(
    grep -roE '^#include "[^"]+"' --include='*.cc' --include='*.h' \
      admin base ceph cli doctor history identity inspection keyrotation lease networkfence node operation \
      points reclaimspace replication rpc server tests volume volumegroup watch
  )
}

# wanted_suites: those that the label integration runs for themselves, one a line.
wanted_suites() { known_tests | sed -n 's/^integration[.]//p'; }

# known_tests: the names that cmake/Targets.cmake gives them. Suites of "long" are none.
known_tests() {
  sed -E 's/#.*//' tests/*/CMakeLists.txt | tr -s '() \t' '\n' | awk '
    /^(addons|target|set|add)_[a-z_]+$/ { flush(); ours = /integration_(test|suites)$/; what = ""; next }
    function flush(   i) {
      if (!long_one) for (i = 1; i <= count; ++i) print "integration." names[i]
      count = 0; long_one = 0
    }
    !ours { next }
    /^(SUITES|LABELS)$/ { what = $0; next }
    /^[A-Z_]+$/ { what = ""; next }
    what == "LABELS" && $0 == "long" { long_one = 1 }
    what == "SUITES" { names[++count] = $0 }
    END { flush() }' | sort
}

# with_hash SALT: each line of standard input behind a hash of it and the salt, and a blank.
with_hash() {
  LC_ALL=C awk -v salt="$1" '
    BEGIN { for (i = 1; i < 256; ++i) code[sprintf("%c", i)] = i }
    {
      text = salt $0
      hash = 5381
      for (i = 1; i <= length(text); ++i) hash = (hash * 33 + code[substr(text, i, 1)]) % 4294967291
      # So that names with the same beginning are no neighbours.
      for (i = 0; i < 2; ++i) hash = (hash * 1597334677 + 12345) % 4294967291
      printf "%010d %s\n", hash, $0
    }'
}

# share_of SEED: those of the names on standard input whose turn it is.
share_of() {
  # By a hash, so that suites of one subject, which stand side by side, are spread.
  with_hash '' | LC_ALL=C sort | awk -v turn="$(($1 % reached_gates))" -v all="$reached_gates" \
    'NR % all == turn { print $2 }'
}

# as_many_as_fit SECONDS: of the suites on standard input those from the first on that are
# within the time; the first always is.
as_many_as_fit() {
  awk -v room="$1" -v unknown="$reached_unknown" '
    input == "durations" { if (/^[^#]/) { sub(/^integration[.]/, "", $2); took[$2] = $1 }; next }
    { used += $1 in took ? took[$1] : unknown
      if (FNR > 1 && used > room) exit
      print $1 }' input=durations tests/durations.txt input=suites -
}

# choose_tests [SEED]: sets `chosen` and `left_out`, lists of names of ctest, and says how it
# came to them.
choose_tests() {
  local seed=${1:-} base files=() suites reached share wanted fitting
  local room=${GATE_SECONDS:-$reached_seconds}
  mapfile -t chosen < <(known_tests)
  left_out=()
  if ! base=$(base_of_change); then
    wrapped "    " "all tests on real clusters run: there is no earlier commit to compare with"
    return
  fi
  mapfile -t files < <(git diff --name-only "$base")
  if [[ ! $seed ]] && ! seed=$(seed_of_change); then
    seed=$((16#$(git rev-parse HEAD | cut -c1-7)))
    wrapped "    " "the history is cut off here, so the seed is made of the commit's name:" \
      "give SEED, or it takes more than $reached_gates gates until each test has run"
  fi
  suites=$(wanted_suites)
  share=$(share_of "$seed" <<<"$suites")
  # Those that few changes reach come first; among equals the seed decides.
  reached=$(ranked_reach "${files[@]}" | with_hash "$seed " | LC_ALL=C sort -k2,2n -k1,1 |
    cut -d' ' -f3 | grep -xF "$suites" || true)
  wanted=$(printf '%s\n' "$share" "$reached" | sed '/^$/d' | awk '!seen[$0]++')
  if ((room > reached_seconds)); then room=$reached_seconds; fi
  fitting=$(as_many_as_fit "$room" <<<"$wanted")
  mapfile -t chosen < <(sort <<<"integration.${fitting//$'\n'/$'\n'integration.}")
  mapfile -t left_out < <(known_tests | grep -vxF "$(printf '%s\n' "${chosen[@]}")")
  wrapped "    " "SEED=$seed: ${#chosen[@]} of $(wc -l <<<"$suites") suites on real clusters run"
  wrapped "    " "reached by what ${#files[@]} files since ${base:0:12} changed: $(sort <<<"$reached" | tr '\n' ' ')"
  wrapped "    " "their turn, one in $reached_gates: ${share//$'\n'/ }"
  if [[ $fitting != "$wanted" ]]; then
    wrapped "    " "reached, but not run, because these fill the time ($room s one after" \
      "the other): $(grep -vxF "$fitting" <<<"$wanted" | tr '\n' ' ')"
  fi
}
