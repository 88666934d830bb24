#include "replication/group/promote.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "replication/group/group_run.h"
#include "replication/group/point_name.h"
#include "replication/group/rbd_group.h"
#include "replication/steps/mirror_schedule.h"
#include "replication/steps/promote.h"

namespace addons {
namespace {

/// What stays when the promotion is run again.
struct PromoteMemory {
  bool begun = false;
  std::optional<SteadyTime> answer_by;
};

/// FAILED_PRECONDITION would make the operator promote by force the members
/// that are left, although only the retry tells whether that is right.
absl::Status UnfinishedPlan(GroupRun& run) {
  const absl::StatusCode code = GroupCode(run.members());
  return run.Failure(code == absl::StatusCode::kFailedPrecondition
                         ? absl::StatusCode::kUnavailable
                         : code);
}

absl::Status PromotePlanned(GroupRun& run) {
  ADDONS_RETURN_IF_ERROR(run.Probe());
  if (const GroupMembers members = run.members(); AnyFailed(members)) {
    absl::Status failure = run.Failure(PromoteGroupCode(members));
    if (!absl::IsFailedPrecondition(failure)) return failure;
    return Annotate(failure,
                    "forcing promotes each member to its own last snapshot, "
                    "the members are then only individually crash-consistent");
  }
  ADDONS_RETURN_IF_ERROR(run.RunReady());
  return AnyFailed(run.members()) ? UnfinishedPlan(run) : absl::OkStatus();
}

/// Each member is primary and holds the point, or it is not OK. None becomes
/// primary where one cannot go back to it.
absl::Status PromoteToPoint(GroupRun& run) {
  ADDONS_RETURN_IF_ERROR(run.Probe());
  if (const GroupMembers members = run.members(); AnyFailed(members)) {
    return run.Failure(PromoteGroupCode(members));
  }
  ADDONS_RETURN_IF_ERROR(run.RunReady());
  return AnyFailed(run.members()) ? UnfinishedPlan(run) : absl::OkStatus();
}

absl::Status PromoteByForce(GroupRun& run) {
  ADDONS_RETURN_IF_ERROR(run.RunAll());
  const GroupMembers members = run.members();
  Log().warn(
      "volume group promoted by force: its members are only individually "
      "crash-consistent group={} members={}",
      Quoted(run.text().group_id.text()),
      Quoted(CountMembers(run.text(), members)));
  if (!AnyFailed(members)) return absl::OkStatus();
  const bool none_done = std::all_of(
      members.begin(), members.end(), [](const GroupMember& member) {
        return member.state == MemberState::kFailed;
      });
  return none_done ? run.Failure(PromoteGroupCode(members))
                   : UnfinishedPlan(run);
}

absl::Status PromoteMembers(OperationContext& context,
                            ReplicationEnvironment& environment,
                            const GroupTarget& target, Force force,
                            const ReplicationParameters& parameters) {
  auto& memory = context.memory().Of<PromoteMemory>();
  if (!std::exchange(memory.begun, true) && force == Force::kNo &&
      environment.series.IsFirstCall(target.group_id.text())) {
    memory.answer_by = context.clock().Now() + environment.options.first_answer;
  }
  std::atomic<size_t> without_schedule = 0;
  GroupRun run(
      context, environment.options, target,
      {target.group_id, force == Force::kYes ? "promote by force" : "promote",
       "being promoted", "primary"},
      [&](OperationContext& member, const VolumeTarget& volume) {
        const absl::Status promoted =
            Promote(member, environment,
                    {volume, force, parameters, VerbScope::kGroupMember,
                     memory.answer_by});
        // Of a member that is looked at again it is counted once.
        without_schedule += std::exchange(
            member.memory().Of<PromotionNotes>().without_schedule, 0);
        return promoted;
      },
      // The clocks of the promote table want to be asked once a minute, too.
      GroupRun::Ended::kLookedAtAgain);
  const bool to_point = !parameters.restore_point.empty();
  absl::Status status = force == Force::kNo ? PromotePlanned(run)
                        : to_point          ? PromoteToPoint(run)
                                            : PromoteByForce(run);
  context.memory().Of<PromotionNotes>().without_schedule += without_schedule;
  if (status.ok()) environment.series.EndCalls(target.group_id.text());
  return status;
}

/// A point of several instants is none of a group.
absl::Status CheckPoint(const GroupTarget& target, const std::string& point) {
  if (point.empty()) return absl::OkStatus();
  const auto name = ParseGroupPointName(point);
  if (name.has_value() && name->members == target.members.size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "parameter 'restorePoint' ('", point, "') is ",
      name.has_value()
          ? absl::StrCat("of a group of ", name->members, " volumes, and '",
                         target.group_id.text(), "' has ",
                         target.members.size())
          : std::string("of one volume, and a group goes back to points of one "
                        "instant alone"),
      "; `rbd-addons point list --group` shows those that each member has"));
}

}  // namespace

absl::Status NoMembersToPromote(const GroupHandle& group_id) {
  return absl::UnavailableError(absl::StrCat(
      "Failed to promote volume group '", group_id.text(),
      "': the journal of this site lists no members (yet); ceph-csi's "
      "controller, CreateVolumeGroup or ModifyVolumeGroupMembership on this "
      "site writes them"));
}

absl::Status PromoteGroup(OperationContext& context,
                          ReplicationEnvironment& environment,
                          const GroupTarget& target, Force force,
                          const ReplicationParameters& parameters) {
  if (target.members.empty()) return NoMembersToPromote(target.group_id);
  ADDONS_RETURN_IF_ERROR(CheckPoint(target, parameters.restore_point));
  ADDONS_RETURN_IF_ERROR(
      PromoteMembers(context, environment, target, force, parameters));
  return JoinRbdGroup(context, environment, target);
}

}  // namespace addons
