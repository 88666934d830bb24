#ifndef ADDONS_REPLICATION_LOOK_COPYING_STOPS_H_
#define ADDONS_REPLICATION_LOOK_COPYING_STOPS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace addons {

/// What has become of the copies that were interrupted.
enum class SettingBack { kUnderWay, kDone, kFailed };

/// One time that the rbd-mirror clients of a pool were put on the blocklist.
struct CopyingStop {
  std::set<uint64_t> clients;      // that were blocklisted, by it or before
  std::set<int64_t> pools;         // whose OSDs know of it
  SteadyTime known_to_osds_since;  // from then on nothing more is copied
  /// Never null; changed by the thread that does so.
  std::shared_ptr<std::atomic<SettingBack>> setting_back =
      std::make_shared<std::atomic<SettingBack>>(SettingBack::kUnderWay);
};

/// Remembers for each pool, as PoolKey() names it, how its copying was ended
/// last, so that the forced promotions of the pool share one such step.
/// Thread-safe.
class CopyingStops {
 public:
  /// Free again when it dies.
  using Turn = std::shared_ptr<void>;

  /// nullptr: another one works on this pool now.
  Turn TryTake(const std::string& pool);

  CopyingStop Last(const std::string& pool);
  /// Of a pool as WholePoolKey() names it: the clients of all its namespaces,
  /// and when the last step was and what became of its copies, without its
  /// pools; no client when there was none.
  CopyingStop LastOfAllNamespaces(const std::string& whole_pool);
  /// Adds the clients to those of the pool; the rest takes the place of the
  /// last stop's.
  void Keep(const std::string& pool, const CopyingStop& stop);

  /// How often copying was ended, in all pools.
  uint64_t count() const { return count_; }

 private:
  Mutex mutex_;
  std::map<std::string, CopyingStop> stops_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::weak_ptr<void>> turns_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> count_ = 0;
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_COPYING_STOPS_H_
