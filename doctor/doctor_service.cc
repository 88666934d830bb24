#include "doctor/doctor_service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/status_macros.h"
#include "doctor/diagnose.h"
#include "operation/run_operation.h"
#include "rpc/secrets.h"
#include "rpc/text.h"
#include "volume/credentials.h"

namespace addons {
namespace {

namespace pb = ::rbdaddons::admin::v1;

pb::Finding::Verdict VerdictOf(FindingVerdict verdict) {
  switch (verdict) {
    case FindingVerdict::kOk:
      return pb::Finding::OK;
    case FindingVerdict::kWarning:
      return pb::Finding::WARNING;
    case FindingVerdict::kProblem:
      return pb::Finding::PROBLEM;
    case FindingVerdict::kUnclear:
      break;
  }
  return pb::Finding::UNCLEAR;
}

/// The smaller, the sooner somebody wants to read it.
int Rank(FindingVerdict verdict) {
  switch (verdict) {
    case FindingVerdict::kProblem:
      return 0;
    case FindingVerdict::kUnclear:
      return 1;
    case FindingVerdict::kWarning:
      return 2;
    case FindingVerdict::kOk:
      break;
  }
  return 3;
}

void Fill(Findings findings, pb::DiagnoseResponse* response) {
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) {
                     return Rank(a.verdict) < Rank(b.verdict);
                   });
  for (const Finding& finding : findings) {
    pb::Finding& filled = *response->add_findings();
    filled.set_id(finding.id);
    filled.set_verdict(VerdictOf(finding.verdict));
    filled.set_object(finding.object);
    // It may repeat what Ceph wrote.
    filled.set_seen(CleanLine(finding.seen, kMaxTextBytes));
    filled.set_remedy(finding.remedy);
  }
}

/// Administrators' tools and probes do not call these.
bool SidecarCalled(const CallStats& stats) {
  const std::vector<CallCount> counts = stats.Counts();
  return std::any_of(counts.begin(), counts.end(), [](const CallCount& count) {
    return count.method == "identity.Identity/GetIdentity" ||
           count.method == "identity.Identity/GetCapabilities";
  });
}

}  // namespace

DoctorService::DoctorService(Rpc& rpc, OperationTable& operations,
                             ConfigStore& config, ClusterProvider& clusters,
                             std::vector<ClusterId> home)
    : rpc_(rpc),
      operations_(operations),
      config_(config),
      clusters_(clusters),
      home_(std::move(home)) {}

grpc::ServerUnaryReactor* DoctorService::Diagnose(
    grpc::CallbackServerContext* context, const pb::DiagnoseRequest* request,
    pb::DiagnoseResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        DiagnoseRequest asked;
        asked.before_handover = request->before_handover();
        asked.sidecar_called = SidecarCalled(rpc_.stats());
        ADDONS_ASSIGN_OR_RETURN(
            asked.user, UserFromSecrets(TakeSecrets(request->secrets())));
        OperationSpec spec;
        // It asks all clusters, so it may hang with any of them.
        spec.share = WorkerShare::OfCluster(ClusterId());
        spec.verb = "diagnose";
        spec.object = "the installation";
        spec.parameters =
            CallFingerprint(spec.verb, *asked.user, {},
                            {asked.before_handover ? "before handover" : ""});
        MakeRead(&spec);
        return RunOperation<Findings>(
                   operations_, spec, call.caller,
                   [this, asked](OperationContext& operation)
                       -> absl::StatusOr<Findings> {
                     operation.Step("asking the clusters");
                     const OperationLimits& limits = operations_.limits();
                     return addons::Diagnose(
                         {config_, clusters_, home_,
                          limits.control.workers + limits.bulk.workers +
                              limits.read.workers},
                         asked, absl::FromChrono(operation.clock().WallNow()));
                   })
            .Then([response](absl::StatusOr<Findings> findings) {
              if (!findings.ok()) return findings.status();
              Fill(*std::move(findings), response);
              return absl::OkStatus();
            });
      });
}

}  // namespace addons
