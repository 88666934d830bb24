#include "replication/look/evictions.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "ceph/omap_object.h"
#include "ceph/pool.h"
#include "replication/look/mirror_view.h"

namespace addons {

namespace {

/// rbd-mirror takes a new client every half a minute at most; what is older
/// than this many does not show up any more.
constexpr size_t kMaxClients = 1000;

}  // namespace

Evictions::Turn Evictions::TryTake(const std::string& pool) {
  const MutexLock lock(mutex_);
  std::weak_ptr<void>& turn = turns_[pool];
  if (!turn.expired()) return nullptr;
  Turn taken = std::make_shared<int>(0);
  turn = taken;
  return taken;
}

Eviction Evictions::Last(const std::string& pool) {
  const MutexLock lock(mutex_);
  const auto it = stops_.find(pool);
  return it == stops_.end() ? Eviction() : it->second;
}

Eviction Evictions::LastOfAllNamespaces(const std::string& whole_pool) {
  const std::string prefix = absl::StrCat(whole_pool, "/");
  Eviction all;
  const MutexLock lock(mutex_);
  for (auto it = stops_.lower_bound(prefix);
       it != stops_.end() && absl::StartsWith(it->first, prefix); ++it) {
    const Eviction& stop = it->second;
    all.clients.insert(stop.clients.begin(), stop.clients.end());
    if (stop.known_to_osds_since < all.known_to_osds_since) continue;
    all.known_to_osds_since = stop.known_to_osds_since;
    all.rewind = stop.rewind;
  }
  return all;
}

void Evictions::Keep(const std::string& pool, const Eviction& stop) {
  ++count_;
  const MutexLock lock(mutex_);
  Eviction& last = stops_[pool];
  // A pool that an older step reached knows nothing of the new clients.
  last.pools = stop.pools;
  if (last.clients.size() > kMaxClients) last.clients.clear();
  last.clients.insert(stop.clients.begin(), stop.clients.end());
  last.known_to_osds_since = stop.known_to_osds_since;
  last.rewind = stop.rewind;
}

namespace {

constexpr char kNewestReportKey[] = "newest_report";
constexpr char kEvictedAtKey[] = "evicted_at";  // unix seconds
/// The note may hold a stamp of another namespace's images. rbd-mirror reports
/// on each of its images every 30 s, and the stamps are of several OSDs. One
/// that is back is beyond that when it has reported twice.
constexpr int64_t kReportsApart = 45;

/// The note counts for as long as this lock lasts, which the OSD ends.
constexpr std::chrono::hours kCounts{1};

ObjectLock CountingLock() {
  return {.object = kEvictionObject, .name = "counts", .cookie = "evicted"};
}

/// From now on; also where an earlier eviction has the lock.
absl::Status StartToCount(Pool& pool) {
  const ObjectLock lock = CountingLock();
  const auto taken = pool.TakeObjectLock(lock, kCounts);
  if (absl::IsAlreadyExists(taken.status())) {  // by this client
    return pool.RenewObjectLock(lock, kCounts).status();
  }
  ADDONS_RETURN_IF_ERROR(taken.status());
  if (*taken) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Locker> lockers,
                          pool.ObjectLockers(lock));
  for (const Locker& locker : lockers) {
    ADDONS_RETURN_IF_ERROR(pool.BreakObjectLock(lock, locker));
  }
  // Whoever is faster notes the same.
  return pool.TakeObjectLock(lock, kCounts).status();
}

absl::Status Write(Pool& pool, int64_t newest_report, WallTime at) {
  ADDONS_RETURN_IF_ERROR(SetOmapValuesCreating(
      pool, kEvictionObject,
      {{kNewestReportKey, absl::StrCat(newest_report)},
       {kEvictedAtKey,
        absl::StrCat(std::chrono::system_clock::to_time_t(at))}}));
  return StartToCount(pool);
}

std::optional<int64_t> ReadNote(Pool& pool, const std::string& key) {
  const auto value = pool.ReadOmapKey(kEvictionObject, key);
  int64_t noted = 0;
  if (!value.ok() || !value->has_value() ||
      !absl::SimpleAtoi(**value, &noted)) {
    return std::nullopt;
  }
  return noted;
}

std::optional<SentAway> Explains(Pool& pool, int64_t newest_report) {
  const std::optional<int64_t> noted = ReadNote(pool, kNewestReportKey);
  if (!noted.has_value() || newest_report > *noted + kReportsApart) {
    return std::nullopt;
  }
  const auto lockers = pool.ObjectLockers(CountingLock());
  if (!lockers.ok() || lockers->empty()) return std::nullopt;
  SentAway sent_away;
  if (const auto at = ReadNote(pool, kEvictedAtKey); at.has_value()) {
    sent_away.at = std::chrono::system_clock::from_time_t(*at);
  }
  return sent_away;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Pool>> OpenDefaultNamespace(Cluster& cluster,
                                                           const Pool& own,
                                                           Access access) {
  if (own.rados_namespace().empty()) return nullptr;
  return cluster.OpenPool(own.id(), "", access);
}

absl::Status WriteEvictionNote(const PoolAndDefault& pool,
                               int64_t newest_report, WallTime at) {
  absl::Status own = Write(pool.own, newest_report, at);
  if (pool.whole == nullptr) return own;
  return Write(*pool.whole, newest_report, at).ok() ? absl::OkStatus() : own;
}

bool HasEvictionNote(const PoolAndDefault& pool) {
  return ReadNote(pool.own, kNewestReportKey).has_value() ||
         (pool.whole != nullptr &&
          ReadNote(*pool.whole, kNewestReportKey).has_value());
}

std::optional<SentAway> SilentSinceEviction(const PoolAndDefault& pool,
                                            int64_t newest_report) {
  if (newest_report == 0) return std::nullopt;
  auto explained = Explains(pool.own, newest_report);
  if (explained.has_value() || pool.whole == nullptr) return explained;
  return Explains(*pool.whole, newest_report);
}

std::optional<SentAway> SilentSinceEviction(Cluster& cluster, Pool& own,
                                            int64_t newest_report) {
  const auto whole = OpenDefaultNamespace(cluster, own, Access::kRead);
  return SilentSinceEviction({own, whole.ok() ? whole->get() : nullptr},
                             newest_report);
}

std::string DescribeSentAway(const SentAway& sent_away, WallTime now) {
  // Clients are back 20 to 70 s after it, with the default intervals.
  constexpr std::chrono::minutes kBack{2};
  const bool lately = sent_away.at.has_value() && now - *sent_away.at < kBack;
  const std::string at =
      sent_away.at.has_value()
          ? absl::StrCat("at ",
                         FormatUtcTimeOfDay(absl::FromChrono(*sent_away.at)))
          : "within the last hour";
  return absl::StrCat(
      "rbd-mirror of this site was sent away by this daemon ", at,
      ", for a forced promotion; ",
      lately ? "it is back within a minute"
             : "it has not reported since, and does so once it reaches the "
               "other site: where that lives, it is down, start it");
}

std::string WhySilentHere(Cluster& cluster, Pool& own, int64_t newest_report,
                          WallTime now) {
  const auto sent_away = SilentSinceEviction(cluster, own, newest_report);
  return sent_away.has_value() ? DescribeSentAway(*sent_away, now) : "";
}

std::string WhySilentHere(Cluster& cluster, Pool& own, const MirrorView& view,
                          WallTime now) {
  if (!view.local.has_value() || view.local->status.up) return "";
  return WhySilentHere(cluster, own, view.local->status.last_update, now);
}

}  // namespace addons
