#include "replication/look/evictions.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/omap_object.h"
#include "ceph/pool.h"

namespace addons {

namespace {

/// rbd-mirror takes a new client every half a minute at most; what is older
/// than this many does not show up any more.
constexpr size_t kMaxClients = 1000;

}  // namespace

CopyingStops::Turn CopyingStops::TryTake(const std::string& pool) {
  const MutexLock lock(mutex_);
  std::weak_ptr<void>& turn = turns_[pool];
  if (!turn.expired()) return nullptr;
  Turn taken = std::make_shared<int>(0);
  turn = taken;
  return taken;
}

CopyingStop CopyingStops::Last(const std::string& pool) {
  const MutexLock lock(mutex_);
  const auto it = stops_.find(pool);
  return it == stops_.end() ? CopyingStop() : it->second;
}

CopyingStop CopyingStops::LastOfAllNamespaces(const std::string& whole_pool) {
  const std::string prefix = absl::StrCat(whole_pool, "/");
  CopyingStop all;
  const MutexLock lock(mutex_);
  for (auto it = stops_.lower_bound(prefix);
       it != stops_.end() && absl::StartsWith(it->first, prefix); ++it) {
    const CopyingStop& stop = it->second;
    all.clients.insert(stop.clients.begin(), stop.clients.end());
    if (stop.known_to_osds_since < all.known_to_osds_since) continue;
    all.known_to_osds_since = stop.known_to_osds_since;
    all.setting_back = stop.setting_back;
  }
  return all;
}

void CopyingStops::Keep(const std::string& pool, const CopyingStop& stop) {
  ++count_;
  const MutexLock lock(mutex_);
  CopyingStop& last = stops_[pool];
  // A pool that an older step reached knows nothing of the new clients.
  last.pools = stop.pools;
  if (last.clients.size() > kMaxClients) last.clients.clear();
  last.clients.insert(stop.clients.begin(), stop.clients.end());
  last.known_to_osds_since = stop.known_to_osds_since;
  last.setting_back = stop.setting_back;
}

namespace {

constexpr char kNewestReportKey[] = "newest_report";
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
  ADDONS_ASSIGN_OR_RETURN(const std::vector<ObjectLocker> lockers,
                          pool.ObjectLockers(lock));
  for (const ObjectLocker& locker : lockers) {
    ADDONS_RETURN_IF_ERROR(pool.BreakObjectLock(lock, locker));
  }
  // Whoever is faster notes the same.
  return pool.TakeObjectLock(lock, kCounts).status();
}

absl::Status Write(Pool& pool, int64_t newest_report) {
  ADDONS_RETURN_IF_ERROR(
      SetOmapValuesCreating(pool, kEvictionObject,
                            {{kNewestReportKey, absl::StrCat(newest_report)}}));
  return StartToCount(pool);
}

std::optional<int64_t> ReadNote(Pool& pool) {
  const auto value = pool.ReadOmapKey(kEvictionObject, kNewestReportKey);
  int64_t newest_report = 0;
  if (!value.ok() || !value->has_value() ||
      !absl::SimpleAtoi(**value, &newest_report)) {
    return std::nullopt;
  }
  return newest_report;
}

bool Explains(Pool& pool, int64_t newest_report) {
  const std::optional<int64_t> noted = ReadNote(pool);
  if (!noted.has_value() || newest_report > *noted + kReportsApart) {
    return false;
  }
  const auto lockers = pool.ObjectLockers(CountingLock());
  return lockers.ok() && !lockers->empty();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Pool>> OpenDefaultNamespace(Cluster& cluster,
                                                           const Pool& own,
                                                           Access access) {
  if (own.rados_namespace().empty()) return nullptr;
  return cluster.OpenPool(own.id(), "", access);
}

absl::Status WriteEvictionNote(const PoolAndDefault& pool,
                               int64_t newest_report) {
  absl::Status own = Write(pool.own, newest_report);
  if (pool.whole == nullptr) return own;
  return Write(*pool.whole, newest_report).ok() ? absl::OkStatus() : own;
}

bool HasEvictionNote(const PoolAndDefault& pool) {
  return ReadNote(pool.own).has_value() ||
         (pool.whole != nullptr && ReadNote(*pool.whole).has_value());
}

bool SilentSinceEviction(const PoolAndDefault& pool, int64_t newest_report) {
  if (newest_report == 0) return false;
  return Explains(pool.own, newest_report) ||
         (pool.whole != nullptr && Explains(*pool.whole, newest_report));
}

}  // namespace addons
