#include "replication/look/leftover.h"

namespace addons {

bool HalfEnabled(const MirrorView& view) {
  if (view.info.state != MirrorImageState::kCreating ||
      view.marked_non_primary) {
    return false;
  }
  if (view.info.mode == MirrorMode::kJournal) return view.info.primary;
  if (const MirrorSnapshot* newest = view.Newest(); newest != nullptr) {
    return newest->kind == MirrorSnapshotKind::kPrimary;
  }
  return !view.local.has_value() && view.peers.empty();
}

bool LeftCopy(const MirrorView& view) {
  return view.info.state == MirrorImageState::kDisabled &&
         view.marked_non_primary;
}

}  // namespace addons
