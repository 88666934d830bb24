#include "replication/group_info.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/parallel.h"
#include "replication/group_answer.h"

namespace addons {
namespace {

using MemberInfo = absl::StatusOr<ReplicationInfo>;

constexpr size_t kNamed = 3;
constexpr size_t kLongestText = 300;

/// What is said about a member that cannot tell.
ReplicationInfo InfoOf(const absl::Status& status) {
  ReplicationInfo info;
  info.health = absl::IsFailedPrecondition(status)
                    ? ReplicationHealth::kError
                    : ReplicationHealth::kDegraded;
  info.message = std::string(status.message());
  return info;
}

const char* NameOf(ReplicationHealth health) {
  switch (health) {
    case ReplicationHealth::kHealthy:
      return "healthy";
    case ReplicationHealth::kDegraded:
      return "degraded";
    case ReplicationHealth::kError:
      break;
  }
  return "in error";
}

/// All members failed in the same way, or in several.
absl::Status AllFailed(const GroupTarget& target,
                       const std::vector<MemberInfo>& infos) {
  const absl::StatusCode code = infos.front().status().code();
  const bool same = std::all_of(
      infos.begin(), infos.end(),
      [&](const MemberInfo& info) { return info.status().code() == code; });
  Members members;
  for (size_t i = 0; i < infos.size(); ++i) {
    members.push_back({target.members[i], MemberState::kFailed,
                       infos[i].status(), SteadyTime()});
  }
  return absl::Status(
      same ? code : GroupCode(members),
      DescribeFailure({target.group_id, "read the replication of", "", ""},
                      members));
}

ReplicationInfo Sum(const GroupTarget& target,
                    const std::vector<ReplicationInfo>& infos) {
  ReplicationInfo sum;
  bool all_known = true;
  const ReplicationInfo* oldest = nullptr;
  std::map<ReplicationHealth, std::vector<size_t>, std::greater<>> by_health;
  for (size_t i = 0; i < infos.size(); ++i) {
    sum.health = std::max(sum.health, infos[i].health);
    by_health[infos[i].health].push_back(i);
    all_known &= infos[i].last_sync_time.has_value();
    if (infos[i].last_sync_time.has_value() &&
        (oldest == nullptr ||
         *infos[i].last_sync_time < *oldest->last_sync_time)) {
      oldest = &infos[i];
    }
  }
  if (all_known && oldest != nullptr) {
    sum.last_sync_time = oldest->last_sync_time;
    sum.last_sync_seconds = oldest->last_sync_seconds;
    sum.last_sync_bytes = oldest->last_sync_bytes;
  }
  std::vector<std::string> classes;
  for (const auto& [health, list] : by_health) {
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(list.size(), kNamed); ++i) {
      names.push_back(
          absl::StrCat("'", target.members[list[i]], "' (",
                       ClipText(infos[list[i]].message, kLongestText), ")"));
    }
    classes.push_back(absl::StrCat(
        list.size(), " ", NameOf(health), ": ", absl::StrJoin(names, ", "),
        list.size() > kNamed
            ? absl::StrCat(" and ", list.size() - kNamed, " more")
            : ""));
  }
  sum.message = absl::StrCat(
      infos.size(), " members; ", absl::StrJoin(classes, "; "),
      all_known ? "" : "; not all members have numbers, so none are given",
      "; after a failover by force they are consistent only each for itself");
  return sum;
}

}  // namespace

absl::StatusOr<ReplicationInfo> GetGroupReplicationInfo(
    ReplicationEnvironment& environment, const GroupTarget& target,
    SteadyTime deadline) {
  if (target.members.empty()) {
    ReplicationInfo info;
    info.health = ReplicationHealth::kDegraded;
    info.message = "the group has no members, so nothing is replicated";
    return info;
  }
  std::vector<MemberInfo> answers(target.members.size(),
                                  absl::UnknownError("not asked"));
  RunParallel(
      answers.size(), environment.options.group_members_at_once, [&](size_t i) {
        if (RealClock().Now() >= deadline) {
          answers[i] =
              absl::UnavailableError("there was no time left to look at it");
          return;
        }
        answers[i] = GetReplicationInfo(
            environment, {target.members[i], target.user.Clone()}, deadline);
      });
  const bool any_ok =
      std::any_of(answers.begin(), answers.end(),
                  [](const MemberInfo& answer) { return answer.ok(); });
  if (!any_ok) return AllFailed(target, answers);
  std::vector<ReplicationInfo> infos;
  infos.reserve(answers.size());
  for (MemberInfo& answer : answers) {
    infos.push_back(answer.ok() ? *std::move(answer) : InfoOf(answer.status()));
  }
  return Sum(target, infos);
}

}  // namespace addons
