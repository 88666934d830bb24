#include "replication/state/copying_stops.h"

#include <cstddef>

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

void CopyingStops::Keep(const std::string& pool, const CopyingStop& stop) {
  ++count_;
  const MutexLock lock(mutex_);
  CopyingStop& last = stops_[pool];
  // A pool that an older step reached knows nothing of the new clients.
  last.pools = stop.pools;
  if (last.clients.size() > kMaxClients) last.clients.clear();
  last.clients.insert(stop.clients.begin(), stop.clients.end());
  last.known_to_osds_since = stop.known_to_osds_since;
}

}  // namespace addons
