#!/usr/bin/env bash
# The charts in headers tell the truth. A chart stands between "clang-format off" and "on",
# so that no formatter redraws it, and is drawn of what the code has:
#
#   Name()   is in the code of the header, of its source, or of a file that the chart names
#   "text"   is a text of that code: what the operation shows as its step
#
# and the other way round: what the source of a chart shows as a step stands in the chart.
# Every verb has a chart, and nobody draws one outside the protection. Also finds the orphans
# that a formatter leaves when it wraps a rule of dashes. Prints each offence.
set -euo pipefail
export LC_ALL=C
cd "$1"

# Verbs, and what several of them share and is worth a drawing.
wanted=(
  inspection/adopt.h
  networkfence/{extend_expiry,fence,unfence}.h
  keyrotation/rotate.h
  reclaimspace/{sparsify,trim}.h
  replication/steps/{demote,disable,enable,info,pause,promote,promotion_cleanup,resync,sync}.h
  replication/steps/ceph_faults/rescue.h
  replication/group/{group_run,promote}.h
  replication/look/mirror_view.h
  volumegroup/{adopt,change_members,create,delete,modify}.h
)

# shellcheck source=tests/structure/lib/offences.sh
. tests/structure/lib/offences.sh

# The code of files on one line, without comments; a string that was wrapped is one again.
code_of() {
  sed -e '/^ *\/\//d' "$@" | tr -s ' \n' ' ' | sed 's/" "//g'
}

# The files that a chart names, a name without a folder being in that of the header or of
# the file named before.
files_named() {
  local folder=${1%/*} name
  while IFS= read -r name; do
    if [[ -e ${1%/*}/$name ]]; then name=${1%/*}/$name; fi
    if [[ $name != */* ]]; then name=$folder/$name; fi
    folder=${name%/*}
    printf '%s\n' "$name"
    if [[ $name == *.h && -e ${name%.h}.cc ]]; then printf '%s\n' "${name%.h}.cc"; fi
  done < <(grep -oE '[a-z_/]+\.(h|cc)\b' <<<"$2" || true)
}

check_chart() {
  local header=$1 source=${1%.h}.cc chart code file files=("$1") label
  chart=$(sed -n '/^ *\/\/ clang-format off/,/^ *\/\/ clang-format on/p' "$header")
  [[ $chart == *'/// '* ]] || return 0
  charts=$((charts + 1))
  drawn[$header]=1
  if [[ -e $source ]]; then files+=("$source"); fi
  while IFS= read -r file; do
    if [[ -e $file ]]; then files+=("$file"); else offend "$header: the chart names $file, which is not there"; fi
  done < <(files_named "$header" "$chart")
  code=$(code_of "${files[@]}")

  while IFS= read -r label; do
    [[ $code =~ [^A-Za-z0-9_]"${label%)}" ]] ||
      offend "$header: the chart's $label is in none of: ${files[*]}"
  done < <(grep -oE '\b[A-Za-z]+\(\)' <<<"$chart" | sort -u)
  while IFS= read -r label; do
    [[ $code == *"$label"* ]] ||
      offend "$header: the chart's step $label is in none of: ${files[*]}"
  done < <(grep -oE '"[^"]+"' <<<"$chart" | sort -u)

  # "waiting: " and the like, which are put together from several texts, are no labels.
  [[ -e $source ]] || return 0
  while IFS= read -r label; do
    [[ $chart == *"$label"* ]] || offend "$source: the step $label is not in the chart of $header"
  done < <(code_of "$source" | grep -oE '\bStep\([^;]*;' | grep -v StrCat | grep -oE '"[^"]+"')
}

charts=0
declare -A drawn
while IFS= read -r header; do
  check_chart "$header"
done < <(grep -rl --include='*.h' --exclude-dir='build*' --exclude-dir='.?*' 'clang-format off' . |
  sed 's,^\./,,' | sort)

for header in "${wanted[@]}"; do
  [[ ${drawn[$header]:-} ]] || offend "$header: has no chart between 'clang-format off' and 'on'"
done

# Lines and corners are a drawing wherever they stand in a comment; an arrow is one in a line
# that is set in, as drawings are.
while IFS= read -r drawing; do
  offend "$drawing: a chart outside 'clang-format off'; protect it, or say it in words"
done < <(find . '(' -name 'build*' -o -name '.?*' ')' -type d -prune -o \
  '(' -name '*.h' -o -name '*.cc' ')' -print0 | xargs -0 awk '
    FNR == 1 { protected = 0 }
    /clang-format off/ { protected = 1 }
    /clang-format on/ { protected = 0 }
    protected || !/^ *\/\// { next }
    /─|│|├|└|┌|┐|┘|┤|┬|┴|┼/ || /^ *\/\/+  .*( -+>|<-+ )( |$)/ {
      sub(/^\.\//, "", FILENAME); print FILENAME ":" FNR
    }')

while IFS= read -r orphan; do
  offend "$orphan: a rule that was wrapped; make it shorter"
done < <(grep -rnE --include='*.h' --include='*.cc' --exclude-dir='build*' --exclude-dir='.?*' \
  '^ *// -+$' . | cut -d: -f1,2)

((offences == 0)) || exit 1
echo "$charts charts, all true"
