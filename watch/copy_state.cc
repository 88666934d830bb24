#include "watch/copy_state.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "replication/look/peers.h"
#include "replication/look/report.h"

namespace addons {
namespace {

constexpr int64_t kLateIntervals = 2;

bool IsLate(std::optional<int64_t> age, const WatchedImage& image) {
  return age.has_value() && image.interval_seconds.value_or(0) > 0 &&
         *age > kLateIntervals * *image.interval_seconds;
}

/// What the site that has a copy says of it, without its age.
CopyState StateOfCopy(const SiteView& site, SteadyDuration settle,
                      bool has_whole_copy) {
  if (!Lives(site, settle)) return CopyState::kUnknown;
  if (site.says == Says::kSplitBrain || site.says == Says::kError) {
    return CopyState::kBroken;
  }
  if (site.says != Says::kSecondary) return CopyState::kUnknown;
  if (CopiesAll(site.status)) return CopyState::kCopying;
  const auto numbers = ParseSyncNumbers(site.status.description);
  if (!numbers.ok()) return CopyState::kUnknown;
  if (has_whole_copy) return CopyState::kInStep;
  if (IsSyncing(site.status)) return CopyState::kCopying;
  // Journal mode has no times, but says how much is left to replay.
  const bool replays = numbers->has_value() &&
                       (*numbers)->entries_behind.has_value() &&
                       HasReplayed(site.status);
  return replays ? CopyState::kInStep : CopyState::kUnknown;
}

CopyState StateOfCopies(const MirrorView& view,
                        const std::vector<MirrorPeer>& peers,
                        SteadyDuration settle, const WatchedImage& seen) {
  const bool whole = seen.last_sync.has_value();
  if (seen.role == WatchedRole::kSecondary) {
    // Without a word of the primary's site nobody knows what it has written.
    const bool silent = std::any_of(
        view.peers.begin(), view.peers.end(),
        [settle](const SiteView& peer) { return !Lives(peer, settle); });
    if (silent || !view.local.has_value()) return CopyState::kUnknown;
    return StateOfCopy(*view.local, settle, whole);
  }
  if (seen.role != WatchedRole::kPrimary) return CopyState::kUnknown;
  if (view.peers.empty()) {
    return peers.empty() ? CopyState::kLate : CopyState::kUnknown;
  }
  CopyState worst = CopyState::kInStep;
  for (const SiteView& peer : view.peers) {
    worst = std::max(worst, WordOf(peer, view) > Word::kBefore
                                ? StateOfCopy(peer, settle, whole)
                                : CopyState::kUnknown);
  }
  return worst;
}

}  // namespace

CopyState JudgeCopy(const MirrorView& view,
                    const std::vector<MirrorPeer>& peers, bool schedule_known,
                    SteadyDuration settle, const WatchedImage& seen) {
  if (seen.split_brain || seen.health == ReplicationHealth::kError) {
    return CopyState::kBroken;
  }
  if (view.info.state == MirrorImageState::kDisabling) {
    return CopyState::kUnknown;
  }
  const CopyState state = StateOfCopies(view, peers, settle, seen);
  if (state == CopyState::kBroken || state == CopyState::kCopying) return state;
  if (IsLate(seen.lag_seconds, seen)) return CopyState::kLate;
  // Only snapshot mode has the time of a copy, and needs a schedule.
  if (state == CopyState::kInStep && seen.role == WatchedRole::kPrimary &&
      seen.last_sync.has_value() && !seen.interval_seconds.has_value()) {
    return schedule_known ? CopyState::kLate : CopyState::kUnknown;
  }
  return state;
}

CopyState CopyStateAt(const WatchedPool& pool, const WatchedImage& image,
                      SteadyTime now) {
  if (pool.unseen.empty()) return image.copy;
  if (image.copy == CopyState::kBroken || image.copy == CopyState::kLate) {
    return image.copy;
  }
  return IsLate(CopyAgeAt(pool, image, now), image) ? CopyState::kLate
                                                    : CopyState::kUnknown;
}

std::optional<int64_t> CopyAgeAt(const WatchedPool& pool,
                                 const WatchedImage& image, SteadyTime now) {
  if (!image.lag_seconds.has_value() || !pool.seen_at.has_value()) {
    return std::nullopt;
  }
  const auto since =
      std::chrono::duration_cast<std::chrono::seconds>(now - *pool.seen_at);
  return std::max<int64_t>(0, *image.lag_seconds + since.count());
}

CopyStateCounts CountStatesAt(const WatchedPool& pool, SteadyTime now) {
  if (pool.unseen.empty()) return pool.by_copy;
  CopyStateCounts counts{};
  for (const WatchedImage& image : pool.images) {
    ++counts.at(static_cast<size_t>(CopyStateAt(pool, image, now)));
  }
  counts.at(static_cast<size_t>(CopyState::kUnknown)) += pool.truncated();
  return counts;
}

}  // namespace addons
