#include "inspection/group_forecast.h"

#include <algorithm>

#include "replication/group/promote.h"

namespace addons {
namespace {

/// As a group verb would have it in the end; `done`: there is nothing to do.
GroupMember InTheEnd(const VolumeHandle& volume_id, bool done,
                     const Forecast& forecast) {
  GroupMember result;
  result.volume_id = volume_id;
  switch (forecast.verdict) {
    case Verdict::kWorks:
      result.state = done ? MemberState::kDone : MemberState::kReady;
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

/// `code_of` is for when not all of them work.
Forecast Combine(const GroupText& text, const GroupMembers& members,
                 Verdict worst,
                 absl::StatusCode (*code_of)(const GroupMembers&)) {
  if (worst == Verdict::kWorks) {
    return {worst, absl::StatusCode::kOk, CountMembers(text, members)};
  }
  return {worst, code_of(members), DescribeFailure(text, members)};
}

/// Whose wait ends later; one that is not seen to end is the last.
bool EndsLater(const WaitClock& a, const WaitClock& b) {
  return b.over_in.has_value() &&
         (!a.over_in.has_value() || *a.over_in > *b.over_in);
}

Forecast CombinePromotions(const GroupText& text,
                           const std::vector<MemberForecast>& members,
                           Forecast PromoteForecast::*which) {
  Verdict worst = Verdict::kWorks;
  GroupMembers shown;
  const Forecast* last = nullptr;
  for (const MemberForecast& member : members) {
    const Forecast& forecast = member.forecast.*which;
    worst = std::max(worst, forecast.verdict);
    shown.push_back(InTheEnd(member.volume_id, member.primary, forecast));
    if (!forecast.clock.has_value()) continue;
    if (last == nullptr || EndsLater(*forecast.clock, *last->clock)) {
      last = &forecast;
    }
  }
  Forecast combined = Combine(text, shown, worst, PromoteGroupCode);
  if (worst == Verdict::kWaits && last != nullptr) {
    combined.clock = last->clock;
    combined.clock_text = last->clock_text;
  }
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

using Known = std::optional<uint64_t>;

/// What is not known of one is not known of both.
Known Sum(Known a, Known b) {
  return a.has_value() && b.has_value() ? Known(*a + *b) : std::nullopt;
}
Known Longer(Known a, Known b) {
  return a.has_value() && b.has_value() ? Known(std::max(*a, *b))
                                        : std::nullopt;
}

void AddCost(const std::vector<MemberForecast>& members,
             GroupForecast* forecast) {
  Known lost = 0;
  Known about = 0;
  Known to_come = 0;
  Known seconds = 0;
  for (const MemberForecast& member : members) {
    const PromoteForecast& of = member.forecast;
    lost = Sum(lost, of.lost_bytes);
    about = Sum(
        about, of.lost_bytes.has_value() ? of.lost_bytes : of.lost_bytes_about);
    to_come = Sum(to_come, of.bytes_to_come);
    seconds = Longer(seconds, of.planned_seconds);
  }
  forecast->lost_bytes = lost;
  if (!lost.has_value()) forecast->lost_bytes_about = about;
  forecast->bytes_to_come = to_come;
  forecast->planned_seconds = seconds;
}

}  // namespace

GroupForecast ForecastGroup(const GroupHandle& group_id,
                            const std::vector<MemberForecast>& members) {
  if (members.empty()) {
    GroupForecast forecast =
        UnseenGroup(group_id, NoMembersToPromote(group_id));
    forecast.planned.verdict = Verdict::kWaits;
    forecast.forced.verdict = Verdict::kWaits;
    return forecast;
  }
  GroupForecast forecast;
  forecast.group_id = group_id.text();
  forecast.members = members.size();
  forecast.planned =
      CombinePromotions({group_id, "promote", "being promoted", "primary"},
                        members, &PromoteForecast::planned);
  forecast.forced = CombinePromotions(
      {group_id, "promote by force", "being promoted", "primary"}, members,
      &PromoteForecast::forced);
  forecast.forced.code = CodeAfterSome(members, forecast.forced.code);
  AddCost(members, &forecast);
  return forecast;
}

Forecast ForecastAllOrNone(const GroupText& text,
                           const std::vector<MemberVerbForecast>& members) {
  Verdict worst = Verdict::kWorks;
  bool all_ok = true;
  GroupMembers shown;
  for (const MemberVerbForecast& member : members) {
    worst = std::max(worst, member.forecast.verdict);
    all_ok = all_ok && member.forecast.code == absl::StatusCode::kOk;
    shown.push_back(InTheEnd(member.volume_id, false, member.forecast));
  }
  // A resync that is not ready yet.
  if (all_ok) return {worst, absl::StatusCode::kOk, CountMembers(text, shown)};
  return Combine(text, shown, worst, GroupCode);
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
