#!/usr/bin/env bash
# memstore OSDs hide what mirroring does not carry, and object maps that are wrong: what reads
# contents after discards, zeros, trims, snapshots of users, rollbacks or clones does so on
# BlueStore (OnBluestore() in tests/cluster/real_bed.h). Prints each source of tests on real
# clusters that does both and does not ask for it.
set -euo pipefail
cd "$1"

# shellcheck source=tests/structure/lib/offences.sh
. tests/structure/lib/offences.sh

clears='Discard\(|WriteZeroes\(|MakeParent\(|"snap", "(create|rollback)"|"(clone|flatten)"'
clears+='|ReclaimSpaceRequest|NodeTrimTest|\b(MidCopyTest|InterruptedCopyTest|ForcedTakeoverTest) \{'
reads='Digest\(|ReadText\(|->Read\(|ExpectWhole\(|ExpectNothingLeftOut\(|KeepsTheData|ChangedRanges\('
# That of reclaim_bed.h always has it.
asks='OnBluestore\(|public ReclaimBed'

checked=0
while IFS= read -r file; do
  if ! grep -qE "$clears" "$file" || ! grep -qE "$reads" "$file"; then continue; fi
  checked=$((checked + 1))
  grep -qE "$asks" "$file" || offend "$file: reads contents after it has cleared some, and has no OnBluestore()"
done < <(find tests/chaos tests/contract tests/integration tests/orchestrator -name '*_test.cc' | sort)

((checked > 8)) || offend "only $checked sources were found"
((offences == 0)) || exit 1
echo "$checked sources, each on BlueStore"
