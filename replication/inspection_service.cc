#include "replication/inspection_service.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operation/run_operation.h"
#include "replication/inspection/explain.h"
#include "replication/inspection/failover_check.h"
#include "replication/inspection/forecast.h"
#include "replication/inspection/named_pool.h"
#include "replication/parameters.h"
#include "rpc/parameters.h"
#include "rpc/secrets.h"
#include "rpc/text.h"
#include "rpc/validate.h"
#include "volume/credentials.h"

namespace addons {
namespace {

namespace pb = ::rbdaddons::admin::v1;

using Findings = std::vector<FailoverFinding>;

// So an answer stays below the 4 MiB that gRPC takes.
constexpr size_t kMostFindings = 2000;

/// What is asked: volumes, or a pool.
struct CheckRequest {
  std::vector<VolumeTarget> volumes;
  NamedPool pool;
  std::optional<std::chrono::minutes> interval;
};

pb::Forecast::Verdict VerdictOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWorks:
      return pb::Forecast::WORKS;
    case Verdict::kWaits:
      return pb::Forecast::WAITS;
    case Verdict::kRefuses:
      return pb::Forecast::REFUSES;
    case Verdict::kUnclear:
      break;
  }
  return pb::Forecast::UNCLEAR;
}

void Fill(const Forecast& forecast, const std::string& verb, Force force,
          pb::Forecast* filled) {
  filled->set_verb(verb);
  filled->set_force(force == Force::kYes);
  filled->set_verdict(VerdictOf(forecast.verdict));
  filled->set_code(absl::StatusCodeToString(forecast.code));
  // It may repeat what rbd-mirror wrote; see also GetVolumeReplicationInfo.
  filled->set_reason(CleanLine(forecast.reason, kMaxTextBytes));
}

void Fill(const FailoverFinding& finding, pb::FailoverFinding* filled) {
  const PromoteForecast& forecast = finding.forecast;
  filled->set_volume_id(finding.volume_id);
  filled->set_image(finding.image);
  filled->set_role(finding.role);
  Fill(forecast.planned, "promote", Force::kNo, filled->mutable_planned());
  Fill(forecast.forced, "promote", Force::kYes, filled->mutable_forced());
  filled->set_returns_to(forecast.returns_to);
  if (forecast.returns_to_time.has_value()) {
    filled->set_returns_to_time(*forecast.returns_to_time);
  }
  if (forecast.lost_bytes.has_value()) {
    filled->set_lost_bytes(*forecast.lost_bytes);
  }
}

bool Works(const Forecast& forecast) {
  return forecast.verdict == Verdict::kWorks;
}

/// 0: it works in no way; the more, the less a person has to do about it.
int Rank(const FailoverFinding& finding) {
  return (Works(finding.forecast.forced) ? 1 : 0) +
         (Works(finding.forecast.planned) ? 2 : 0);
}

void Fill(Findings findings, pb::CheckFailoverResponse* response) {
  uint32_t planned = 0;
  uint32_t forced = 0;
  uint32_t neither = 0;
  uint32_t unclear = 0;
  for (const FailoverFinding& finding : findings) {
    const PromoteForecast& forecast = finding.forecast;
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
  std::stable_sort(findings.begin(), findings.end(),
                   [](const FailoverFinding& a, const FailoverFinding& b) {
                     return Rank(a) < Rank(b);
                   });
  for (const FailoverFinding& finding : findings) {
    if (static_cast<size_t>(response->findings_size()) == kMostFindings) {
      response->set_more(true);
      break;
    }
    Fill(finding, response->add_findings());
  }
}

using Parameters = google::protobuf::Map<std::string, std::string>;

/// How often the primary takes mirror snapshots, if the caller says so.
absl::StatusOr<std::optional<std::chrono::minutes>> IntervalOf(
    const Parameters& parameters) {
  ADDONS_ASSIGN_OR_RETURN(
      const ReplicationParameters parsed,
      ReplicationParameters::Parse(TakeParameters(parameters)));
  if (!parsed.schedule.has_value()) return std::nullopt;
  return parsed.schedule->interval;
}

absl::StatusOr<CheckRequest> Parse(const pb::CheckFailoverRequest& request) {
  if (request.volume_ids().empty() == request.pool().empty()) {
    return InvalidField("volume_ids", request.pool().empty()
                                          ? "is missing, and so is pool"
                                          : "and pool exclude each other");
  }
  CheckRequest check;
  ADDONS_ASSIGN_OR_RETURN(check.interval, IntervalOf(request.parameters()));
  ADDONS_ASSIGN_OR_RETURN(check.pool.user,
                          UserFromSecrets(TakeSecrets(request.secrets())));
  check.pool.cluster_id = ClusterId(request.cluster_id());
  check.pool.pool = request.pool();
  for (const std::string& id : request.volume_ids()) {
    VolumeHandle volume_id(id);
    ADDONS_RETURN_IF_ERROR(volume_id.id().status());
    check.volumes.push_back({std::move(volume_id), check.pool.user});
  }
  return check;
}

/// One question of this user, which reads.
void MakeQuestion(const CephUser& user, const Parameters& parameters,
                  const std::vector<std::string>& objects,
                  OperationSpec* spec) {
  spec->parameters =
      CallFingerprint(spec->verb, user, TakeParameters(parameters), objects);
  MakeRead(spec);
}

OperationSpec SpecOf(const CheckRequest& check,
                     const pb::CheckFailoverRequest& request) {
  OperationSpec spec;
  spec.verb = "check failover";
  spec.action = "check the failover of";
  std::vector<std::string> objects;
  if (check.volumes.empty()) {
    spec.share = WorkerShare::OfCluster(check.pool.cluster_id);
    spec.object = Describe(check.pool);
    objects = {spec.object};
  } else {
    const VolumeHandle& first = check.volumes.front().volume_id;
    spec.share = WorkerShare::OfCluster(first.id()->cluster_id);
    spec.object =
        check.volumes.size() == 1
            ? absl::StrCat("volume '", first.text(), "'")
            : absl::StrCat(check.volumes.size(), " volumes, of which '",
                           first.text(), "' is the first");
    for (const VolumeTarget& target : check.volumes) {
      objects.push_back(target.volume_id.text());
    }
  }
  MakeQuestion(*check.pool.user, request.parameters(), objects, &spec);
  return spec;
}

/// What runs on the volume in this daemon, but for questions like this one.
void AddOperations(const OperationTable& operations,
                   const std::string& volume_id,
                   pb::ExplainVolumeResponse* response) {
  for (const OperationInfo& info : operations.List()) {
    if (info.lane == Lane::kRead ||
        info.object != absl::StrCat("volume '", volume_id, "'")) {
      continue;
    }
    pb::Fact& fact = *response->add_facts();
    fact.set_topic("daemons");
    fact.set_name(absl::StrCat("operation ", info.id));
    fact.set_value(absl::StrCat(
        info.verb, info.running ? ", " : ", queued ", info.step, ", for ",
        std::chrono::duration_cast<std::chrono::seconds>(info.age).count(),
        " s, request ", info.request_id));
  }
}

void Fill(const Explanation& explained, pb::ExplainVolumeResponse* response) {
  for (const Fact& fact : explained.facts) {
    pb::Fact& filled = *response->add_facts();
    filled.set_topic(fact.topic);
    filled.set_name(fact.name);
    filled.set_value(CleanLine(fact.value, kMaxTextBytes));
  }
  for (const std::string& unseen : explained.unseen) {
    response->add_unseen(CleanLine(unseen, kMaxTextBytes));
  }
  for (const VerbForecast& verb : explained.forecasts) {
    Fill(verb.forecast, verb.verb, verb.force, response->add_forecasts());
  }
}

}  // namespace

InspectionService::InspectionService(Rpc& rpc, OperationTable& operations,
                                     ConfigStore& config,
                                     ClusterProvider& clusters,
                                     ReplicationEnvironment& environment,
                                     std::vector<ClusterId> home)
    : rpc_(rpc),
      operations_(operations),
      config_(config),
      clusters_(clusters),
      environment_(environment),
      home_(std::move(home)) {}

grpc::ServerUnaryReactor* InspectionService::CheckFailover(
    grpc::CallbackServerContext* context,
    const pb::CheckFailoverRequest* request,
    pb::CheckFailoverResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(CheckRequest parsed, Parse(*request));
        const auto check =
            std::make_shared<const CheckRequest>(std::move(parsed));
        return RunOperation<Findings>(
                   operations_, SpecOf(*check, *request), call.caller,
                   [this, check](OperationContext& operation)
                       -> absl::StatusOr<Findings> {
                     if (!check->volumes.empty()) {
                       return addons::CheckFailover(operation, environment_,
                                                    check->volumes,
                                                    check->interval);
                     }
                     operation.Step("finding the pool");
                     ADDONS_ASSIGN_OR_RETURN(
                         const ResolvedPlace place,
                         FindPool(config_, clusters_, home_, check->pool));
                     return CheckFailoverOfPool(operation, environment_, place,
                                                check->interval);
                   })
            .Then([response](absl::StatusOr<Findings> findings) {
              if (findings.ok()) Fill(*std::move(findings), response);
              return findings.status();
            });
      });
}

grpc::ServerUnaryReactor* InspectionService::ExplainVolume(
    grpc::CallbackServerContext* context,
    const pb::ExplainVolumeRequest* request,
    pb::ExplainVolumeResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        ADDONS_RETURN_IF_ERROR(Require("volume_id", request->volume_id()));
        VolumeTarget target{VolumeHandle(request->volume_id()), nullptr};
        ADDONS_ASSIGN_OR_RETURN(const VolumeId id, target.volume_id.id());
        ADDONS_ASSIGN_OR_RETURN(const auto interval,
                                IntervalOf(request->parameters()));
        ADDONS_ASSIGN_OR_RETURN(
            target.user, UserFromSecrets(TakeSecrets(request->secrets())));
        OperationSpec spec;
        spec.share = WorkerShare::OfCluster(id.cluster_id);
        spec.verb = "explain";
        spec.object = absl::StrCat("volume '", request->volume_id(), "'");
        MakeQuestion(*target.user, request->parameters(), {spec.object}, &spec);
        return RunOperation<Explanation>(
                   operations_, spec, call.caller,
                   [this, target, interval](OperationContext& operation) {
                     return addons::ExplainVolume(operation, environment_,
                                                  target, interval);
                   })
            .Then([this, response, volume_id = request->volume_id()](
                      const absl::StatusOr<Explanation>& explained) {
              if (!explained.ok()) return explained.status();
              Fill(*explained, response);
              AddOperations(operations_, volume_id, response);
              return absl::OkStatus();
            });
      });
}

}  // namespace addons
