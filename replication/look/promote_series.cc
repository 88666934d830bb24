#include "replication/look/promote_series.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
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
/// Which namespaces there are, and which of them are mirrored.
constexpr std::chrono::seconds kNamespacesInterval{30};
/// An rbd-mirror that reports on no image for so long is asked for its state.
constexpr std::chrono::seconds kReportsMissing{45};
constexpr std::chrono::seconds kDaemonsInterval{10};
/// A beacon comes every ten seconds at least.
constexpr std::chrono::seconds kBeaconGap{60};
/// Longer than the longest pause of an operator that retries ever later.
constexpr std::chrono::minutes kForgetCallAfter{20};
constexpr std::chrono::minutes kForgetSeriesAfter{30};

std::string ReportsKey(const std::string& rados_namespace,
                       const std::string& image_id) {
  return absl::StrCat(rados_namespace, "/", image_id);
}

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

struct PromoteSeries::Listing {
  SteadyTime begin;
  std::vector<std::string> others;
  std::optional<SteadyTime> others_at;
  std::set<std::string> skipped;  // somebody else has just read them
  std::map<std::string, std::vector<ImageStatuses>> statuses;
  int64_t newest_report = 0;  // of this site that is there now
  bool silenced = false;      // by an eviction, since that
  bool asks_daemons = false;
  std::optional<std::vector<MirrorDaemon>> daemons;  // nullopt: not known
  std::string daemons_unread;                        // why
};

bool PromoteSeries::Lives(const std::optional<SteadyTime>& beacon,
                          SteadyTime now) {
  return beacon.has_value() && now - *beacon < kBeaconGap;
}

bool PromoteSeries::CutOff(const PoolState& pool, SteadyTime now) {
  return pool.cut_off_since.has_value() && Lives(pool.beacon_seen_at, now);
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

void PromoteSeries::LogRefusal(const Pool& own, const std::string& pool_key,
                               const std::string& rados_namespace,
                               const absl::Status& refusal) {
  {
    const MutexLock lock(mutex_);
    if (!pools_[pool_key].refused.insert(rados_namespace).second) return;
  }
  Log().warn(
      "the user may not look at {} of pool={}, so what rbd-mirror copies there "
      "is no sign of life for promotions elsewhere in the pool: {}",
      rados_namespace.empty()
          ? "the default namespace"
          : absl::StrCat("namespace ", Quoted(rados_namespace)),
      Quoted(own.name()), Quoted(refusal.message()));
}

absl::StatusOr<std::vector<std::string>> PromoteSeries::MirroredOthers(
    Cluster& cluster, Pool& own, const std::string& pool_key) {
  auto names = own.Namespaces();
  if (absl::IsPermissionDenied(names.status())) {
    // It may not look at the default namespace, which has the list.
    LogRefusal(own, pool_key, "", names.status());
    return std::vector<std::string>();
  }
  ADDONS_RETURN_IF_ERROR(names.status());
  names->emplace_back();  // the default one
  std::vector<std::string> mirrored;
  for (std::string& name : *names) {
    if (name == own.rados_namespace()) continue;
    ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                            cluster.OpenPool(own.id(), name, Access::kRead));
    const auto mode = pool->MirrorMode();
    if (absl::IsNotFound(mode.status())) continue;
    if (absl::IsPermissionDenied(mode.status())) {
      LogRefusal(own, pool_key, name, mode.status());
      continue;
    }
    ADDONS_RETURN_IF_ERROR(mode.status());
    if (*mode != PoolMirrorMode::kDisabled) mirrored.push_back(std::move(name));
  }
  return mirrored;
}

absl::Status PromoteSeries::Read(Cluster& cluster, Pool& own,
                                 const std::string& pool_key,
                                 Listing* listing) {
  if (!listing->others_at.has_value() ||
      listing->begin - *listing->others_at >= kNamespacesInterval) {
    ADDONS_ASSIGN_OR_RETURN(listing->others,
                            MirroredOthers(cluster, own, pool_key));
    listing->others_at = listing->begin;
  }
  ADDONS_ASSIGN_OR_RETURN(listing->statuses[own.rados_namespace()],
                          own.MirrorStatuses());
  for (const std::string& name : listing->others) {
    if (listing->skipped.contains(name)) continue;
    ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                            cluster.OpenPool(own.id(), name, Access::kRead));
    auto statuses = pool->MirrorStatuses();
    if (absl::IsNotFound(statuses.status())) continue;  // removed meanwhile
    if (absl::IsPermissionDenied(statuses.status())) {
      LogRefusal(own, pool_key, name, statuses.status());
      continue;
    }
    ADDONS_RETURN_IF_ERROR(statuses.status());
    listing->statuses[name] = *std::move(statuses);
  }
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> whole,
                          OpenDefaultNamespace(cluster, own, Access::kRead));
  for (const auto& [name, statuses] : listing->statuses) {
    listing->newest_report =
        std::max(listing->newest_report, NewestLocalReport(statuses));
  }
  listing->silenced =
      SilentSinceEviction({own, whole.get()}, listing->newest_report);
  if (listing->asks_daemons) {
    // Without an answer its silence says what it says without a question.
    if (auto daemons = ReadMirrorDaemons(cluster, own.id()); daemons.ok()) {
      listing->daemons = *std::move(daemons);
    } else {
      listing->daemons_unread = std::string(daemons.status().message());
    }
  }
  return absl::OkStatus();
}

absl::Status PromoteSeries::List(Cluster& cluster, Pool& own,
                                 const std::string& pool_key,
                                 SteadyDuration young_enough) {
  const std::string& name = own.rados_namespace();
  Listing listing;
  {
    const MutexLock lock(mutex_);
    PoolState& state = Join(pool_key);
    Reader& reader = state.readers[name];
    listing.begin = clock_.Now();
    if (reader.listing || (reader.listed_at >= state.begun &&
                           listing.begin - reader.listed_at < young_enough)) {
      return absl::OkStatus();
    }
    reader.listing = true;
    listing.asks_daemons =
        listing.begin - std::max(state.begun, state.reported_at) >=
            kReportsMissing &&
        listing.begin - state.daemons_asked_at >= kDaemonsInterval;
    if (listing.asks_daemons) state.daemons_asked_at = listing.begin;
    listing.others = reader.others;
    listing.others_at = reader.others_at;
    for (const auto& [other, read] : state.read) {
      if (listing.begin - read.at >= young_enough) continue;
      listing.skipped.insert(other);
      if (other == name) continue;
      listing.newest_report =
          std::max(listing.newest_report, read.newest_report);
    }
  }
  absl::Status listed = absl::UnknownError("not listed");
  try {
    listed = Read(cluster, own, pool_key, &listing);
  } catch (...) {
    EndListing(pool_key, name);
    throw;
  }
  EndListing(pool_key, name);
  if (!listed.ok()) return listed;
  const MutexLock lock(mutex_);
  Apply(listing, name, &pools_[pool_key]);
  return absl::OkStatus();
}

bool PromoteSeries::Arrived(const std::string& rados_namespace,
                            const std::vector<ImageStatuses>& statuses,
                            PoolState* state) {
  const bool seen_before = state->read.contains(rados_namespace);
  bool arrived = false;
  for (const ImageStatuses& image : statuses) {
    for (const SiteStatus& site : image.sites) {
      if (!site.local()) continue;
      std::string arrival = ArrivalText(site.description);
      // A report without numbers takes back nothing that was seen.
      if (arrival.empty()) continue;
      const auto [it, unheard] = state->numbers.try_emplace(
          ReportsKey(rados_namespace, image.image_id));
      arrived |= unheard ? seen_before : ShowsArrival(it->second, arrival);
      it->second = std::move(arrival);
    }
  }
  return arrived;
}

void PromoteSeries::Apply(const Listing& listing, const std::string& reader,
                          PoolState* state) {
  SteadyTime known_until = listing.begin;
  for (const std::string& name : listing.others) {
    if (listing.skipped.contains(name)) {
      known_until = std::min(known_until, state->read[name].at);
    }
  }
  for (const auto& [name, statuses] : listing.statuses) {
    const int64_t newest = NewestLocalReport(statuses);
    if (newest > state->newest_report) {
      state->newest_report = newest;
      state->reported_at = listing.begin;
    }
    if (Arrived(name, statuses, state)) state->noisy_at = listing.begin;
    KeepReports(name, listing.begin, statuses, state);
    state->read[name] = {listing.begin, newest};
  }
  if (listing.silenced && !state->evicted_at.has_value()) {
    state->evicted_at = listing.begin;
  } else if (!listing.silenced && state->evicted_at.has_value()) {
    // It is back, and gets its time before its silence says anything.
    state->evicted_at.reset();
    state->first_evicted_at.reset();
    state->noisy_at = listing.begin;
  }
  ApplyDaemons(listing, state);
  Reader& own = state->readers[reader];
  own.listed_at = known_until;
  own.others = listing.others;
  own.others_at = listing.others_at;
}

void PromoteSeries::KeepReports(const std::string& rados_namespace,
                                SteadyTime at,
                                const std::vector<ImageStatuses>& statuses,
                                PoolState* state) {
  if (state->reports.empty()) return;
  for (const ImageStatuses& image : statuses) {
    const auto watched =
        state->reports.find(ReportsKey(rados_namespace, image.image_id));
    if (watched == state->reports.end()) continue;
    ListedReports& reports = watched->second.emplace();
    reports.at = at;
    reports.digest = DigestOf(image.sites);
    reports.sites = image.sites;
    for (SiteStatus& site : reports.sites) site.description = std::string();
  }
}

void PromoteSeries::WatchReports(const std::string& pool_key,
                                 const std::string& rados_namespace,
                                 const std::string& image_id) {
  const MutexLock lock(mutex_);
  Join(pool_key).reports.try_emplace(ReportsKey(rados_namespace, image_id));
}

std::optional<PromoteSeries::ListedReports> PromoteSeries::Reports(
    const std::string& pool_key, const std::string& rados_namespace,
    const std::string& image_id) {
  const MutexLock lock(mutex_);
  const auto pool = pools_.find(pool_key);
  if (pool == pools_.end()) return std::nullopt;
  const auto image =
      pool->second.reports.find(ReportsKey(rados_namespace, image_id));
  return image == pool->second.reports.end() ? std::nullopt : image->second;
}

void PromoteSeries::ApplyDaemons(const Listing& listing, PoolState* state) {
  bool ends = false;
  if (listing.asks_daemons) state->daemons_unread = listing.daemons_unread;
  if (listing.daemons.has_value()) {
    const std::vector<MirrorDaemon>& daemons = *listing.daemons;
    const bool cut_off =
        !daemons.empty() &&
        std::all_of(daemons.begin(), daemons.end(),
                    [](const MirrorDaemon& daemon) { return daemon.cut_off; });
    bool lives = false;
    std::map<std::string, std::string> beacons;
    for (const MirrorDaemon& daemon : daemons) {
      const auto before = state->beacons.find(daemon.id);
      lives |= before != state->beacons.end() &&
               before->second != daemon.last_beacon;
      beacons[daemon.id] = daemon.last_beacon;
    }
    state->beacons = std::move(beacons);
    if (cut_off && lives) state->beacon_seen_at = listing.begin;
    if (!cut_off && lives) state->hung_at = listing.begin;
    if (!cut_off) {
      ends = true;
    } else if (!state->cut_off_since.has_value()) {
      state->cut_off_since = listing.begin;
      state->beacon_seen_at.reset();
    }
  }
  // One that connects or reports gets its time before silence says anything.
  ends |= state->reported_at == listing.begin;
  if (ends && state->cut_off_since.has_value()) {
    state->cut_off_since.reset();
    state->noisy_at = listing.begin;
  }
}

void PromoteSeries::EndListing(const std::string& pool_key,
                               const std::string& reader) {
  const MutexLock lock(mutex_);
  pools_[pool_key].readers[reader].listing = false;
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
  ADDONS_RETURN_IF_ERROR(WriteEvictionNote(pool, newest));
  const MutexLock lock(mutex_);
  PoolState& state = Join(pool_key);
  if (!state.evicted_at.has_value()) {
    state.first_evicted_at = clock_.Now();
    state.quiet_before = QuietFor(pool_key, state);
  }
  state.evicted_at = clock_.Now();
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
