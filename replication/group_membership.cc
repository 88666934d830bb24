#include "replication/group_membership.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "replication/disable.h"
#include "replication/enable.h"
#include "replication/group_run.h"
#include "replication/mirror_schedule.h"
#include "replication/session.h"

namespace addons {
namespace {

/// How this site sees one of the members that are there.
struct Seen {
  absl::Status status;
  bool mirrored = false;
  bool primary = false;
  MirrorMode mode = MirrorMode::kSnapshot;
};

Seen LookAtMember(ReplicationEnvironment& environment,
                  const VolumeTarget& target, SteadyTime deadline) {
  Seen seen;
  auto session = OpenSession(environment, target, deadline);
  if (!session.ok()) {
    seen.status = session.status();
    return seen;
  }
  const auto view =
      LookAt(session->volume, *session->reads, environment.tracker);
  if (!view.ok()) {
    seen.status = view.status();
    return seen;
  }
  seen.mirrored = view->enabled();
  seen.primary = view->enabled() && view->info.primary;
  seen.mode = view->info.mode;
  return seen;
}

absl::Status Failed(const GroupChange& change, absl::StatusCode code,
                    absl::string_view reason) {
  return absl::Status(
      code, absl::StrCat("Failed to change the members of volume group '",
                         change.group_id, "': ", reason));
}

/// The schedule of `volume_id`, which is mirrored.
absl::StatusOr<std::optional<SnapshotSchedule>> ReadSchedule(
    OperationContext& context, ReplicationEnvironment& environment,
    const VolumeTarget& target) {
  ADDONS_ASSIGN_OR_RETURN(
      const Session session,
      OpenSession(environment, target, ResolveDeadline(context)));
  ADDONS_ASSIGN_OR_RETURN(
      const std::vector<SnapshotSchedule> schedules,
      ListSchedules(context, environment.options, session.cluster(),
                    session.reads->ImageSpec(session.volume.image_name())));
  if (schedules.empty()) return std::optional<SnapshotSchedule>();
  return std::make_optional(schedules.front());
}

/// How the members that are there are replicated, for those that come; nullopt:
/// not, or not from this site.
absl::StatusOr<std::optional<ReplicationParameters>> FindOut(
    OperationContext& context, ReplicationEnvironment& environment,
    const GroupChange& change) {
  const std::vector<std::string>& present =
      change.kept.empty() ? change.removed : change.kept;
  const SteadyTime deadline = ResolveDeadline(context);
  std::vector<Seen> seen(present.size());
  RunParallel(seen.size(), environment.options.group_members_at_once,
              [&](size_t i) {
                seen[i] = LookAtMember(
                    environment, {present[i], change.user.Clone()}, deadline);
              });
  const Seen* primary = nullptr;
  size_t example = 0;
  bool secondary = false;
  for (size_t i = 0; i < seen.size(); ++i) {
    // One that is gone says nothing about the others.
    const absl::Status& status = seen[i].status;
    if (!status.ok() && !absl::IsNotFound(status) &&
        !absl::IsInvalidArgument(status)) {
      return status;
    }
    if (seen[i].primary && primary == nullptr) {
      primary = &seen[i];
      example = i;
    }
    secondary |= seen[i].mirrored && !seen[i].primary;
  }
  if (primary == nullptr) return std::optional<ReplicationParameters>();
  if (secondary) {
    return Failed(change, absl::StatusCode::kFailedPrecondition,
                  "this site is primary of some members and secondary of "
                  "others; finish the move of the group first");
  }
  ReplicationParameters wanted;
  wanted.mode = primary->mode;
  wanted.flatten = change.flatten;
  if (primary->mode == MirrorMode::kSnapshot && !change.added.empty()) {
    ADDONS_ASSIGN_OR_RETURN(
        wanted.schedule, ReadSchedule(context, environment,
                                      {present[example], change.user.Clone()}));
  }
  return std::make_optional(wanted);
}

GroupTarget Some(const GroupChange& change,
                 const std::vector<std::string>& volumes) {
  return {change.group_id, change.user.Clone(), volumes};
}

/// A volume that comes must be primary on this site as the others are.
absl::Status SetSchedule(OperationContext& context,
                         ReplicationEnvironment& environment,
                         const VolumeTarget& volume,
                         const ReplicationParameters& parameters) {
  return RunWithSession(
      context, environment, volume, [&](Session& session) -> absl::Status {
        ADDONS_ASSIGN_OR_RETURN(const MirrorView view,
                                Look(context, environment, session));
        if (!view.info.primary) {
          return absl::FailedPreconditionError(absl::StrCat(
              session.volume.Describe(),
              " is secondary on this site, where the group is primary; promote "
              "it first"));
        }
        if (!parameters.schedule.has_value()) return absl::OkStatus();
        return EnsureSchedule(
            context, environment.options, session.cluster(),
            session.reads->ImageSpec(session.volume.image_name()),
            *parameters.schedule);
      });
}

MemberVerb Adding(ReplicationEnvironment& environment,
                  const ReplicationParameters& parameters) {
  return [&environment, parameters](OperationContext& context,
                                    const VolumeTarget& volume) {
    ADDONS_RETURN_IF_ERROR(
        Enable(context, environment,
               {{volume.volume_id, volume.user.Clone()}, parameters}));
    return SetSchedule(context, environment, volume, parameters);
  };
}

MemberVerb Removing(ReplicationEnvironment& environment) {
  return [&environment](OperationContext& context, const VolumeTarget& volume) {
    const absl::Status status = Disable(
        context, environment, {{volume.volume_id, volume.user.Clone()}, {}});
    return absl::IsNotFound(status) ? absl::OkStatus() : status;
  };
}

GroupText AddingText(const GroupChange& change) {
  return {change.group_id, "replicate new members of", "being enabled",
          "replicated"};
}

GroupText RemovingText(const GroupChange& change) {
  return {change.group_id, "end the replication of members that leave",
          "being disabled", "not replicated any more"};
}

absl::Status ProbeOnly(GroupRun& run) {
  ADDONS_RETURN_IF_ERROR(run.Probe());
  const Members members = run.members();
  return AnyFailed(members) ? run.Failure(GroupCode(members))
                            : absl::OkStatus();
}

}  // namespace

absl::Status CheckGroupChange(OperationContext& context,
                              ReplicationEnvironment& environment,
                              const GroupChange& change) {
  ADDONS_ASSIGN_OR_RETURN(const std::optional<ReplicationParameters> wanted,
                          FindOut(context, environment, change));
  if (!wanted.has_value()) return absl::OkStatus();
  {
    const GroupTarget added = Some(change, change.added);
    GroupRun run(context, environment.options, added, AddingText(change),
                 Adding(environment, *wanted));
    ADDONS_RETURN_IF_ERROR(ProbeOnly(run));
  }
  const GroupTarget removed = Some(change, change.removed);
  GroupRun run(context, environment.options, removed, RemovingText(change),
               Removing(environment));
  return ProbeOnly(run);
}

absl::Status EnableAdded(OperationContext& context,
                         ReplicationEnvironment& environment,
                         const GroupChange& change) {
  if (change.added.empty()) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const std::optional<ReplicationParameters> wanted,
                          FindOut(context, environment, change));
  if (!wanted.has_value()) return absl::OkStatus();
  Log().info("replicating new members of volume group={} volumes={}",
             Quoted(change.group_id), change.added.size());
  const GroupTarget added = Some(change, change.added);
  GroupRun run(context, environment.options, added, AddingText(change),
               Adding(environment, *wanted));
  return RunAllOrNone(run);
}

absl::Status DisableRemoved(OperationContext& context,
                            ReplicationEnvironment& environment,
                            const GroupChange& change) {
  if (change.removed.empty()) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const std::optional<ReplicationParameters> wanted,
                          FindOut(context, environment, change));
  if (!wanted.has_value()) return absl::OkStatus();
  Log().info(
      "ending the replication of members that leave volume group={} "
      "volumes={}",
      Quoted(change.group_id), change.removed.size());
  const GroupTarget removed = Some(change, change.removed);
  GroupRun run(context, environment.options, removed, RemovingText(change),
               Removing(environment));
  return RunAllOrNone(run);
}

}  // namespace addons
