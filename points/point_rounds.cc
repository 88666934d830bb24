#include "points/point_rounds.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "operation/run_operation.h"
#include "points/long_read.h"
#include "points/make_point.h"
#include "points/planned_work.h"
#include "replication/steps/upkeep.h"
#include "replication/volume_operation.h"

namespace addons {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

absl::Time Now(ReplicationEnvironment& environment) {
  return absl::FromChrono(environment.clock.WallNow());
}

/// When a point that was not made is tried again: soon, because the other site
/// may be in step then, and not too often where points are days apart. Not at
/// the same second of a schedule's minutes again and again.
SteadyDuration RetryOf(const PointPlan& plan, int tries) {
  constexpr int kSoon = 3;
  const minutes pause = tries <= kSoon
                            ? minutes(1)
                            : std::clamp<minutes>(plan.front().every / 20,
                                                  minutes(1), minutes(10));
  return pause + seconds(20) * (tries % 3);
}

/// When a copy is looked at again, for a record that may have arrived.
SteadyDuration LookAgainOf(const PointPlan& plan) {
  return std::clamp<minutes>(plan.front().every / 4, minutes(4), minutes(15));
}

/// When a reading that has failed begins anew.
SteadyDuration ReadAgainOf(const PointPlan& plan, int tries) {
  constexpr int kMostDoubled = 10;
  return std::min<SteadyDuration>(
      LookAgainOf(plan) * (1 << std::clamp(tries - 1, 0, kMostDoubled)),
      std::max<minutes>(plan.back().every, kShortestRecordInterval));
}

/// How long what may pass is not told.
SteadyDuration GraceOf(const PointPlan& plan) {
  return std::clamp<minutes>(plan.front().every / 4, minutes(10), minutes(60));
}

PlannedWork WorkOf(ReplicationEnvironment& environment, const PointPlan& plan,
                   const SeenPoints& seen) {
  return PlanWork(plan, seen.points, SiteMark(seen.mirror_uuid),
                  Now(environment));
}

}  // namespace

PlannedPointCounts PointRounds::counts() const {
  const std::vector<Planned> plans = environment_.point_plans.All();
  const MutexLock lock(mutex_);
  PlannedPointCounts counts = counts_;
  counts.volumes = plans.size();
  for (const Planned& planned : plans) {
    const auto found = volumes_.find(planned.volume_id);
    if (found == volumes_.end()) continue;
    const Volume& volume = found->second;
    const bool well = volume.making.told.empty() && volume.read.told.empty();
    counts.failing += well ? 0 : 1;
    counts.unread += volume.reading == Reading::kNone ? 0 : 1;
  }
  return counts;
}

void PointRounds::NoteTrouble(const Planned& planned, Trouble Volume::*which,
                              const absl::Status& status) {
  if (absl::IsCancelled(status)) return;
  const std::string text(status.ok() ? "" : status.message());
  {
    const SteadyTime now = environment_.clock.Now();
    const MutexLock lock(mutex_);
    Trouble& trouble = volumes_[planned.volume_id].*which;
    if (!status.ok()) {
      ++counts_.failed;
      ++trouble.tries;
      if (!trouble.since.has_value()) trouble.since = now;
      if (MayPass(status) && now - *trouble.since < GraceOf(planned.plan)) {
        return;
      }
    } else {
      trouble.since.reset();
      trouble.tries = 0;
    }
    if (trouble.told == text) return;
    trouble.told = text;
  }
  if (status.ok()) {
    Log().info("planned points go on volume={}",
               Quoted(planned.volume_id.text()));
    return;
  }
  Log().warn("planned points do not go on volume={}: {}",
             Quoted(planned.volume_id.text()), Quoted(text));
  TellHistory(planned, "planned points", "", status);
}

void PointRounds::TellHistory(const Planned& planned, const char* verb,
                              std::string text, const absl::Status& status) {
  HistoryEvent event;
  event.object = planned.volume_id.text();
  event.verb = verb;
  event.user = planned.user->id;
  event.text = std::move(text);
  environment_.history.AddAnswered(std::move(event), status);
}

void PointRounds::SetReading(const Planned& planned, Reading reading,
                             std::string point) {
  const MutexLock lock(mutex_);
  Volume& volume = volumes_[planned.volume_id];
  if (volume.busy) return;
  // What could not be read is not wanted any more.
  if (reading == Reading::kNone) volume.read = {};
  if (volume.reading == reading && volume.point == point) return;
  volume.reading = reading;
  volume.point = std::move(point);
  volume.read_at.reset();
  volume.digested.reset();
}

bool PointRounds::IsBeingRead(const Planned& planned,
                              const std::string& point) const {
  const MutexLock lock(mutex_);
  const auto volume = volumes_.find(planned.volume_id);
  return volume != volumes_.end() && volume->second.busy &&
         volume->second.point == point;
}

template <typename Result>
absl::StatusOr<Result> PointRounds::RunFor(
    const Planned& planned, const Task& task,
    std::function<absl::StatusOr<Result>(OperationContext&)> work) {
  ADDONS_ASSIGN_OR_RETURN(
      OperationSpec spec,
      SpecOnVolume(environment_, {planned.volume_id, planned.user}, task.verb,
                   {{"about", task.about}}));
  spec.action = task.action;
  spec.routine = true;
  if (task.lane == Lane::kRead) MakeRead(&spec);
  if (task.lane == Lane::kBulk) {
    MakeLongRead(task.action, planned.volume_id.text(), &spec);
    // To what a person has read.
    spec.yields = true;
  }
  return ResultAs<Result>(
      run_(spec, task.patience, WorkWithResult(std::move(work))), spec);
}

/// What is due may have been made by another replica meanwhile.
absl::StatusOr<SeenPoints> PointRounds::MakeDue(const Planned& planned) {
  const VolumeTarget target{planned.volume_id, planned.user};
  const auto make = [&environment = environment_, target, plan = planned.plan](
                        OperationContext& context) -> absl::StatusOr<MadeDue> {
    MadeDue due;
    ADDONS_ASSIGN_OR_RETURN(due.seen,
                            LookAtPoints(context, environment, target));
    const std::string name = WorkOf(environment, plan, due.seen).make;
    if (!due.seen.primary || name.empty()) return due;
    ADDONS_RETURN_IF_ERROR(
        MakePoint(context, environment, target, name, WhenNotInStep::kRefuse)
            .status());
    due.seen.points.emplace_back().name = name;
    due.made = true;
    return due;
  };
  ADDONS_ASSIGN_OR_RETURN(
      MadeDue due,
      RunFor<MadeDue>(planned,
                      {"make a planned point", "make a planned point of",
                       Lane::kControl, kPatience, ""},
                      make));
  const MutexLock lock(mutex_);
  counts_.made += due.made ? 1 : 0;
  return std::move(due.seen);
}

absl::Status PointRounds::KeepPrimary(const Planned& planned,
                                      const SeenPoints& seen,
                                      SteadyDuration* again) {
  const VolumeTarget target{planned.volume_id, planned.user};
  PlannedWork work = WorkOf(environment_, planned.plan, seen);
  absl::Status status;
  if (!work.make.empty()) {
    const auto now = MakeDue(planned);
    status.Update(now.status());
    if (now.ok() && !now->primary) return status;
    if (now.ok()) work = WorkOf(environment_, planned.plan, *now);
  }
  *again =
      absl::ToChronoNanoseconds(work.next - Now(environment_)) + kAfterPeriod;
  SetReading(planned, work.read.empty() ? Reading::kNone : Reading::kRecord,
             work.read);
  // Also where none was made: for want of room, maybe.
  for (const std::string& name : work.remove) {
    if (absl::IsCancelled(status)) break;
    if (IsBeingRead(planned, name)) continue;
    status.Update(
        RunFor<bool>(planned,
                     {"remove a planned point", "remove a planned point of",
                      Lane::kControl, kPatience, name},
                     [&environment = environment_, target,
                      name](OperationContext& context) {
                       return RemovePoint(context, environment, target, name);
                     })
            .status());
  }
  return status;
}

void PointRounds::KeepCopy(const Planned& planned, const SeenPoints& seen) {
  const auto recorded =
      std::find_if(seen.points.begin(), seen.points.end(),
                   [](const ListedPoint& point) { return point.recorded; });
  bool due =
      seen.copy && recorded != seen.points.end() &&
      (seen.proof.point != recorded->name || seen.proof.made != recorded->made);
  {
    const MutexLock lock(mutex_);
    due = due && volumes_[planned.volume_id].compared != recorded->made;
  }
  SetReading(planned, due ? Reading::kCompare : Reading::kNone,
             due ? recorded->name : "");
}

void PointRounds::MakeFor(const Planned& planned, SlowFailures* slow) {
  constexpr int kMostSlow = 2;
  const SteadyTime began = environment_.clock.Now();
  {
    const MutexLock lock(mutex_);
    const Volume& volume = volumes_[planned.volume_id];
    if (volume.look_at.has_value() && began < *volume.look_at) return;
  }
  const auto key = environment_.resolver.KeyOfVolume(planned.volume_id);
  const ClusterId cluster = key.ok() ? key->cluster_id : ClusterId();
  if ((*slow)[cluster] >= kMostSlow) return;
  const VolumeTarget target{planned.volume_id, planned.user};
  const auto seen = RunFor<SeenPoints>(
      planned,
      {"look at points", "look at the points of", Lane::kRead, kPatience, ""},
      [&environment = environment_, target](OperationContext& context) {
        return LookAtPoints(context, environment, target);
      });
  if (absl::IsNotFound(seen.status()) ||
      absl::IsFailedPrecondition(seen.status())) {
    Log().info("a plan of points ends volume={}: {}",
               Quoted(planned.volume_id.text()),
               Quoted(seen.status().message()));
    environment_.point_plans.Drop(planned.volume_id);
    return;
  }
  absl::Status status = seen.status();
  SteadyDuration again = LookAgainOf(planned.plan);
  if (status.ok() && seen->primary) {
    status = KeepPrimary(planned, *seen, &again);
  } else if (status.ok()) {
    KeepCopy(planned, *seen);
  }
  const SteadyTime now = environment_.clock.Now();
  if (MayPass(status) && now - began >= kPatience / 2) ++(*slow)[cluster];
  NoteTrouble(planned, &Volume::making, status);
  const MutexLock lock(mutex_);
  Volume& volume = volumes_[planned.volume_id];
  if (MayPass(status)) again = RetryOf(planned.plan, volume.making.tries);
  volume.look_at = now + again;
}

void PointRounds::Make() {
  const std::vector<Planned> plans = environment_.point_plans.All();
  {
    std::set<VolumeHandle> planned;
    for (const Planned& one : plans) planned.insert(one.volume_id);
    const MutexLock lock(mutex_);
    std::erase_if(volumes_, [&planned](const auto& volume) {
      return !volume.second.busy && !planned.contains(volume.first);
    });
  }
  SlowFailures slow;
  for (const Planned& planned : plans) MakeFor(planned, &slow);
}

absl::Status PointRounds::ReadRecord(const Planned& planned,
                                     const Volume& due) {
  const VolumeTarget target{planned.volume_id, planned.user};
  std::shared_ptr<const DigestedPoint> digested = due.digested;
  if (digested == nullptr) {
    // Another replica may have read one while this one waited.
    const auto digest =
        [&environment = environment_, target, plan = planned.plan,
         point = due.point](
            OperationContext& context) -> absl::StatusOr<DigestedPoint> {
      ADDONS_ASSIGN_OR_RETURN(const SeenPoints now,
                              LookAtPoints(context, environment, target));
      if (!now.primary || WorkOf(environment, plan, now).read.empty()) {
        return DigestedPoint();
      }
      return DigestPoint(context, environment, target, point, kBytesPerSecond);
    };
    ADDONS_ASSIGN_OR_RETURN(
        DigestedPoint read,
        RunFor<DigestedPoint>(planned,
                              {"digest a planned point", "read a point of",
                               Lane::kBulk, kReadPatience, due.point},
                              digest));
    if (read.record.empty()) return absl::OkStatus();
    digested = std::make_shared<const DigestedPoint>(std::move(read));
    const MutexLock lock(mutex_);
    ++counts_.read;
    volumes_[planned.volume_id].digested = digested;
  }
  return RunFor<SyncSnapshot>(
             planned,
             {"store a planned point", "store what was read of", Lane::kControl,
              minutes(5), due.point},
             [&environment = environment_, target, point = due.point,
              digested](OperationContext& context) {
               return StoreRecord(context, environment, target, point,
                                  digested->snapshot, digested->record);
             })
      .status();
}

absl::Status PointRounds::Compare(const Planned& planned) {
  const VolumeTarget target{planned.volume_id, planned.user};
  ADDONS_ASSIGN_OR_RETURN(
      const Proof proof,
      RunFor<Proof>(
          planned,
          {"verify by itself", "verify", Lane::kBulk, kReadPatience, ""},
          [&environment = environment_, target](OperationContext& context) {
            return ProvePoint(context, environment, target, "",
                              kBytesPerSecond);
          }));
  const bool whole = proof.verdict() == Proof::Verdict::kWhole ||
                     proof.verdict() == Proof::Verdict::kNotCleared;
  Log().info("a copy was compared by itself volume={} {}",
             Quoted(planned.volume_id.text()), Quoted(DescribeFound(proof)));
  if (!whole) {
    TellHistory(planned, "verify by itself", DescribeFound(proof),
                absl::OkStatus());
  }
  const MutexLock lock(mutex_);
  ++counts_.compared;
  volumes_[planned.volume_id].compared = proof.header.made;
  return proof.kept;
}

bool PointRounds::TakeReading(const Planned& planned, Volume* due) {
  const MutexLock lock(mutex_);
  const auto found = volumes_.find(planned.volume_id);
  if (found == volumes_.end()) return false;
  Volume& volume = found->second;
  if (volume.reading == Reading::kNone ||
      (volume.read_at.has_value() &&
       environment_.clock.Now() < *volume.read_at)) {
    return false;
  }
  volume.busy = true;
  *due = volume;
  return true;
}

void PointRounds::Read() {
  for (const Planned& planned : environment_.point_plans.All()) {
    Volume due;
    if (!TakeReading(planned, &due)) continue;
    const absl::Status status = due.reading == Reading::kRecord
                                    ? ReadRecord(planned, due)
                                    : Compare(planned);
    NoteTrouble(planned, &Volume::read, status);
    const MutexLock lock(mutex_);
    Volume& volume = volumes_[planned.volume_id];
    volume.busy = false;
    volume.read_at =
        environment_.clock.Now() + ReadAgainOf(planned.plan, volume.read.tries);
    if (!status.ok()) continue;
    volume.reading = Reading::kNone;
    volume.digested.reset();
  }
}

}  // namespace addons
