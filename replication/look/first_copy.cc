#include "replication/look/first_copy.h"

#include <algorithm>

namespace addons {
namespace {

bool TellsOfACopy(const MirrorView& view, const SiteView& peer) {
  return view.info.mode == MirrorMode::kJournal
             ? HasReplayed(peer.status)
             : CopiedUpTo(peer.status.description).has_value();
}

/// A whole snapshot that no peer has to copy any more, or one of another role
/// than the one that enabling made.
bool ShowsACopy(const MirrorSnapshot& snapshot) {
  return snapshot.kind != MirrorSnapshotKind::kPrimary ||
         (snapshot.complete && snapshot.unsynced_peer_uuids.empty());
}

bool CopySeen(const MirrorView& view) {
  const auto tells = [&view](const SiteView& peer) {
    return TellsOfACopy(view, peer);
  };
  return std::any_of(view.peers.begin(), view.peers.end(), tells) ||
         std::any_of(view.snapshots.begin(), view.snapshots.end(), ShowsACopy);
}

}  // namespace

bool FirstCopyMarked(const MirrorView& view) {
  const auto found = view.marks.find(kFirstCopyMark);
  return found != view.marks.end() && found->second == view.image_id;
}

bool FirstCopyAwaited(const MirrorView& view) {
  return FirstCopyMarked(view) && !CopySeen(view);
}

bool FirstCopyMarkIsOver(const MirrorView& view) {
  return FirstCopyMarked(view) && CopySeen(view);
}

}  // namespace addons
