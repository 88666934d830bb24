#ifndef ADDONS_REPLICATION_POINT_PLAN_H_
#define ADDONS_REPLICATION_POINT_PLAN_H_

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "ceph/cluster.h"
#include "volume/csi_handle.h"

namespace addons {

/// A point (docs/points.md) in each period of `every`, which are counted from
/// 1970 in UTC, of which the newest `keep` stay.
struct PointInterval {
  std::chrono::minutes every{0};
  int keep = 0;

  friend bool operator==(const PointInterval&, const PointInterval&) = default;
};

/// What the parameter `points` of a class asks for, the shortest interval
/// first; empty: nothing.
using PointPlan = std::vector<PointInterval>;

inline constexpr std::chrono::minutes kShortestPointInterval{15};
/// Of all intervals together, so that there is room for those of people.
inline constexpr int kMostPlannedPoints = 400;

/// "1h*24,1d*7". INVALID_ARGUMENT names the parameter, the value and what is
/// allowed; empty is none.
absl::StatusOr<PointPlan> ParsePointPlan(const std::string& text);

/// The plans of the volumes that calls have named, with the newest user of such
/// a call: in memory only. Thread-safe.
class PointPlans {
 public:
  static constexpr size_t kMost = 5000;

  struct Planned {
    VolumeHandle volume_id;
    CephUserRef user;
    PointPlan plan;
  };

  /// A call with this plan was OK; one without ends it. Beyond kMost volumes
  /// nothing more is remembered, and false returned.
  bool Note(const VolumeHandle& volume_id, const CephUserRef& user,
            PointPlan plan);
  /// By volume id.
  std::vector<Planned> All() const;

 private:
  struct Entry {
    CephUserRef user;
    PointPlan plan;
  };
  mutable Mutex mutex_;
  std::map<VolumeHandle, Entry> plans_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_POINT_PLAN_H_
