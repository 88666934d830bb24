#!/usr/bin/env bash
# No two types of the program have one name, but for those of anonymous namespaces: the linker
# takes the functions of one of them for both, and what breaks is far away. Prints each name
# that two files have.
set -euo pipefail
cd "$1"

folders=(admin base ceph cli doctor history identity inspection keyrotation lease networkfence
  node operation reclaimspace replication rpc server volume volumegroup watch)
# shellcheck disable=SC2016 # expanded by awk
twice=$(
  find "${folders[@]}" -name '*.h' -o -name '*.cc' | LC_ALL=C sort | xargs awk '
    FNR == 1 { hidden = 0 }
    /^namespace [{]$/ { hidden = 1 }
    /^}  \/\/ namespace$/ { hidden = 0 }
    !hidden && /^(struct|class|enum class) [A-Za-z0-9_]+( final)?( :.*)?( [{]|$)/ {
      name = $1 == "enum" ? $3 : $2
      where[name] = where[name] " " FILENAME
      ++count[name]
    }
    END { for (name in count) if (count[name] > 1) print name ":" where[name] }'
)
if [[ $twice ]]; then
  printf '%s\n' "$twice" >&2
  echo "give one of the two types another name, or hide it in its source" >&2
  exit 1
fi
echo "each type has a name of its own"
