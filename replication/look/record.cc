#include "replication/look/record.h"

#include <algorithm>
#include <chrono>

#include "base/json.h"

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

namespace {

using nlohmann::json;

constexpr char kImage[] = "image";
constexpr char kSnapshot[] = "snapshot";
constexpr char kSince[] = "since";
constexpr char kDemotion[] = "demotion";

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

/// What the note says, when it is about this image (a clone inherits metadata)
/// and no term has ended after it.
std::optional<int64_t> Noted(const MirrorView& view) {
  const auto found = view.marks.find(kPrimaryTermMark);
  if (found == view.marks.end()) return std::nullopt;
  const json mark = ParseJson(found->second);
  if (!mark.is_object() || mark.value(kImage, json()) != view.image_id ||
      !mark.value(kSnapshot, json()).is_number_unsigned() ||
      !mark.value(kSince, json()).is_number_integer()) {
    return std::nullopt;
  }
  const auto snapshot = mark[kSnapshot].get<uint64_t>();
  const bool ended = std::any_of(
      view.snapshots.begin(), view.snapshots.end(), [&](const auto& seen) {
        return seen.kind != MirrorSnapshotKind::kPrimary && seen.id > snapshot;
      });
  if (ended) return std::nullopt;
  return mark[kSince].get<int64_t>();
}

bool IsWholeDemotionOfPeer(const MirrorSnapshot& snapshot) {
  return snapshot.kind == MirrorSnapshotKind::kNonPrimaryDemoted &&
         snapshot.complete;
}

std::string FormatPromotedFrom(const MirrorView& view,
                               const MirrorSnapshot& demotion) {
  return JsonText({{kImage, view.image_id}, {kDemotion, demotion.id}});
}

int64_t Created(const MirrorSnapshot& snapshot) {
  return std::chrono::system_clock::to_time_t(snapshot.created);
}

}  // namespace

std::optional<int64_t> PrimaryTermBegan(const MirrorView& view) {
  const MirrorSnapshot* oldest = OldestOfTerm(view);
  if (oldest == nullptr) return std::nullopt;
  return std::min(Noted(view).value_or(Created(*oldest)), Created(*oldest));
}

bool PrimaryTermBeganInStep(const MirrorView& view) {
  const auto before =
      std::find_if(view.snapshots.rbegin(), view.snapshots.rend(),
                   [](const MirrorSnapshot& snapshot) {
                     return snapshot.kind != MirrorSnapshotKind::kPrimary;
                   });
  if (before == view.snapshots.rend()) return FirstCopyMarked(view);
  const auto note = view.marks.find(kPromotedFromMark);
  return note != view.marks.end() && IsWholeDemotionOfPeer(*before) &&
         note->second == FormatPromotedFrom(view, *before);
}

std::string PromotedFrom(const MirrorView& before) {
  const MirrorSnapshot* newest = before.Newest();
  return newest != nullptr && IsWholeDemotionOfPeer(*newest)
             ? FormatPromotedFrom(before, *newest)
             : "";
}

std::string PrimaryTermMarkDue(const MirrorView& view) {
  const MirrorSnapshot* oldest = OldestOfTerm(view);
  if (!view.info.primary || oldest == nullptr || Noted(view).has_value()) {
    return "";
  }
  return JsonText({{kImage, view.image_id},
                   {kSnapshot, oldest->id},
                   {kSince, Created(*oldest)}});
}

}  // namespace addons
