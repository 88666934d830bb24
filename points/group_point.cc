#include "points/group_point.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "ceph/cluster.h"
#include "points/make_point.h"
#include "replication/group/group_run.h"
#include "replication/group/member_status.h"
#include "replication/group/point_name.h"
#include "replication/look/point.h"

namespace addons {
namespace {

using std::chrono::seconds;

constexpr char kAction[] = "make a point of";
/// It is the manager's moment of a member, or was seen too long ago.
constexpr seconds kFreshTurn{3};
constexpr int kMostTurns = 10;

absl::Status Refuse(const GroupTarget& target, absl::StatusCode code,
                    absl::string_view reason) {
  return absl::Status(code,
                      absl::StrCat("Failed to ", kAction, " volume group '",
                                   target.group_id.text(), "': ", reason));
}

/// The points of the group's members by name, with how many have each.
struct Found {
  struct One {
    size_t members = 0;
    size_t recorded = 0;
    int64_t made = 0;
  };
  std::map<std::string, One> by_name;
  std::vector<std::string> names;  // in the order of the first member's
};

absl::StatusOr<Found> Find(OperationContext& context,
                           ReplicationEnvironment& environment,
                           const GroupTarget& target) {
  Found found;
  for (size_t i = 0; i < target.members.size(); ++i) {
    ADDONS_ASSIGN_OR_RETURN(
        const SeenPoints seen,
        LookAtPoints(context, environment, target.Member(i)));
    for (const ListedPoint& point : seen.points) {
      const auto name = ParseGroupPointName(point.name);
      if (!name.has_value() || name->members != target.members.size()) continue;
      Found::One& one = found.by_name[point.name];
      if (++one.members == 1) found.names.push_back(point.name);
      if (!point.recorded) continue;
      ++one.recorded;
      one.made = std::max(one.made, point.made);
    }
  }
  return found;
}

/// Those that a person calls `base`, which all members have or not.
std::vector<std::string> Called(const Found& found, const std::string& base,
                                const GroupTarget& target, bool all) {
  std::vector<std::string> names;
  for (const std::string& name : found.names) {
    const bool has_all =
        found.by_name.at(name).members == target.members.size();
    if (has_all == all && ParseGroupPointName(name)->base == base) {
      names.push_back(name);
    }
  }
  return names;
}

GroupText TextOf(const GroupTarget& target, std::string running,
                 std::string done) {
  return {target.group_id, kAction, std::move(running), std::move(done)};
}

/// What the members' verbs have found. Thread-safe.
class Places {
 public:
  explicit Places(const GroupTarget& target) : target_(target) {}
  void Keep(const VolumeHandle& volume_id, PlacedImage image) {
    const MutexLock lock(mutex_);
    images_[volume_id] = std::move(image);
  }
  std::vector<PlacedImage> All() {
    const MutexLock lock(mutex_);
    std::vector<PlacedImage> all;
    for (const VolumeHandle& member : target_.members) {
      all.push_back(images_[member]);
    }
    return all;
  }

 private:
  const GroupTarget& target_;
  Mutex mutex_;
  std::map<VolumeHandle, PlacedImage> images_ ABSL_GUARDED_BY(mutex_);
};

absl::Status Seal(OperationContext& context,
                  ReplicationEnvironment& environment,
                  const GroupTarget& target, Places& places) {
  GroupRun run(context, environment.options, target,
               TextOf(target, "being sealed", "sealed"),
               [&](OperationContext& member,
                   const VolumeTarget& volume) -> absl::Status {
                 ADDONS_ASSIGN_OR_RETURN(
                     PlacedImage image,
                     SealForPoint(member, environment, volume));
                 places.Keep(volume.volume_id, std::move(image));
                 return absl::OkStatus();
               });
  return RunAllOrNone(run);
}

/// OK: the manager makes no mirror snapshot of any member within seconds.
absl::Status AwaitTurns(OperationContext& context,
                        ReplicationEnvironment& environment,
                        const GroupTarget& target) {
  for (int turn = 0; turn < kMostTurns; ++turn) {
    GroupRun run(context, environment.options, target,
                 TextOf(target, "being looked at", "sealed"),
                 [&](OperationContext& member, const VolumeTarget& volume) {
                   return AwaitPointTurn(member, environment, volume);
                 });
    ADDONS_RETURN_IF_ERROR(run.Probe());
    const GroupMembers members = run.members();
    if (AnyFailed(members)) return run.Failure(GroupCode(members));
    const SteadyTime fresh = context.clock().Now() - kFreshTurn;
    if (std::all_of(members.begin(), members.end(),
                    [&](const auto& member) { return member.at >= fresh; })) {
      return absl::OkStatus();
    }
  }
  return Refuse(target, absl::StatusCode::kUnavailable,
                "Ceph's manager makes mirror snapshots of one member or "
                "another all the time; repeat the call");
}

absl::StatusOr<bool> RemoveOfAll(OperationContext& context,
                                 ReplicationEnvironment& environment,
                                 const GroupTarget& target,
                                 const std::string& name) {
  Mutex mutex;
  bool any = false;
  GroupRun run(context, environment.options, target,
               TextOf(target, "losing a point", "without it"),
               [&](OperationContext& member,
                   const VolumeTarget& volume) -> absl::Status {
                 ADDONS_ASSIGN_OR_RETURN(
                     const bool removed,
                     RemovePoint(member, environment, volume, name));
                 const MutexLock lock(mutex);
                 any = any || removed;
                 return absl::OkStatus();
               });
  ADDONS_RETURN_IF_ERROR(run.RunAll());
  const GroupMembers members = run.members();
  if (AnyFailed(members)) return run.Failure(GroupCode(members));
  return any;
}

absl::Status Carry(OperationContext& context,
                   ReplicationEnvironment& environment,
                   const GroupTarget& target, const std::string& name) {
  GroupRun run(context, environment.options, target,
               TextOf(target, "being carried", "carried"),
               [&](OperationContext& member, const VolumeTarget& volume) {
                 return CarryPoint(member, environment, volume, name).status();
               });
  return RunAllOrNone(run);
}

absl::Status TakeTogether(OperationContext& context,
                          ReplicationEnvironment& environment,
                          const GroupTarget& target, const std::string& name) {
  Places places(target);
  ADDONS_RETURN_IF_ERROR(Seal(context, environment, target, places));
  ADDONS_RETURN_IF_ERROR(AwaitTurns(context, environment, target));
  context.Step("making the points");
  absl::Status made = target.place.cluster->SnapshotTogether(
      places.All(), SnapshotNameOf(name));
  if (made.ok()) return made;
  const auto removed = RemoveOfAll(context, environment, target, name);
  if (!removed.ok()) {
    Log().warn("a point of some members stays volume_group={} point={} {}",
               Quoted(target.group_id.text()), Quoted(name),
               Quoted(removed.status().ToString()));
  }
  return Refuse(target, made.code(), made.message());
}

}  // namespace

absl::StatusOr<std::string> MakeGroupPoint(OperationContext& context,
                                           ReplicationEnvironment& environment,
                                           const GroupTarget& target,
                                           const std::string& base) {
  GroupPointName named;
  named.base =
      base.empty()
          ? FormatUtcForName(absl::FromChrono(context.clock().WallNow()))
          : base;
  named.members = target.members.size();
  named.mark = NewInstantMark();
  ADDONS_RETURN_IF_ERROR(CheckPointName(named.text()));
  if (target.members.empty() || target.members.size() > kMostTogether) {
    return Refuse(
        target, absl::StatusCode::kFailedPrecondition,
        absl::StrCat("it has ", target.members.size(), " members; 1 to ",
                     kMostTogether, " can have a point at one instant"));
  }
  context.Step("looking at the points");
  ADDONS_ASSIGN_OR_RETURN(const Found found,
                          Find(context, environment, target));
  const std::vector<std::string> present =
      Called(found, named.base, target, /*all=*/true);
  std::string name = named.text();
  if (!present.empty()) {
    name = present.back();
    if (found.by_name.at(name).recorded == target.members.size()) {
      return Refuse(target, absl::StatusCode::kAlreadyExists,
                    absl::StrCat("it has a point '", name,
                                 "' that was read already; for a new one take "
                                 "another name, or remove it first"));
    }
  } else {
    ADDONS_RETURN_IF_ERROR(TakeTogether(context, environment, target, name));
  }
  ADDONS_RETURN_IF_ERROR(Carry(context, environment, target, name));
  for (const std::string& left :
       Called(found, named.base, target, /*all=*/false)) {
    ADDONS_RETURN_IF_ERROR(
        RemoveOfAll(context, environment, target, left).status());
  }
  Log().info("a point of a group was made volume_group={} point={} members={}",
             Quoted(target.group_id.text()), Quoted(name),
             target.members.size());
  return name;
}

absl::StatusOr<std::vector<SharedPoint>> LookAtGroupPoints(
    OperationContext& context, ReplicationEnvironment& environment,
    const GroupTarget& target) {
  ADDONS_ASSIGN_OR_RETURN(const Found found,
                          Find(context, environment, target));
  std::vector<SharedPoint> shared;
  for (const std::string& name : found.names) {
    const Found::One& one = found.by_name.at(name);
    if (one.members < target.members.size()) continue;
    shared.push_back({name, one.recorded == one.members, one.made});
  }
  return shared;
}

absl::StatusOr<bool> RemoveGroupPoint(OperationContext& context,
                                      ReplicationEnvironment& environment,
                                      const GroupTarget& target,
                                      const std::string& name) {
  if (!ParseGroupPointName(name).has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("name: '", name,
                     "' is no name of a group's point; `rbd-addons point list "
                     "--group` shows those that it has"));
  }
  return RemoveOfAll(context, environment, target, name);
}

}  // namespace addons
