#ifndef ADDONS_REPLICATION_POINT_PLAN_H_
#define ADDONS_REPLICATION_POINT_PLAN_H_

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
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
/// a call: in memory only. An operator repeats its calls, to one replica of the
/// daemon at a time: a plan that was renewed again and again, and then not for
/// kForgetAfter, is another replica's now. One that a person has brought once
/// stays. Thread-safe.
class PointPlans {
 public:
  static constexpr size_t kMost = 5000;
  static constexpr std::chrono::hours kForgetAfter{25};
  static constexpr int kOfAnOperator = 3;  // renewals

  struct Planned {
    VolumeHandle volume_id;
    CephUserRef user;
    PointPlan plan;
  };

  /// `clock` is not owned.
  explicit PointPlans(Clock& clock) : clock_(clock) {}

  /// A call with this plan was OK; one without ends it. Beyond kMost volumes
  /// nothing more is remembered, and false returned, once.
  bool Note(const VolumeHandle& volume_id, const CephUserRef& user,
            PointPlan plan);
  /// The same of a call for a volume group with these members, each of which
  /// has a plan of its own then: their points are of several moments. Who is no
  /// member any more has none.
  bool NoteGroup(const std::string& group_id,
                 const std::vector<VolumeHandle>& members,
                 const CephUserRef& user, const PointPlan& plan);
  /// The volume is not there, or not replicated, any more.
  void Drop(const VolumeHandle& volume_id);
  /// By volume id. Forgets what is old first.
  std::vector<Planned> All();

 private:
  struct Entry {
    CephUserRef user;
    PointPlan plan;
    std::string group_id;  // whose call has brought it; empty: the volume's own
    SteadyTime renewed_at{};
    int renewals = 0;
  };
  bool Set(const VolumeHandle& volume_id, Entry entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  Mutex mutex_;
  bool told_full_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<VolumeHandle, Entry> plans_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_POINT_PLAN_H_
