#include "replication/look/record.h"

#include <algorithm>
#include <chrono>

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

bool FirstCopyAwaited(const MirrorView& view) {
  return view.own.first_copy_awaited && !CopySeen(view);
}

bool FirstCopyNoteIsOver(const MirrorView& view) {
  return view.own.first_copy_awaited && CopySeen(view);
}

namespace {

/// The oldest snapshot of the present term that is left.
const MirrorSnapshot* OldestOfTerm(const MirrorView& view) {
  const MirrorSnapshot* first = nullptr;
  for (const MirrorSnapshot& snapshot : view.snapshots) {
    if (snapshot.kind != MirrorSnapshotKind::kPrimary) {
      first = nullptr;
    } else if (first == nullptr) {
      first = &snapshot;
    }
  }
  return first;
}

/// What is noted, when no term has ended after it.
std::optional<TermNote> Noted(const MirrorView& view) {
  const std::optional<TermNote>& note = view.own.term;
  if (!note.has_value()) return std::nullopt;
  const bool ended = std::any_of(
      view.snapshots.begin(), view.snapshots.end(), [&](const auto& seen) {
        return seen.kind != MirrorSnapshotKind::kPrimary &&
               seen.id > note->snapshot;
      });
  if (ended) return std::nullopt;
  return note;
}

bool IsWholeDemotionOfPeer(const MirrorSnapshot& snapshot) {
  return snapshot.kind == MirrorSnapshotKind::kNonPrimaryDemoted &&
         snapshot.complete;
}

int64_t Created(const MirrorSnapshot& snapshot) {
  return std::chrono::system_clock::to_time_t(snapshot.created);
}

}  // namespace

std::optional<int64_t> PrimaryTermBegan(const MirrorView& view) {
  const MirrorSnapshot* oldest = OldestOfTerm(view);
  if (oldest == nullptr) return std::nullopt;
  const std::optional<TermNote> noted = Noted(view);
  return std::min(noted.has_value() ? noted->since : Created(*oldest),
                  Created(*oldest));
}

bool MadeInThisTerm(const MirrorView& view, uint64_t snapshot) {
  const MirrorSnapshot* oldest = OldestOfTerm(view);
  if (!view.info.primary || oldest == nullptr) return false;
  const std::optional<TermNote> noted = Noted(view);
  return snapshot > (noted.has_value() ? noted->snapshot : oldest->id);
}

const MirrorSnapshot* LastCopy(const MirrorView& view) {
  const auto copy = std::find_if(view.snapshots.rbegin(), view.snapshots.rend(),
                                 [&view](const MirrorSnapshot& seen) {
                                   return seen.complete && seen.copied() &&
                                          !seen.primary_mirror_uuid.empty() &&
                                          seen.id != view.marked_complete_id;
                                 });
  return copy == view.snapshots.rend() ? nullptr : &*copy;
}

bool ArrivedWhole(const MirrorView& view, const Point& point) {
  const MirrorSnapshot* const copy = LastCopy(view);
  return !view.info.primary && copy != nullptr && point.snapshot < copy->id;
}

bool WentBackTo(const MirrorView& view, const std::string& point) {
  const auto& restored = view.own.restored;
  if (!restored.has_value() || restored->name != point ||
      !MadeInThisTerm(view, restored->snapshot + 1)) {
    return false;
  }
  const auto present = FindPoint(view.other_snapshots, point);
  return !present.has_value() || present->snapshot == restored->point;
}

bool PrimaryTermBeganInStep(const MirrorView& view) {
  const auto before =
      std::find_if(view.snapshots.rbegin(), view.snapshots.rend(),
                   [](const MirrorSnapshot& snapshot) {
                     return snapshot.kind != MirrorSnapshotKind::kPrimary;
                   });
  if (before == view.snapshots.rend()) return view.own.first_copy_awaited;
  return IsWholeDemotionOfPeer(*before) && view.own.promoted_from == before->id;
}

std::optional<uint64_t> PromotedFrom(const MirrorView& before) {
  const MirrorSnapshot* newest = before.Newest();
  if (newest == nullptr || !IsWholeDemotionOfPeer(*newest)) return std::nullopt;
  return newest->id;
}

std::optional<TermNote> TermNoteDue(const MirrorView& view) {
  const MirrorSnapshot* oldest = OldestOfTerm(view);
  if (!view.info.primary || oldest == nullptr || Noted(view).has_value()) {
    return std::nullopt;
  }
  return TermNote{oldest->id, Created(*oldest)};
}

}  // namespace addons
