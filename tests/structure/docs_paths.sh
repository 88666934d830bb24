#!/usr/bin/env bash
# Every file and folder that the docs name in code font exists, so that pages for readers
# of the code do not outlive what they describe. Prints each that does not.
set -euo pipefail
cd "$1"

offences=0
checked=0
for page in docs/code-map.md docs/testing.md docs/architecture.md CONTRIBUTING.md docs/adr/*.md; do
  folder=
  # shellcheck disable=SC2016 # the backquotes are Markdown's
  # Files follow the folder that was named last: `ceph/pool.h`, `image.h`.
  while IFS= read -r name; do
    [[ $name == */* ]] && folder=${name%/*}
    checked=$((checked + 1))
    [[ -e $name || -e $folder/$name ]] && continue
    printf '%s: there is no %s\n' "$page" "$name" >&2
    offences=$((offences + 1))
  done < <(grep -oE '`[A-Za-z0-9_./-]+`' "$page" | tr -d '`' |
    grep -E '^[a-z_]+(/[A-Za-z0-9_.-]+)*/?$|^[a-z_]+\.(h|cc|sh)$' |
    grep -E '/|\.(h|cc|sh)$')
done
((checked > 50)) || { echo "only $checked names were found" >&2; exit 1; }
((offences == 0)) || exit 1
echo "$checked names, all there"
