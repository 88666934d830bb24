#!/usr/bin/env bash
# Each finding can fail, and stands in the list. Runs none of them: that takes a machine for an
# hour and packages from the network.
#
#   expect      of findings/lib ends a script with 1 and says what was expected, when that is
#               edited or has changed; the scripts stop at it, because none calls it where a
#               failure does not count
#   README.md   has one row for each script, and no other
#   versions    are pinned: a script names one of each package that it unpacks
set -euo pipefail
export LC_ALL=C
cd "$1"

# shellcheck source=tests/structure/lib/offences.sh
. tests/structure/lib/offences.sh

# What `expect` does with WANT and GOT: its exit code and whether the script went on.
with_expect() { # WANT GOT
  FINDING_ROOT=none FINDING_STAGE=run bash -c '. findings/lib/finding.sh; expect what "$1" "$2"; echo went on' bash "$@" 2>&1 ||
    echo "exit $?"
}
[[ $(with_expect 1 1) == $'what: 1\nwent on' ]] || offend "expect does not go on where it sees what it wants"
[[ $(with_expect 1 2) == $'what: 2\nCHANGED: what was: 1\nexit 1' ]] || offend "expect does not end a script whose expectation has changed"

count=0
for script in findings/*.sh; do
  name=${script##*/}
  count=$((count + 1))
  [[ -x $script ]] || offend "$script cannot be run"
  grep -qx 'set -euo pipefail' "$script" || offend "$script goes on after a failure"
  grep -Eq '^ *expect ' "$script" || offend "$script expects nothing"
  # There its failure would not end the script.
  while IFS= read -r line; do
    offend "$script: an expectation that ends nothing: $line"
  done < <(grep -E '(^|[^a-z])(if|while|until|!|\|\||&&|\(|\|) *expect |^ *expect .*(\|\| *[a-z:]+|&)$' "$script" || true)
  [[ $(grep -cF "| [$name]($name) |" findings/README.md) == 1 ]] || offend "findings/README.md has not one row for $name"
  grep -Eq '^need_ceph [0-9]|^(also_need|need_client) .* [0-9]|^need [^ ]+=[0-9]|^ *fetch .*@[0-9]' "$script" || offend "$script pins no version"
done
rows=$(grep -c '^| \[' findings/README.md)
[[ $rows == "$count" ]] || offend "findings/README.md has $rows rows for $count scripts"

((offences == 0)) || exit 1
echo "$count findings can fail, and are listed"
