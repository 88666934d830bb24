#include "ceph/barrier.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/run_bounded.h"
#include "base/status_macros.h"
#include "ceph/pool.h"

namespace addons {

namespace {

/// A pool's handle, opened by the first of its parts that gets to work and
/// shared by the others, also when nobody waits for them any more.
class SharedPool {
 public:
  SharedPool(std::shared_ptr<Cluster> cluster, int64_t id)
      : cluster_(std::move(cluster)), id_(id) {}

  absl::Status Reach(uint32_t part, uint32_t parts) {
    ADDONS_ASSIGN_OR_RETURN(Pool* const pool, Open());
    return pool->ReachPlacementGroups(part, parts);
  }

 private:
  absl::StatusOr<Pool*> Open() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    if (pool_ == nullptr) {
      ADDONS_ASSIGN_OR_RETURN(pool_,
                              cluster_->OpenPool(id_, "", Access::kRead));
    }
    return pool_.get();
  }

  const std::shared_ptr<Cluster> cluster_;
  const int64_t id_;
  Mutex mutex_;
  std::unique_ptr<Pool> pool_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::vector<std::string> ReachAllPrimaries(
    BoundedThreads& threads, const std::shared_ptr<Cluster>& cluster,
    const std::vector<RbdPool>& pools, std::chrono::milliseconds patience) {
  std::vector<std::function<absl::Status()>> jobs;
  for (const RbdPool& pool : pools) {
    const auto shared = std::make_shared<SharedPool>(cluster, pool.id);
    const uint32_t parts = std::bit_ceil(pool.placement_groups);
    for (uint32_t part = 0; part < parts; ++part) {
      jobs.push_back(
          [shared, part, parts] { return shared->Reach(part, parts); });
    }
  }
  const std::vector<std::optional<absl::Status>> results =
      RunBounded(threads, absl::StrCat("barrier ", cluster->fsid()),
                 std::move(jobs), patience);

  std::vector<std::string> silent;
  size_t next = 0;
  for (const RbdPool& pool : pools) {
    const uint32_t parts = std::bit_ceil(pool.placement_groups);
    uint32_t missing = 0;
    std::string reason = "no answer in time";
    for (uint32_t part = 0; part < parts; ++part, ++next) {
      const std::optional<absl::Status>& result = results[next];
      if (result.has_value() && result->ok()) continue;
      ++missing;
      if (result.has_value()) reason = std::string(result->message());
    }
    if (missing > 0) {
      silent.push_back(absl::StrCat(missing, " of ", parts, " parts of pool '",
                                    pool.name, "': ", reason));
    }
  }
  return silent;
}

}  // namespace addons
