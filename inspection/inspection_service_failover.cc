#include "inspection/inspection_service_failover.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

admin_pb::Forecast::Verdict VerdictOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWorks:
      return admin_pb::Forecast::WORKS;
    case Verdict::kWaits:
      return admin_pb::Forecast::WAITS;
    case Verdict::kRefuses:
      return admin_pb::Forecast::REFUSES;
    case Verdict::kUnclear:
      break;
  }
  return admin_pb::Forecast::UNCLEAR;
}

uint64_t Count(std::chrono::seconds time) {
  return static_cast<uint64_t>(std::max<int64_t>(time.count(), 0));
}

void Fill(const WaitClock& clock, admin_pb::Forecast* filled) {
  if (clock.report_age.has_value()) {
    filled->set_report_age_seconds(Count(*clock.report_age));
  }
  if (!clock.over_in.has_value()) return;
  filled->set_seen_seconds(Count(clock.seen_for));
  filled->set_needed_seconds(Count(clock.needed));
  if (clock.force == Force::kNo) {
    filled->set_forcible_seconds(Count(*clock.over_in));
  }
}

/// Of a volume or a group.
template <typename Of, typename Filled>
void FillEstimates(const Of& forecast, Filled* filled) {
  if (forecast.lost_bytes_about.has_value()) {
    filled->set_lost_bytes_about(*forecast.lost_bytes_about);
  }
  if (forecast.bytes_to_come.has_value()) {
    filled->set_bytes_to_come(*forecast.bytes_to_come);
  }
  if (forecast.planned_seconds.has_value()) {
    filled->set_planned_seconds(*forecast.planned_seconds);
  }
}

void Fill(const GroupForecast& forecast,
          admin_pb::GroupFailoverFinding* filled) {
  filled->set_group_id(forecast.group_id);
  filled->set_name(CleanLine(forecast.name, kMaxTextBytes));
  filled->set_members(static_cast<uint32_t>(forecast.members));
  FillForecast(forecast.planned, "promote", Force::kNo,
               filled->mutable_planned());
  FillForecast(forecast.forced, "promote", Force::kYes,
               filled->mutable_forced());
  if (forecast.lost_bytes.has_value()) {
    filled->set_lost_bytes(*forecast.lost_bytes);
  }
  FillEstimates(forecast, filled);
}

bool Works(const Forecast& forecast) {
  return forecast.verdict == Verdict::kWorks;
}

/// 0: it works in no way; the more, the less a person has to do about it.
int Rank(const FailoverFinding& finding) {
  return (Works(finding.forecast.forced) ? 1 : 0) +
         (Works(finding.forecast.planned) ? 2 : 0);
}

void Fill(std::vector<FailoverFinding> findings, size_t most,
          admin_pb::CheckFailoverResponse* response) {
  uint32_t planned = 0;
  uint32_t forced = 0;
  uint32_t neither = 0;
  uint32_t unclear = 0;
  uint32_t without_entry = 0;
  for (const FailoverFinding& finding : findings) {
    const PromoteForecast& forecast = finding.forecast;
    without_entry += finding.without_entry ? 1 : 0;
    planned += Works(forecast.planned) ? 1 : 0;
    forced += Works(forecast.forced) ? 1 : 0;
    if (Rank(finding) > 0) continue;
    ++neither;
    unclear += forecast.planned.verdict == Verdict::kUnclear ||
                       forecast.forced.verdict == Verdict::kUnclear
                   ? 1
                   : 0;
  }
  const auto volumes = static_cast<uint32_t>(findings.size());
  response->set_volumes(volumes);
  response->set_planned(planned);
  response->set_forced(forced);
  response->set_either(volumes - neither);
  response->set_neither(neither);
  response->set_unclear(unclear);
  response->set_without_entry(without_entry);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const FailoverFinding& a, const FailoverFinding& b) {
                     return Rank(a) < Rank(b);
                   });
  for (const FailoverFinding& finding : findings) {
    if (static_cast<size_t>(response->findings_size()) == most) {
      response->set_more(true);
      break;
    }
    FillFinding(finding, response->add_findings());
  }
}

}  // namespace

void FillForecast(const Forecast& forecast, const std::string& verb,
                  Force force, admin_pb::Forecast* filled) {
  filled->set_verb(verb);
  filled->set_force(force == Force::kYes);
  filled->set_verdict(VerdictOf(forecast.verdict));
  filled->set_code(absl::StatusCodeToString(forecast.code));
  // It may repeat what rbd-mirror wrote; see also GetVolumeReplicationInfo.
  filled->set_reason(CleanLine(forecast.reason, kMaxTextBytes));
  filled->set_row(forecast.row);
  if (forecast.clock.has_value()) Fill(*forecast.clock, filled);
  filled->set_clock(CleanLine(forecast.clock_text, kMaxTextBytes));
}

void FillFinding(const FailoverFinding& finding,
                 admin_pb::FailoverFinding* filled) {
  const PromoteForecast& forecast = finding.forecast;
  filled->set_volume_id(finding.volume_id);
  filled->set_group_id(finding.group_id);
  filled->set_cluster_id(finding.cluster_id.text());
  filled->set_image(finding.image);
  filled->set_claim(CleanLine(finding.claim, kMaxTextBytes));
  filled->set_volume_name(CleanLine(finding.volume_name, kMaxTextBytes));
  filled->set_proof(CleanLine(finding.proof, kMaxTextBytes));
  filled->set_role(finding.role);
  filled->set_primary_elsewhere(
      CleanLine(finding.primary_elsewhere, kMaxTextBytes));
  filled->set_others_report(finding.others_report);
  filled->set_split_brain(finding.split_brain);
  FillForecast(forecast.planned, "promote", Force::kNo,
               filled->mutable_planned());
  FillForecast(forecast.forced, "promote", Force::kYes,
               filled->mutable_forced());
  filled->set_returns_to(forecast.returns_to);
  if (forecast.returns_to_time.has_value()) {
    filled->set_returns_to_time(*forecast.returns_to_time);
  }
  if (forecast.lost_bytes.has_value()) {
    filled->set_lost_bytes(*forecast.lost_bytes);
  }
  FillEstimates(forecast, filled);
}

void FillFindings(FailoverFindings found, size_t most,
                  admin_pb::CheckFailoverResponse* response) {
  Fill(std::move(found.volumes), most, response);
  for (const GroupForecast& group : found.groups) {
    Fill(group, response->add_groups());
  }
  for (const std::string& unseen : found.unseen) {
    response->add_unseen(CleanLine(unseen, kMaxTextBytes));
  }
}

}  // namespace addons
