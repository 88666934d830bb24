#include "replication/membership.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "replication/group/group_run.h"
#include "replication/schedule_store.h"
#include "replication/session.h"
#include "replication/steps/disable.h"
#include "replication/steps/enable.h"
#include "replication/steps/mirror_schedule.h"
#include "volume/missing_image.h"

namespace addons {
namespace {

/// How this site sees one of the members that are there.
struct Seen {
  absl::Status status;
  bool mirrored = false;
  bool primary = false;
  MirrorMode mode = MirrorMode::kSnapshot;
};

Seen From(const MirrorImageInfo& info) {
  MirrorView view;
  view.info = info;
  return {absl::OkStatus(), view.enabled(), view.enabled() && info.primary,
          info.mode};
}

Seen LookAtMember(ReplicationEnvironment& environment,
                  const VolumeTarget& target, SteadyTime deadline) {
  Seen seen;
  auto opened = OpenVolume(environment, target, Access::kMutate, deadline);
  if (!opened.ok()) {
    seen.status = opened.status();
    return seen;
  }
  const auto view =
      LookAt(opened->volume, *opened->reads, environment.timeline);
  if (!view.ok()) {
    seen.status = absl::IsNotFound(view.status()) ? ImageMissing(opened->volume)
                                                  : view.status();
    return seen;
  }
  return From(view->info);
}

absl::Status Failed(const MembershipChange& change, absl::StatusCode code,
                    absl::string_view reason) {
  return absl::Status(
      code, absl::StrCat("Failed to change the members of volume group '",
                         change.group_id.text(), "': ", reason));
}

/// The schedule of `volume_id`, which is mirrored. Of one that is paused what
/// is kept.
absl::StatusOr<std::optional<SnapshotSchedule>> ReadSchedule(
    OperationContext& context, ReplicationEnvironment& environment,
    const VolumeTarget& target) {
  ADDONS_ASSIGN_OR_RETURN(const OpenedVolume opened,
                          OpenVolume(environment, target, Access::kMutate,
                                     ResolveDeadline(context)));
  ADDONS_ASSIGN_OR_RETURN(
      std::vector<SnapshotSchedule> schedules,
      ListSchedules(context, environment.options, opened.cluster(),
                    opened.volume.ImageSpec()));
  if (schedules.empty()) {
    ADDONS_ASSIGN_OR_RETURN(
        const MirrorView view,
        LookWithoutOpening(opened.volume, *opened.reads, environment.timeline));
    if (view.own.pause.has_value()) schedules = KeptSchedules(*view.own.pause);
  }
  const auto found =
      std::find_if(schedules.begin(), schedules.end(),
                   [](const SnapshotSchedule& one) { return one.Runs(); });
  return found == schedules.end() ? std::optional<SnapshotSchedule>()
                                  : std::make_optional(*found);
}

/// What a change means for mirroring.
struct Plan {
  std::optional<ReplicationParameters> add;  // nullopt: those that come are not
  bool remove = false;  // whether the group's ends for those that leave
};

/// What the members that are there have in common.
struct Present {
  std::optional<size_t> primary;            // one that is primary here
  bool secondary = false;                   // there is one
  MirrorMode mode = MirrorMode::kSnapshot;  // of `primary`
};

absl::StatusOr<Present> LookAtPresent(OperationContext& context,
                                      ReplicationEnvironment& environment,
                                      const MembershipChange& change,
                                      const std::vector<VolumeHandle>& members,
                                      const SeenMirroring& seen_before) {
  const SteadyTime deadline = ResolveDeadline(context);
  std::vector<Seen> seen(members.size());
  RunParallel(
      seen.size(), environment.options.group_members_at_once, [&](size_t i) {
        const auto known = seen_before.find(members[i].text());
        seen[i] = known != seen_before.end()
                      ? From(known->second)
                      : LookAtMember(environment, {members[i], change.user},
                                     deadline);
      });
  Present present;
  bool any = false;
  absl::Status unknown;
  for (size_t i = 0; i < seen.size(); ++i) {
    const absl::Status& status = seen[i].status;
    if (!status.ok()) {
      // One that is gone, or ill, says nothing about the others.
      if (!absl::IsNotFound(status) && !absl::IsInvalidArgument(status)) {
        unknown = status;
      }
      continue;
    }
    any = true;
    present.secondary |= seen[i].mirrored && !seen[i].primary;
    if (seen[i].primary && !present.primary.has_value()) {
      present.primary = i;
      present.mode = seen[i].mode;
    }
  }
  if (!any && !unknown.ok()) return unknown;
  return present;
}

absl::StatusOr<Plan> MakePlan(OperationContext& context,
                              ReplicationEnvironment& environment,
                              const MembershipChange& change,
                              const SeenMirroring& seen) {
  const std::vector<VolumeHandle>& members =
      change.kept.empty() ? change.removed : change.kept;
  ADDONS_ASSIGN_OR_RETURN(
      const Present present,
      LookAtPresent(context, environment, change, members, seen));
  if (!present.primary.has_value()) return Plan();
  if (present.secondary) {
    return Failed(change, absl::StatusCode::kFailedPrecondition,
                  "this site is primary of some members and secondary of "
                  "others; finish the move of the group first");
  }
  Plan plan;
  if (!change.added.empty()) {
    plan.add.emplace();
    plan.add->mode = present.mode;
    plan.add->flatten = change.flatten;
    if (present.mode == MirrorMode::kSnapshot) {
      ADDONS_ASSIGN_OR_RETURN(
          plan.add->schedule,
          ReadSchedule(context, environment,
                       {members[*present.primary], change.user}));
    }
  }
  plan.remove = true;
  return plan;
}

GroupTarget Some(const MembershipChange& change,
                 const std::vector<VolumeHandle>& volumes) {
  return {change.group_id, change.user, volumes};
}

/// A volume that comes must be primary on this site as the others are.
absl::Status SetSchedule(OperationContext& context,
                         ReplicationEnvironment& environment,
                         const VolumeTarget& volume,
                         const ReplicationParameters& parameters) {
  return RunWithSession(
      context, environment, volume, "set the schedule of",
      [&](Session& session) -> absl::Status {
        ADDONS_ASSIGN_OR_RETURN(const MirrorView view, Look(session));
        if (!view.info.primary) {
          return absl::FailedPreconditionError(absl::StrCat(
              session.volume.Describe(),
              " is secondary on this site, where the group is primary; promote "
              "it first"));
        }
        if (!parameters.schedule.has_value()) return absl::OkStatus();
        return KeepSchedule(session, volume.user, view, *parameters.schedule,
                            VerbScope::kGroupMember);
      });
}

MemberVerb Adding(ReplicationEnvironment& environment,
                  const ReplicationParameters& parameters) {
  return [&environment, parameters](OperationContext& context,
                                    const VolumeTarget& volume) {
    ADDONS_RETURN_IF_ERROR(Enable(context, environment,
                                  {{volume.volume_id, volume.user},
                                   parameters,
                                   VerbScope::kGroupMember}));
    return SetSchedule(context, environment, volume, parameters);
  };
}

MemberVerb Removing(ReplicationEnvironment& environment) {
  return [&environment](OperationContext& context, const VolumeTarget& volume) {
    const absl::Status status =
        Disable(context, environment,
                {{volume.volume_id, volume.user}, {}, MirroredFor::kGroup});
    return absl::IsNotFound(status) ? absl::OkStatus() : status;
  };
}

GroupText AddingText(const MembershipChange& change) {
  return {change.group_id, "replicate new members of", "being enabled",
          "replicated"};
}

GroupText RemovingText(const MembershipChange& change) {
  return {change.group_id, "end the replication of members that leave",
          "being disabled", "not replicated any more"};
}

absl::Status ProbeOnly(GroupRun& run) {
  ADDONS_RETURN_IF_ERROR(run.Probe());
  const GroupMembers members = run.members();
  return AnyFailed(members) ? run.Failure(GroupCode(members))
                            : absl::OkStatus();
}

}  // namespace

absl::Status CheckGroupChange(OperationContext& context,
                              ReplicationEnvironment& environment,
                              const MembershipChange& change,
                              const SeenMirroring& seen) {
  if (change.added.empty() && change.removed.empty()) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const Plan plan,
                          MakePlan(context, environment, change, seen));
  if (plan.add.has_value()) {
    const GroupTarget added = Some(change, change.added);
    GroupRun run(context, environment.options, added, AddingText(change),
                 Adding(environment, *plan.add));
    ADDONS_RETURN_IF_ERROR(ProbeOnly(run));
  }
  if (!plan.remove) return absl::OkStatus();
  const GroupTarget removed = Some(change, change.removed);
  GroupRun run(context, environment.options, removed, RemovingText(change),
               Removing(environment));
  return ProbeOnly(run);
}

absl::Status EnableAdded(OperationContext& context,
                         ReplicationEnvironment& environment,
                         const MembershipChange& change,
                         const SeenMirroring& seen) {
  if (change.added.empty()) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const Plan plan,
                          MakePlan(context, environment, change, seen));
  if (!plan.add.has_value()) return absl::OkStatus();
  Log().info("replicating new members of volume group={} volumes={}",
             Quoted(change.group_id.text()), change.added.size());
  const GroupTarget added = Some(change, change.added);
  GroupRun run(context, environment.options, added, AddingText(change),
               Adding(environment, *plan.add));
  return RunAllOrNone(run);
}

absl::Status DisableRemoved(OperationContext& context,
                            ReplicationEnvironment& environment,
                            const MembershipChange& change,
                            const SeenMirroring& seen) {
  if (change.removed.empty()) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const Plan plan,
                          MakePlan(context, environment, change, seen));
  if (!plan.remove) return absl::OkStatus();
  Log().info(
      "ending the replication of members that leave volume group={} "
      "volumes={}",
      Quoted(change.group_id.text()), change.removed.size());
  const GroupTarget removed = Some(change, change.removed);
  GroupRun run(context, environment.options, removed, RemovingText(change),
               Removing(environment));
  return RunAllOrNone(run);
}

}  // namespace addons
