#include "points/point_rounds.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "points/long_read.h"
#include "points/make_point.h"
#include "points/planned_work.h"
#include "volume/credentials.h"

namespace addons {
namespace {

using std::chrono::minutes;

/// When a point that was not made is tried again: soon, because the other site
/// may be in step then, and not too often where points are days apart.
SteadyDuration RetryOf(const PointPlan& plan) {
  return std::clamp<minutes>(plan.front().every / 20, minutes(1), minutes(10));
}

/// When a copy is looked at again, for a record that may have arrived, and when
/// a reading that has failed begins anew.
SteadyDuration LookAgainOf(const PointPlan& plan) {
  return std::clamp<minutes>(plan.front().every / 4, minutes(4), minutes(15));
}

/// It may be otherwise in minutes. Anything else is up to a person, or to the
/// next period.
bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) ||
         absl::IsDeadlineExceeded(status) || absl::IsResourceExhausted(status);
}

}  // namespace

PlannedPointCounts PointRounds::counts() const {
  const std::vector<Planned> plans = environment_.point_plans.All();
  const MutexLock lock(mutex_);
  PlannedPointCounts counts = counts_;
  counts.volumes = plans.size();
  for (const Planned& planned : plans) {
    const auto volume = volumes_.find(planned.volume_id);
    if (volume == volumes_.end()) continue;
    const bool well =
        volume->second.not_made.empty() && volume->second.not_read.empty();
    counts.failing += well ? 0 : 1;
  }
  return counts;
}

void PointRounds::NoteTrouble(const Planned& planned,
                              std::string Volume::*trouble,
                              const absl::Status& status) {
  if (absl::IsCancelled(status)) return;
  std::string text(status.ok() ? "" : status.message());
  {
    const MutexLock lock(mutex_);
    counts_.failed += status.ok() ? 0 : 1;
    std::string& known = volumes_[planned.volume_id].*trouble;
    if (known == text) return;
    known = text;
  }
  if (status.ok()) {
    Log().info("planned points go on volume={}",
               Quoted(planned.volume_id.text()));
  } else {
    Log().warn("planned points do not go on volume={}: {}",
               Quoted(planned.volume_id.text()), Quoted(text));
    HistoryEvent event;
    event.object = planned.volume_id.text();
    event.verb = "planned points";
    event.user = planned.user->id;
    environment_.history.AddAnswered(std::move(event), status);
  }
}

void PointRounds::SetReading(const Planned& planned, Reading reading,
                             std::string point) {
  const MutexLock lock(mutex_);
  Volume& volume = volumes_[planned.volume_id];
  if (volume.busy || (volume.reading == reading && volume.point == point)) {
    return;
  }
  volume.reading = reading;
  volume.point = std::move(point);
  volume.read_at.reset();
}

bool PointRounds::IsBeingRead(const Planned& planned,
                              const std::string& point) const {
  const MutexLock lock(mutex_);
  const auto volume = volumes_.find(planned.volume_id);
  return volume != volumes_.end() && volume->second.busy &&
         volume->second.point == point;
}

absl::StatusOr<std::any> PointRounds::RunOn(const Planned& planned,
                                            const Task& task,
                                            OperationWork work) {
  ADDONS_ASSIGN_OR_RETURN(const OperationKey key,
                          environment_.resolver.KeyOfVolume(planned.volume_id));
  OperationSpec spec;
  spec.share = WorkerShare::OfCluster(key.cluster_id);
  spec.keys = {key.ToString()};
  spec.verb = task.verb;
  spec.action = task.action;
  spec.object = absl::StrCat("volume '", planned.volume_id.text(), "'");
  spec.parameters =
      CallFingerprint(spec.verb, *planned.user, {{"about", task.about}});
  if (task.lane == Lane::kBulk) {
    MakeLongRead(task.action, planned.volume_id.text(), &spec);
  }
  spec.lane = task.lane;
  return run_(spec, task.patience, std::move(work));
}

template <typename Result>
absl::StatusOr<Result> PointRounds::RunFor(
    const Planned& planned, const Task& task,
    std::function<absl::StatusOr<Result>(OperationContext&)> work) {
  ADDONS_ASSIGN_OR_RETURN(
      std::any result,
      RunOn(planned, task,
            [work = std::move(work)](
                OperationContext& context) -> absl::StatusOr<std::any> {
              ADDONS_ASSIGN_OR_RETURN(Result value, work(context));
              return std::any(std::move(value));
            }));
  Result* const value = std::any_cast<Result>(&result);
  if (value == nullptr) {
    return absl::InternalError(absl::StrCat("the operation '", task.verb,
                                            "' has a result of another type"));
  }
  return std::move(*value);
}

absl::Status PointRounds::KeepPrimary(const Planned& planned,
                                      const SeenPoints& seen,
                                      SteadyDuration* again) {
  const VolumeTarget target{planned.volume_id, planned.user};
  const absl::Time now = absl::FromChrono(environment_.clock.WallNow());
  std::vector<ListedPoint> points = seen.points;
  PlannedWork work = PlanWork(planned.plan, points, now);
  *again = absl::ToChronoNanoseconds(work.next - now);
  if (!work.make.empty()) {
    const Task task = {"make a planned point", "make a planned point of",
                       Lane::kControl, kPatience, work.make};
    ADDONS_RETURN_IF_ERROR(
        RunFor<MadePoint>(planned, task,
                          [&environment = environment_, target,
                           name = work.make](OperationContext& context) {
                            return MakePoint(context, environment, target, name,
                                             WhenNotInStep::kRefuse);
                          })
            .status());
    ListedPoint made;
    made.name = work.make;
    points.push_back(made);
    {
      const MutexLock lock(mutex_);
      ++counts_.made;
    }
    work = PlanWork(planned.plan, points, now);
  }
  SetReading(planned, work.read.empty() ? Reading::kNone : Reading::kRecord,
             work.read);
  for (const std::string& name : work.remove) {
    if (IsBeingRead(planned, name)) continue;
    const Task task = {"remove a planned point", "remove a planned point of",
                       Lane::kControl, kPatience, name};
    ADDONS_RETURN_IF_ERROR(
        RunFor<bool>(planned, task,
                     [&environment = environment_, target,
                      name](OperationContext& context) {
                       return RemovePoint(context, environment, target, name);
                     })
            .status());
  }
  return absl::OkStatus();
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

void PointRounds::MakeFor(const Planned& planned, std::set<ClusterId>* away) {
  {
    const MutexLock lock(mutex_);
    const Volume& volume = volumes_[planned.volume_id];
    if (volume.look_at.has_value() &&
        environment_.clock.Now() < *volume.look_at) {
      return;
    }
  }
  const auto key = environment_.resolver.KeyOfVolume(planned.volume_id);
  const ClusterId cluster = key.ok() ? key->cluster_id : ClusterId();
  if (away->contains(cluster)) return;
  const VolumeTarget target{planned.volume_id, planned.user};
  const auto seen = RunFor<SeenPoints>(
      planned,
      {"look at points", "look at the points of", Lane::kRead, kPatience, ""},
      [&environment = environment_, target](OperationContext& context) {
        return LookAtPoints(context, environment, target);
      });
  absl::Status status = seen.status();
  SteadyDuration again =
      MayPass(status) ? RetryOf(planned.plan) : LookAgainOf(planned.plan);
  if (MayPass(status)) away->insert(cluster);
  if (status.ok() && seen->primary) {
    SteadyDuration next{};
    status = KeepPrimary(planned, *seen, &next);
    again = MayPass(status) ? RetryOf(planned.plan) : next;
  } else if (status.ok()) {
    KeepCopy(planned, *seen);
  }
  NoteTrouble(planned, &Volume::not_made, status);
  const MutexLock lock(mutex_);
  Volume& volume = volumes_[planned.volume_id];
  volume.tries = status.ok() ? 0 : volume.tries + 1;
  // Not at the same second of a schedule's minutes again and again, when the
  // other site is just not in step.
  again += std::chrono::seconds(20) * (volume.tries % 3);
  volume.look_at = environment_.clock.Now() + again;
}

void PointRounds::Make() {
  const std::vector<Planned> plans = environment_.point_plans.All();
  {
    std::set<VolumeHandle> planned;
    for (const Planned& one : plans) planned.insert(one.volume_id);
    const MutexLock lock(mutex_);
    std::erase_if(volumes_, [&planned](const auto& volume) {
      return !planned.contains(volume.first);
    });
  }
  std::set<ClusterId> away;
  for (const Planned& planned : plans) MakeFor(planned, &away);
}

absl::Status PointRounds::ReadRecord(const Planned& planned,
                                     const std::string& point) {
  const VolumeTarget target{planned.volume_id, planned.user};
  ADDONS_ASSIGN_OR_RETURN(
      const DigestedPoint digested,
      RunFor<DigestedPoint>(planned,
                            {"digest a planned point", "read a point of",
                             Lane::kBulk, kReadPatience, point},
                            [&environment = environment_, target,
                             point](OperationContext& context) {
                              return DigestPoint(context, environment, target,
                                                 point, kBytesPerSecond);
                            }));
  ADDONS_RETURN_IF_ERROR(
      RunFor<SyncSnapshot>(planned,
                           {"store a planned point", "store what was read of",
                            Lane::kControl, std::chrono::minutes(5), point},
                           [&environment = environment_, target, point,
                            digested](OperationContext& context) {
                             return StoreRecord(context, environment, target,
                                                point, digested.snapshot,
                                                digested.record);
                           })
          .status());
  const MutexLock lock(mutex_);
  ++counts_.read;
  return absl::OkStatus();
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
    HistoryEvent event;
    event.object = planned.volume_id.text();
    event.verb = "verify by itself";
    event.user = planned.user->id;
    event.text = DescribeFound(proof);
    environment_.history.AddAnswered(std::move(event), absl::OkStatus());
  }
  const MutexLock lock(mutex_);
  ++counts_.compared;
  volumes_[planned.volume_id].compared = proof.header.made;
  return proof.kept;
}

bool PointRounds::TakeReading(const Planned& planned, Volume* due) {
  const MutexLock lock(mutex_);
  const auto volume = volumes_.find(planned.volume_id);
  if (volume == volumes_.end() || volume->second.reading == Reading::kNone ||
      (volume->second.read_at.has_value() &&
       environment_.clock.Now() < *volume->second.read_at)) {
    return false;
  }
  volume->second.busy = true;
  *due = volume->second;
  return true;
}

void PointRounds::Read() {
  for (const Planned& planned : environment_.point_plans.All()) {
    Volume due;
    if (!TakeReading(planned, &due)) continue;
    const absl::Status status = due.reading == Reading::kRecord
                                    ? ReadRecord(planned, due.point)
                                    : Compare(planned);
    NoteTrouble(planned, &Volume::not_read, status);
    const MutexLock lock(mutex_);
    Volume& volume = volumes_[planned.volume_id];
    volume.busy = false;
    volume.read_at = environment_.clock.Now() + LookAgainOf(planned.plan);
    if (status.ok()) volume.reading = Reading::kNone;
  }
}

}  // namespace addons
