#include "doctor/doctor_service.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "doctor/check_configuration.h"
#include "doctor/diagnose.h"
#include "operation/run_operation.h"
#include "rpc/secrets.h"
#include "rpc/text.h"
#include "rpc/validate.h"
#include "volume/credentials.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

admin_pb::Finding::Verdict VerdictOf(FindingVerdict verdict) {
  switch (verdict) {
    case FindingVerdict::kOk:
      return admin_pb::Finding::OK;
    case FindingVerdict::kWarning:
      return admin_pb::Finding::WARNING;
    case FindingVerdict::kProblem:
      return admin_pb::Finding::PROBLEM;
    case FindingVerdict::kConfirm:
      return admin_pb::Finding::CONFIRM;
    case FindingVerdict::kUnclear:
      break;
  }
  return admin_pb::Finding::UNCLEAR;
}

/// The smaller, the sooner somebody wants to read it.
int Rank(const Finding& finding) {
  switch (finding.verdict) {
    case FindingVerdict::kProblem:
      // Of a cluster that is dead nothing else can be said.
      return finding.id == kClusterConnect ? 0 : 1;
    case FindingVerdict::kUnclear:
      return 2;
    case FindingVerdict::kConfirm:
      return 3;
    case FindingVerdict::kWarning:
      return 4;
    case FindingVerdict::kOk:
      break;
  }
  return 5;
}

void Fill(Findings findings, admin_pb::DiagnoseResponse* response) {
  std::stable_sort(
      findings.begin(), findings.end(),
      [](const Finding& a, const Finding& b) { return Rank(a) < Rank(b); });
  for (const Finding& finding : findings) {
    admin_pb::Finding& filled = *response->add_findings();
    filled.set_id(finding.id);
    filled.set_verdict(VerdictOf(finding.verdict));
    filled.set_object(finding.object);
    // It may repeat what Ceph wrote.
    filled.set_seen(CleanLine(finding.seen, kMaxTextBytes));
    filled.set_remedy(finding.remedy);
  }
}

/// What a person says to have looked at; only what is a person's.
absl::StatusOr<std::set<std::string>> TakeConfirmed(
    const admin_pb::DiagnoseRequest& request) {
  std::set<std::string> confirmed;
  for (const std::string& id : request.confirmed()) {
    const std::vector<std::string>& known = ConfirmedByPersons();
    if (std::find(known.begin(), known.end(), id) == known.end()) {
      return InvalidField("confirmed",
                          absl::StrCat("may have ", absl::StrJoin(known, ", "),
                                       " only: the rest is looked at"));
    }
    confirmed.insert(id);
  }
  if (!confirmed.empty() && !request.before_handover()) {
    return InvalidField("confirmed", "is for before_handover");
  }
  return confirmed;
}

/// Administrators' tools and probes do not call these.
bool SidecarCalled(const CallStats& stats) {
  const std::vector<CallCount> counts = stats.Counts();
  return std::any_of(counts.begin(), counts.end(), [](const CallCount& count) {
    return count.method == "identity.Identity/GetIdentity" ||
           count.method == "identity.Identity/GetCapabilities";
  });
}

PoolCheck Bound(const ReplicationChecks::Check& check,
                OperationContext& operation) {
  if (!check) return {};
  return [&check, &operation](const MirroredPlace& place) {
    return check(operation, place);
  };
}

}  // namespace

DoctorService::DoctorService(Rpc& rpc, OperationTable& operations,
                             ConfigStore& config, ClusterProvider& clusters,
                             std::vector<ClusterId> home,
                             ReplicationChecks replication)
    : rpc_(rpc),
      operations_(operations),
      config_(config),
      clusters_(clusters),
      home_(std::move(home)),
      replication_(std::move(replication)) {}

grpc::ServerUnaryReactor* DoctorService::Diagnose(
    grpc::CallbackServerContext* context,
    const admin_pb::DiagnoseRequest* request,
    admin_pb::DiagnoseResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        DiagnoseRequest asked;
        asked.before_handover = request->before_handover();
        asked.sidecar_called = SidecarCalled(rpc_.stats());
        ADDONS_ASSIGN_OR_RETURN(asked.confirmed, TakeConfirmed(*request));
        // Nobody can be asked then, so no user is needed.
        if (!config_.Current().ok()) {
          Fill(CheckConfiguration(config_, home_), response);
          return Reply(absl::OkStatus());
        }
        ADDONS_ASSIGN_OR_RETURN(
            asked.user, UserFromSecrets(TakeSecrets(request->secrets())));
        OperationSpec spec;
        // It asks all clusters, so it may hang with any of them.
        spec.share = WorkerShare::OfCluster(ClusterId());
        spec.verb = "diagnose";
        spec.object = "the installation";
        spec.parameters =
            CallFingerprint(spec.verb, *asked.user, {},
                            {asked.before_handover ? "before handover" : "",
                             absl::StrJoin(asked.confirmed, " ")});
        MakeRead(&spec);
        return RunOperation<Findings>(
                   operations_, spec, call.caller,
                   [this, asked](OperationContext& operation)
                       -> absl::StatusOr<Findings> {
                     operation.Step("asking the clusters");
                     DiagnoseRequest what = asked;
                     what.check_pool = Bound(replication_.pace, operation);
                     what.check_pool_before_handover =
                         Bound(replication_.before_handover, operation);
                     const OperationLimits& limits = operations_.limits();
                     return addons::Diagnose(
                         {config_, clusters_, home_,
                          limits.control.workers + limits.bulk.workers +
                              limits.read.workers},
                         what, operation.clock());
                   })
            .Then([response, before_handover = asked.before_handover](
                      absl::StatusOr<Findings> findings) {
              if (!findings.ok()) return findings.status();
              if (before_handover) {
                response->set_handover_safe(SafeForHandover(*findings));
              }
              Fill(*std::move(findings), response);
              return absl::OkStatus();
            });
      });
}

}  // namespace addons
