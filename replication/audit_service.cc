#include "replication/audit_service.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operation/run_operation.h"
#include "replication/audit/audit_pool.h"
#include "replication/inspection/named_pool.h"
#include "rpc/secrets.h"
#include "rpc/text.h"
#include "rpc/validate.h"
#include "volume/credentials.h"

namespace addons {
namespace {

namespace pb = ::rbdaddons::admin::v1;

// So an answer stays far below the 4 MiB that gRPC takes.
constexpr size_t kMostFindings = 2000;

constexpr std::array<std::pair<AuditKind, pb::AuditFinding::Kind>, 6> kKinds = {
    {{AuditKind::kClones, pb::AuditFinding::CLONES},
     {AuditKind::kJournal, pb::AuditFinding::JOURNAL},
     {AuditKind::kSchedules, pb::AuditFinding::SCHEDULES},
     {AuditKind::kGroups, pb::AuditFinding::GROUPS},
     {AuditKind::kFences, pb::AuditFinding::FENCES},
     {AuditKind::kRescues, pb::AuditFinding::RESCUES}}};

/// What the operation needs; outlives the call.
struct Asked {
  NamedPool pool;
  AuditRequest request;
};

absl::Status TakeKinds(const pb::AuditPoolRequest& request,
                       std::set<AuditKind>* kinds) {
  for (const int wanted : request.kinds()) {
    const auto known =
        std::find_if(kKinds.begin(), kKinds.end(),
                     [&](const auto& kind) { return kind.second == wanted; });
    if (known == kKinds.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("kinds: ", wanted, " is not known"));
    }
    kinds->insert(known->first);
  }
  if (!kinds->empty()) return absl::OkStatus();
  for (const auto& [kind, name] : kKinds) kinds->insert(kind);
  return absl::OkStatus();
}

absl::StatusOr<AuditFindings> Audit(OperationContext& context,
                                    BoundedThreads& threads,
                                    ConfigStore& config,
                                    ClusterProvider& clusters,
                                    const std::vector<ClusterId>& home,
                                    const Asked& asked) {
  context.Step("finding the pool");
  ADDONS_ASSIGN_OR_RETURN(const ResolvedPlace place,
                          FindPool(config, clusters, home, asked.pool));
  context.Step("looking through the pool");
  return AuditPool(threads, place, asked.request, context.stop_token());
}

void Fill(AuditFindings findings, pb::AuditPoolResponse* response) {
  // What is wrong before what is not known.
  std::stable_partition(
      findings.begin(), findings.end(),
      [](const AuditFinding& finding) { return !finding.unclear; });
  for (const AuditFinding& finding : findings) {
    if (response->findings_size() == kMostFindings) {
      response->set_more(true);
      break;
    }
    pb::AuditFinding& filled = *response->add_findings();
    filled.set_kind(
        std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& kind) {
          return kind.first == finding.kind;
        })->second);
    // They may repeat what Ceph or another program wrote.
    filled.set_object(CleanLine(finding.object, kMaxTextBytes));
    filled.set_seen(CleanLine(finding.seen, kMaxTextBytes));
    filled.set_remedy(finding.remedy);
    filled.set_unclear(finding.unclear);
  }
}

}  // namespace

AuditService::AuditService(Rpc& rpc, OperationTable& operations,
                           ConfigStore& config, ClusterProvider& clusters,
                           std::vector<ClusterId> home, std::string instance_id)
    : rpc_(rpc),
      operations_(operations),
      config_(config),
      clusters_(clusters),
      home_(std::move(home)),
      instance_id_(std::move(instance_id)) {}

grpc::ServerUnaryReactor* AuditService::AuditPool(
    grpc::CallbackServerContext* context, const pb::AuditPoolRequest* request,
    pb::AuditPoolResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        ADDONS_RETURN_IF_ERROR(Require("pool", request->pool()));
        auto asked = std::make_shared<Asked>();
        ADDONS_RETURN_IF_ERROR(TakeKinds(*request, &asked->request.kinds));
        asked->request.instance_id = instance_id_;
        if (request->fence_ends_within_seconds() != 0) {
          asked->request.fences.soon =
              std::chrono::seconds(request->fence_ends_within_seconds());
        }
        asked->pool.cluster_id = ClusterId(request->cluster_id());
        asked->pool.pool = request->pool();
        ADDONS_ASSIGN_OR_RETURN(
            asked->pool.user, UserFromSecrets(TakeSecrets(request->secrets())));
        OperationSpec spec;
        spec.share = WorkerShare::OfCluster(asked->pool.cluster_id);
        spec.verb = "audit";
        spec.object = Describe(asked->pool);
        std::string how =
            absl::StrCat(asked->request.fences.soon.count(), " s");
        for (const AuditKind kind : asked->request.kinds) {
          absl::StrAppend(&how, " ", static_cast<int>(kind));
        }
        spec.parameters = CallFingerprint(spec.verb, *asked->pool.user, {},
                                          {spec.object, how});
        MakeRead(&spec);
        return RunOperation<AuditFindings>(
                   operations_, spec, call.caller,
                   [this, asked](OperationContext& operation) {
                     return Audit(operation, threads_, config_, clusters_,
                                  home_, *asked);
                   })
            .Then([response](absl::StatusOr<AuditFindings> found) {
              if (!found.ok()) return found.status();
              Fill(*std::move(found), response);
              return absl::OkStatus();
            });
      });
}

}  // namespace addons
