#!/usr/bin/env bash
# Two clients that make a mirror snapshot of one image at the same moment die inside
# librbd, so one place of the program asks for its turn and makes them all:
# replication/steps/ceph_faults/mirror_snapshot.cc. Prints each other caller.
set -euo pipefail
cd "$1"

offences=$(grep -rnE '(\.|->)CreateMirrorSnapshot\(' --include='*.cc' --include='*.h' \
  admin base ceph cli doctor history identity lease networkfence node operation reclaimspace \
  inspection replication rpc server volume volumegroup watch | grep -v '^replication/steps/ceph_faults/mirror_snapshot\.cc:' || true)
if [[ $offences ]]; then
  printf '%s\n' "$offences" >&2
  echo "mirror snapshots are made by MakeMirrorSnapshot() alone, see replication/steps/ceph_faults/mirror_snapshot.h" >&2
  exit 1
fi
