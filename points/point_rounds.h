#ifndef ADDONS_POINTS_POINT_ROUNDS_H_
#define ADDONS_POINTS_POINT_ROUNDS_H_

#include <any>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
  uint64_t failed = 0;  // tries
  uint64_t read = 0;    // on primaries, for their records
  uint64_t compared = 0;
  size_t volumes = 0;  // that have a plan now
  size_t failing = 0;  // those of them whose plan does not go on
  size_t unread = 0;   // those with a point that waits to be read or compared
};

/// Carries out the plans of environment.point_plans. Of a primary: makes the
/// point that is due, removes those that no interval keeps, and reads the one
/// whose record is due. Of a copy: compares it with a point whose record has
/// arrived. Everything is told by the images and their points (planned_work.h);
/// what is remembered here is when to look again. A volume that is not there,
/// or not replicated, any more loses its plan.
class PointRounds {
 public:
  /// How long one volume may keep the others waiting while its point is made.
  static constexpr std::chrono::seconds kPatience{60};
  /// Of a reading.
  static constexpr std::chrono::hours kReadPatience{48};
  /// How fast it reads: as `rbd-addons verify` without --rate.
  static constexpr uint64_t kBytesPerSecond = uint64_t{64} << 20;
  /// Periods begin when Ceph's manager makes mirror snapshots, too. By then
  /// these have arrived, mostly.
  static constexpr std::chrono::seconds kAfterPeriod{75};

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
  /// their points. A cluster that is slow to fail is not asked again in the
  /// same round. What does not go on is told once, in log and history: at once
  /// where a person has to do something, after a while where it may pass. For
  /// one thread.
  void Make();
  /// Reads the points that Make() has found due, one after the other. What
  /// fails is begun anew after a pause that doubles each time. For another
  /// thread: it may take hours.
  void Read();

  PlannedPointCounts counts() const;

 private:
  using Planned = PointPlans::Planned;
  enum class Reading { kNone, kRecord, kCompare };
  /// Of Make(), or of Read().
  struct Trouble {
    std::optional<SteadyTime> since;  // nullopt: the last try went well
    int tries = 0;                    // in vain, since then
    std::string told;                 // to people; empty: nothing yet
  };
  struct Volume {
    std::optional<SteadyTime> look_at;  // nullopt: at once
    Reading reading = Reading::kNone;
    std::string point;  // that is to be read
    bool busy = false;  // it is being read
    std::optional<SteadyTime> read_at;
    /// What was read, and is not stored yet.
    std::shared_ptr<const DigestedPoint> digested;
    /// The record that was compared last here.
    int64_t compared = 0;
    Trouble making;
    Trouble read;
  };
  /// Failures of this round that took long, by cluster.
  using SlowFailures = std::map<ClusterId, int>;

  /// How a verb is told as an operation on a volume.
  struct Task {
    const char* verb;
    const char* action;
    Lane lane;
    std::chrono::seconds patience;
    std::string about;  // what else tells it from others
  };
  /// `work` owns what it uses, but for the environment.
  template <typename Result>
  absl::StatusOr<Result> RunFor(
      const Planned& planned, const Task& task,
      std::function<absl::StatusOr<Result>(OperationContext&)> work);

  void MakeFor(const Planned& planned, SlowFailures* slow);
  absl::Status KeepPrimary(const Planned& planned, const SeenPoints& seen,
                           SteadyDuration* again);
  /// A look, and whether a point was made after it, which it shows.
  struct MadeDue {
    SeenPoints seen;
    bool made = false;
  };
  absl::StatusOr<SeenPoints> MakeDue(const Planned& planned);
  void KeepCopy(const Planned& planned, const SeenPoints& seen);
  /// What is to be read of it now; it is busy then. false: nothing.
  bool TakeReading(const Planned& planned, Volume* due);
  absl::Status ReadRecord(const Planned& planned, const Volume& due);
  absl::Status Compare(const Planned& planned);
  /// What is being read stays as it is.
  void SetReading(const Planned& planned, Reading reading, std::string point);
  bool IsBeingRead(const Planned& planned, const std::string& point) const;
  void NoteTrouble(const Planned& planned, Trouble Volume::*which,
                   const absl::Status& status);
  void TellHistory(const Planned& planned, const char* verb, std::string text,
                   const absl::Status& status);

  ReplicationEnvironment& environment_;
  const Run run_;
  mutable Mutex mutex_;
  std::map<VolumeHandle, Volume> volumes_ ABSL_GUARDED_BY(mutex_);
  PlannedPointCounts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_POINTS_POINT_ROUNDS_H_
