#include "replication/group/info.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/parallel.h"
#include "replication/group/member_status.h"

namespace addons {
namespace {

using MemberInfo = absl::StatusOr<ReplicationInfo>;

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
  GroupMembers members;
  for (size_t i = 0; i < infos.size(); ++i) {
    members.push_back({target.members[i], MemberState::kFailed,
                       infos[i].status(), SteadyTime()});
  }
  return absl::Status(
      same ? code : GroupCode(members),
      DescribeFailure({target.group_id, "read the replication of", "", ""},
                      members));
}

/// Whether the sum is not known yet either: the operator would not ask for it
/// again soon. What is wrong already is told at once.
bool AwaitsReports(const std::vector<MemberInfo>& infos) {
  const auto wrong = [](const MemberInfo& info) {
    return info.ok() ? info->health == ReplicationHealth::kError
                     : absl::IsFailedPrecondition(info.status());
  };
  return std::none_of(infos.begin(), infos.end(), wrong) &&
         std::any_of(infos.begin(), infos.end(), [](const MemberInfo& info) {
           return IsNotKnownYet(info.status());
         });
}

/// "'a' (why), 'b' (why), 'c' (why) and 2 more".
std::string NameSome(const GroupTarget& target,
                     const std::vector<size_t>& members,
                     const std::function<std::string(size_t)>& why) {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(members.size(), kNamedMembers); ++i) {
    const std::string reason = why ? why(members[i]) : "";
    names.push_back(
        absl::StrCat("'", target.members[members[i]].text(), "'",
                     reason.empty() ? "" : absl::StrCat(" (", reason, ")")));
  }
  return absl::StrCat(
      absl::StrJoin(names, ", "),
      members.size() > kNamedMembers
          ? absl::StrCat(" and ", members.size() - kNamedMembers, " more")
          : "");
}

/// The numbers are those of the member that is furthest behind among those
/// whose numbers are known. Returns what is to be said about the others.
std::string TakeOldest(const GroupTarget& target,
                       const std::vector<ReplicationInfo>& infos,
                       ReplicationInfo& sum) {
  std::optional<size_t> oldest;
  std::vector<size_t> unknown;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (!infos[i].last_sync_time.has_value()) {
      unknown.push_back(i);
    } else if (!oldest.has_value() ||
               *infos[i].last_sync_time < *infos[*oldest].last_sync_time) {
      oldest = i;
    }
  }
  if (!oldest.has_value()) return "; no member has numbers";
  sum.last_sync_time = infos[*oldest].last_sync_time;
  sum.last_sync_seconds = infos[*oldest].last_sync_seconds;
  sum.last_sync_bytes = infos[*oldest].last_sync_bytes;
  if (unknown.empty()) return "";
  return absl::StrCat("; the numbers are those of '",
                      target.members[*oldest].text(),
                      "', the oldest that are known; ", unknown.size(),
                      " without numbers: ", NameSome(target, unknown, nullptr));
}

absl::Status NotKnownYet(const GroupTarget& target,
                         const std::vector<MemberInfo>& infos) {
  std::vector<size_t> waiting;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (IsNotKnownYet(infos[i].status())) waiting.push_back(i);
  }
  return absl::UnavailableError(absl::StrCat(
      "the replication of group '", target.group_id.text(),
      "' is not known yet, because that of ", waiting.size(), " of ",
      infos.size(),
      " members is not: ", NameSome(target, waiting, [&infos](size_t member) {
        return ClipText(infos[member].status().message(), kLongestText);
      })));
}

ReplicationInfo Sum(const GroupTarget& target,
                    const std::vector<ReplicationInfo>& infos) {
  ReplicationInfo sum;
  std::map<ReplicationHealth, std::vector<size_t>, std::greater<>> by_health;
  for (size_t i = 0; i < infos.size(); ++i) {
    sum.health = std::max(sum.health, infos[i].health);
    sum.upkeep.insert(sum.upkeep.end(), infos[i].upkeep.begin(),
                      infos[i].upkeep.end());
    by_health[infos[i].health].push_back(i);
  }
  const std::string numbers = TakeOldest(target, infos, sum);
  std::vector<std::string> classes;
  classes.reserve(by_health.size());
  for (const auto& [health, list] : by_health) {
    classes.push_back(
        absl::StrCat(list.size(), " ", NameOf(health), ": ",
                     NameSome(target, list, [&infos](size_t member) {
                       return ClipText(infos[member].message, kLongestText);
                     })));
  }
  sum.message = absl::StrCat(infos.size(), " members; ",
                             absl::StrJoin(classes, "; "), numbers,
                             "; after a failover by force the members are only "
                             "individually crash-consistent");
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
        answers[i] =
            GetReplicationInfo(environment, target.Member(i), deadline);
      });
  const bool any_ok =
      std::any_of(answers.begin(), answers.end(),
                  [](const MemberInfo& answer) { return answer.ok(); });
  if (!any_ok) return AllFailed(target, answers);
  if (AwaitsReports(answers)) return NotKnownYet(target, answers);
  std::vector<ReplicationInfo> infos;
  infos.reserve(answers.size());
  for (MemberInfo& answer : answers) {
    infos.push_back(answer.ok() ? *std::move(answer) : InfoOf(answer.status()));
  }
  return Sum(target, infos);
}

}  // namespace addons
