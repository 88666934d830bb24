#include "replication/inspection/group_forecast.h"

#include <algorithm>
#include <utility>

#include "replication/group/member_status.h"
#include "replication/group/promote.h"

namespace addons {
namespace {

/// As a group verb would have it in the end.
GroupMember InTheEnd(const MemberForecast& member, const Forecast& forecast) {
  GroupMember result;
  result.volume_id = member.volume_id;
  switch (forecast.verdict) {
    case Verdict::kWorks:
      result.state = member.primary ? MemberState::kDone : MemberState::kReady;
      return result;
    case Verdict::kWaits:
      result.state = MemberState::kWaiting;
      break;
    case Verdict::kRefuses:
    case Verdict::kUnclear:
      result.state = MemberState::kFailed;
      break;
  }
  result.status = absl::Status(forecast.code, forecast.reason);
  return result;
}

Forecast Combine(const GroupText& text,
                 const std::vector<MemberForecast>& members,
                 Forecast PromoteForecast::*which) {
  Forecast combined{Verdict::kWorks, absl::StatusCode::kOk, ""};
  GroupMembers shown;
  for (const MemberForecast& member : members) {
    const Forecast& forecast = member.forecast.*which;
    combined.verdict = std::max(combined.verdict, forecast.verdict);
    shown.push_back(InTheEnd(member, forecast));
  }
  if (combined.verdict == Verdict::kWorks) {
    combined.reason = CountMembers(text, shown);
    return combined;
  }
  combined.code = PromoteGroupCode(shown);
  combined.reason = DescribeFailure(text, shown);
  return combined;
}

/// A forced promotion of a group promotes what it can, and then no code says
/// any more that nothing was done.
absl::StatusCode CodeAfterSome(const std::vector<MemberForecast>& members,
                               absl::StatusCode code) {
  const bool some = std::any_of(
      members.begin(), members.end(), [](const MemberForecast& member) {
        return member.forecast.forced.verdict == Verdict::kWorks;
      });
  return some && code == absl::StatusCode::kFailedPrecondition
             ? absl::StatusCode::kUnavailable
             : code;
}

}  // namespace

GroupForecast ForecastGroup(const GroupHandle& group_id,
                            const std::vector<MemberForecast>& members) {
  if (members.empty()) {
    GroupForecast forecast = UnseenGroup(group_id, NoMembers(group_id));
    forecast.planned.verdict = Verdict::kWaits;
    forecast.forced.verdict = Verdict::kWaits;
    return forecast;
  }
  GroupForecast forecast;
  forecast.group_id = group_id.text();
  forecast.members = members.size();
  forecast.planned = Combine({group_id, "promote", "being promoted", "primary"},
                             members, &PromoteForecast::planned);
  forecast.forced =
      Combine({group_id, "promote by force", "being promoted", "primary"},
              members, &PromoteForecast::forced);
  forecast.forced.code = CodeAfterSome(members, forecast.forced.code);
  uint64_t lost = 0;
  for (const MemberForecast& member : members) {
    if (!member.forecast.lost_bytes.has_value()) return forecast;
    lost += *member.forecast.lost_bytes;
  }
  forecast.lost_bytes = lost;
  return forecast;
}

GroupForecast UnseenGroup(const GroupHandle& group_id,
                          const absl::Status& status) {
  GroupForecast forecast;
  forecast.group_id = group_id.text();
  forecast.planned = NotSeen(status);
  forecast.forced = forecast.planned;
  return forecast;
}

}  // namespace addons
