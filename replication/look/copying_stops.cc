#include "replication/look/copying_stops.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

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

}  // namespace addons
