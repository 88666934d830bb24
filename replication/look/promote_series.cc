#include "replication/look/promote_series.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "replication/look/mirror_view.h"
#include "replication/look/report.h"

namespace addons {
namespace {

/// A series ends when nobody has asked for so long.
constexpr std::chrono::seconds kGap{60};
/// Longer than the longest pause of an operator that retries ever later.
constexpr std::chrono::minutes kForgetCallAfter{20};
constexpr std::chrono::minutes kForgetSeriesAfter{30};

}  // namespace

size_t DigestOf(const std::vector<SiteStatus>& sites) {
  std::vector<std::string> words;
  words.reserve(sites.size());
  for (const SiteStatus& site : sites) {
    words.push_back(absl::StrCat(site.mirror_uuid, "|", site.up, "|",
                                 static_cast<int>(site.state), "|",
                                 site.description));
  }
  std::sort(words.begin(), words.end());
  return std::hash<std::string>()(absl::StrJoin(words, "\n"));
}

size_t DigestOf(const MirrorView& view) {
  std::vector<SiteStatus> sites;
  if (view.local.has_value()) sites.push_back(view.local->status);
  for (const SiteView& peer : view.peers) sites.push_back(peer.status);
  return DigestOf(sites);
}

PromoteSeries::PoolState& PromoteSeries::Join(const std::string& pool) {
  const SteadyTime now = clock_.Now();
  const auto [it, first] = pools_.try_emplace(pool);
  PoolState& state = it->second;
  if (first || now - state.asked_at > kGap) {
    ++state.series;
    state.begun = now;
    state.claims.clear();
    state.first_evicted_at.reset();
    state.reports.clear();
    state.cut_off_since.reset();
    state.hung_at.reset();
    state.daemons_unread.clear();
  }
  state.asked_at = now;
  return state;
}

void PromoteSeries::Sweep(SteadyTime now) {
  if (now - swept_at_ <= kForgetSeriesAfter) return;
  swept_at_ = now;
  std::erase_if(pools_, [&](const auto& entry) {
    const PoolState& pool = entry.second;
    return now - pool.asked_at > kForgetSeriesAfter &&
           std::none_of(
               pool.readers.begin(), pool.readers.end(),
               [](const auto& reader) { return reader.second.listing; });
  });
  std::erase_if(images_, [&](const auto& entry) {
    return now - entry.second.used_at > kForgetSeriesAfter;
  });
  std::erase_if(calls_, [&](const auto& entry) {
    return now - entry.second > kForgetCallAfter;
  });
}

SeriesClocks PromoteSeries::Note(const Seen& seen) {
  const MutexLock lock(mutex_);
  const SteadyTime now = clock_.Now();
  Sweep(now);
  PoolState& pool = Join(seen.pool);
  ImageState& image = images_[seen.image];
  if (image.pool != seen.pool || image.series != pool.series) {
    image = ImageState();
    image.pool = seen.pool;
    image.series = pool.series;
    image.first_look = now;
    // The pool's silence was listened to for all of its images, but for as long
    // as one of them could receive nothing.
    for (const auto& [name, other] : images_) {
      if (other.pool == seen.pool && other.series == pool.series) {
        image.deaf_at = std::max(image.deaf_at, other.deaf_at);
      }
    }
  }
  image.used_at = now;

  const auto [progress, first] =
      pool.progress.try_emplace(seen.image, seen.progress);
  if (!first && progress->second != seen.progress) {
    progress->second = seen.progress;
    pool.noisy_at = now;
  }
  const bool cut_off = CutOff(pool, now);
  if (!seen.receiving && !pool.evicted_at.has_value() && !cut_off) {
    image.deaf_at = now;
  }

  SeriesClocks clocks;
  clocks.looked_for = now - image.first_look;
  // What is not listed yet is not known: only until then it was quiet.
  clocks.quiet_for = std::max<SteadyDuration>(
      SteadyDuration(0),
      pool.readers[seen.rados_namespace].listed_at -
          std::max({pool.begun, pool.noisy_at, image.deaf_at}));
  if (pool.evicted_at.has_value()) {
    clocks.evicted_for = now - *pool.evicted_at;
    clocks.sent_away = DescribeSentAway(pool.sent_away, clock_.WallNow());
    if (pool.first_evicted_at.has_value()) {
      clocks.first_evicted_for = now - *pool.first_evicted_at;
      clocks.quiet_before_eviction = pool.quiet_before;
    }
  }
  clocks.cut_off = cut_off;
  clocks.hangs =
      !cut_off && Lives(pool.hung_at, now) && pool.reported_at < *pool.hung_at;
  clocks.daemons_unread = pool.daemons_unread;
  const bool follows =
      seen.copy == Copy::kFollows ||
      (seen.copy == Copy::kFollowed && pool.evicted_at.has_value());
  if (!seen.primary_peer.has_value() ||
      !(follows || seen.copy == Copy::kStarts)) {
    image.primary_peer.clear();
    return clocks;
  }
  if (image.primary_peer != *seen.primary_peer) {
    image.primary_peer = *seen.primary_peer;
    image.primary_since = now;
  }
  clocks.image_primary_for = now - image.primary_since;
  const auto [claim, unheard] = pool.claims.try_emplace(*seen.primary_peer);
  if (unheard || now - claim->second.seen_at > kGap) claim->second.since = now;
  claim->second.seen_at = now;
  clocks.peer_primary_for = now - claim->second.since;
  return clocks;
}

absl::Status PromoteSeries::NoteEviction(const PoolAndDefault& pool,
                                         const std::string& pool_key) {
  // What was reported before must not be taken for a return.
  ADDONS_ASSIGN_OR_RETURN(const std::vector<ImageStatuses> statuses,
                          pool.own.MirrorStatuses());
  int64_t newest = NewestLocalReport(statuses);
  {
    const MutexLock lock(mutex_);
    newest = std::max(newest, Join(pool_key).newest_report);
  }
  const WallTime at = clock_.WallNow();
  ADDONS_RETURN_IF_ERROR(WriteEvictionNote(pool, newest, at));
  const MutexLock lock(mutex_);
  PoolState& state = Join(pool_key);
  if (!state.evicted_at.has_value()) {
    state.first_evicted_at = clock_.Now();
    state.quiet_before = QuietFor(pool_key, state);
  }
  state.evicted_at = clock_.Now();
  state.sent_away = {.at = at};
  return absl::OkStatus();
}

/// For how long nothing has arrived in the pool, although it could have for
/// each of its images that was looked at.
SteadyDuration PromoteSeries::QuietFor(const std::string& key,
                                       const PoolState& pool) const {
  SteadyTime since = std::max(pool.begun, pool.noisy_at);
  for (const auto& [name, image] : images_) {
    if (image.pool == key && image.series == pool.series) {
      since = std::max(since, image.deaf_at);
    }
  }
  // What is not listed yet is not known.
  SteadyTime until = since;
  for (const auto& [name, reader] : pool.readers) {
    until = std::max(until, reader.listed_at);
  }
  return until - since;
}

void PromoteSeries::ForgetPrimary(const std::string& image) {
  const MutexLock lock(mutex_);
  const auto it = images_.find(image);
  if (it != images_.end()) it->second.primary_peer.clear();
}

void PromoteSeries::CopyTo(const std::string& pool_key,
                           PromoteSeries& copy) const {
  PoolState pool;
  std::map<std::string, ImageState> images;
  {
    const MutexLock lock(mutex_);
    const auto known = pools_.find(pool_key);
    if (known == pools_.end()) return;
    pool = known->second;
    for (const auto& [key, image] : images_) {
      if (image.pool == pool_key) images.emplace(key, image);
    }
  }
  // Who lists for this one does not list for the copy.
  for (auto& [name, reader] : pool.readers) reader.listing = false;
  const MutexLock lock(copy.mutex_);
  copy.pools_[pool_key] = std::move(pool);
  copy.images_ = std::move(images);
}

bool PromoteSeries::IsFirstCall(const std::string& object) {
  const MutexLock lock(mutex_);
  const SteadyTime now = clock_.Now();
  const auto [it, first] = calls_.try_emplace(object, now);
  const bool answer = first || now - it->second > kForgetCallAfter;
  it->second = now;
  return answer;
}

void PromoteSeries::EndCalls(const std::string& object) {
  const MutexLock lock(mutex_);
  calls_.erase(object);
}

}  // namespace addons
