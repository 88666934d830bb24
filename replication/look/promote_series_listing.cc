// How the listing of a pool is read and shared:
// replication/look/promote_series.h
#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "replication/look/promote_series.h"
#include "replication/look/report.h"

namespace addons {
namespace {

/// Which namespaces there are, and which of them are mirrored.
constexpr std::chrono::seconds kNamespacesInterval{30};
/// An rbd-mirror that reports on no image for so long is asked for its state.
constexpr std::chrono::seconds kReportsMissing{45};
constexpr std::chrono::seconds kDaemonsInterval{10};
/// A beacon comes every ten seconds at least.
constexpr std::chrono::seconds kBeaconGap{60};

std::string ReportsKey(const std::string& rados_namespace,
                       const std::string& image_id) {
  return absl::StrCat(rados_namespace, "/", image_id);
}

}  // namespace

struct PromoteSeries::Listing {
  SteadyTime begin;
  std::vector<std::string> others;
  std::optional<SteadyTime> others_at;
  std::set<std::string> skipped;  // somebody else has just read them
  std::map<std::string, std::vector<ImageStatuses>> statuses;
  int64_t newest_report = 0;          // of this site that is there now
  std::optional<SentAway> sent_away;  // nobody has reported since
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
  for (const auto& [name, statuses] : listing->statuses) {
    listing->newest_report =
        std::max(listing->newest_report, NewestLocalReport(statuses));
  }
  listing->sent_away =
      SilentSinceEviction(cluster, own, listing->newest_report);
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
  if (listing.sent_away.has_value()) state->sent_away = *listing.sent_away;
  if (listing.sent_away.has_value() && !state->evicted_at.has_value()) {
    state->evicted_at = listing.begin;
  } else if (!listing.sent_away.has_value() && state->evicted_at.has_value()) {
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

}  // namespace addons
