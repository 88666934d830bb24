#ifndef ADDONS_POINTS_POINT_ROUNDS_H_
#define ADDONS_POINTS_POINT_ROUNDS_H_

#include <any>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "operation/operation_context.h"
#include "operation/operation_spec.h"
#include "points/prove.h"
#include "replication/environment.h"
#include "replication/point_plan.h"

namespace addons {

/// What came of the plans, since the daemon has started.
struct PlannedPointCounts {
  uint64_t made = 0;
  uint64_t failed = 0;  // tries; one is repeated within minutes
  uint64_t read = 0;    // on primaries, for their records
  uint64_t compared = 0;
  size_t volumes = 0;  // that have a plan now
  size_t failing = 0;  // those of them whose last try has failed
};

/// Carries out the plans of environment.point_plans. Of a primary: makes the
/// point that is due, removes those that no interval keeps, and reads the one
/// whose record is due. Of a copy: compares it with a point whose record has
/// arrived. Everything is told by the images and their points (planned_work.h);
/// what is remembered here is when to look again.
class PointRounds {
 public:
  /// How long one volume may keep the others waiting while its point is made.
  static constexpr std::chrono::seconds kPatience{30};
  /// Of a reading.
  static constexpr std::chrono::hours kReadPatience{48};
  /// How fast it reads: as `rbd-addons verify` without --rate.
  static constexpr uint64_t kBytesPerSecond = uint64_t{64} << 20;

  /// Runs `work` as the operation that `spec` describes, and waits for it, for
  /// `patience` at most; it may run on then, and an equal operation is joined.
  /// CANCELLED: this daemon ends.
  using Run = std::function<absl::StatusOr<std::any>(
      const OperationSpec& spec, std::chrono::seconds patience,
      OperationWork work)>;

  /// `environment` is not owned.
  PointRounds(ReplicationEnvironment& environment, Run run)
      : environment_(environment), run_(std::move(run)) {}

  /// Looks at the volumes that are due, one after the other; makes and removes
  /// their points. A cluster that does not answer is not asked again in the
  /// same round. What fails is logged once until it changes. For one thread.
  void Make();
  /// Reads the points that Make() has found due, one after the other. For
  /// another thread: it may take hours.
  void Read();

  PlannedPointCounts counts() const;

 private:
  using Planned = PointPlans::Planned;
  enum class Reading { kNone, kRecord, kCompare };
  struct Volume {
    std::optional<SteadyTime> look_at;  // nullopt: at once
    Reading reading = Reading::kNone;
    std::string point;  // that is to be read
    int tries = 0;      // in vain, since the last that was not
    bool busy = false;  // it is being read
    std::optional<SteadyTime> read_at;
    /// The record that was compared last here.
    int64_t compared = 0;
    /// Of Make(), and of Read(); empty: the last try went well.
    std::string not_made;
    std::string not_read;
  };

  void MakeFor(const Planned& planned, std::set<ClusterId>* away);
  absl::Status KeepPrimary(const Planned& planned, const SeenPoints& seen,
                           SteadyDuration* again);
  void KeepCopy(const Planned& planned, const SeenPoints& seen);
  /// What is to be read of it now; it is busy then. false: nothing.
  bool TakeReading(const Planned& planned, Volume* due);
  absl::Status ReadRecord(const Planned& planned, const std::string& point);
  absl::Status Compare(const Planned& planned);
  /// How a verb is told as an operation on a volume, and what it does there.
  struct Task {
    const char* verb;
    const char* action;
    Lane lane;
    std::chrono::seconds patience;
    std::string about;  // what else tells it from others
  };
  /// `work` owns what it uses, but for the environment.
  absl::StatusOr<std::any> RunOn(const Planned& planned, const Task& task,
                                 OperationWork work);
  template <typename Result>
  absl::StatusOr<Result> RunFor(
      const Planned& planned, const Task& task,
      std::function<absl::StatusOr<Result>(OperationContext&)> work);
  /// What is being read stays as it is.
  void SetReading(const Planned& planned, Reading reading, std::string point);
  bool IsBeingRead(const Planned& planned, const std::string& point) const;
  void NoteTrouble(const Planned& planned, std::string Volume::*trouble,
                   const absl::Status& status);

  ReplicationEnvironment& environment_;
  const Run run_;
  mutable Mutex mutex_;
  std::map<VolumeHandle, Volume> volumes_ ABSL_GUARDED_BY(mutex_);
  PlannedPointCounts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_POINTS_POINT_ROUNDS_H_
