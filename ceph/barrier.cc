#include "ceph/barrier.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/run_bounded.h"
#include "base/status_macros.h"
#include "ceph/pool.h"

namespace addons {

std::vector<std::string> ReachAllPrimaries(
    BoundedThreads& threads, const std::shared_ptr<Cluster>& cluster,
    const std::vector<RbdPool>& pools, std::chrono::milliseconds patience) {
  std::vector<std::function<absl::Status()>> jobs;
  for (const RbdPool& pool : pools) {
    const uint32_t parts = std::bit_ceil(pool.placement_groups);
    for (uint32_t part = 0; part < parts; ++part) {
      jobs.push_back([cluster, id = pool.id, part, parts]() -> absl::Status {
        ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> opened,
                                cluster->OpenPool(id, "", Access::kRead));
        return opened->ReachPlacementGroups(part, parts);
      });
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
