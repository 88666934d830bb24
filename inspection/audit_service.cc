#include "inspection/audit_service.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "inspection/audit/audit_pool.h"
#include "inspection/audit/repair.h"
#include "inspection/named_pool.h"
#include "operation/run_operation.h"
#include "rpc/secrets.h"
#include "rpc/text.h"
#include "rpc/validate.h"
#include "volume/credentials.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

// So an answer stays far below the 4 MiB that gRPC takes.
constexpr size_t kMostFindings = 2000;

constexpr std::array<std::pair<AuditKind, admin_pb::AuditFinding::Kind>, 8>
    kKinds = {{{AuditKind::kClones, admin_pb::AuditFinding::CLONES},
               {AuditKind::kJournal, admin_pb::AuditFinding::JOURNAL},
               {AuditKind::kSchedules, admin_pb::AuditFinding::SCHEDULES},
               {AuditKind::kGroups, admin_pb::AuditFinding::GROUPS},
               {AuditKind::kFences, admin_pb::AuditFinding::FENCES},
               {AuditKind::kRescues, admin_pb::AuditFinding::RESCUES},
               {AuditKind::kCopies, admin_pb::AuditFinding::COPIES},
               {AuditKind::kImages, admin_pb::AuditFinding::IMAGES}}};

/// What the operation needs; outlives the call.
struct Asked {
  NamedPool pool;
  AuditRequest request;
  AuditFindings plan;  // of a repair
};

/// What an audit and a repair are asked for alike.
template <typename Request>
absl::Status TakePool(const Request& request, const std::string& instance_id,
                      Asked* asked) {
  asked->request.instance_id = instance_id;
  asked->pool.cluster_id = ClusterId(request.cluster_id());
  asked->pool.pool = request.pool();
  ADDONS_ASSIGN_OR_RETURN(asked->pool.user,
                          UserFromSecrets(TakeSecrets(request.secrets())));
  return absl::OkStatus();
}

OperationSpec SpecOf(const Asked& asked, const std::string& verb) {
  OperationSpec spec;
  spec.share = WorkerShare::OfCluster(asked.pool.cluster_id);
  spec.verb = verb;
  spec.object = Describe(asked.pool);
  return spec;
}

admin_pb::AuditFinding::Kind NameOf(AuditKind wanted) {
  return std::find_if(kKinds.begin(), kKinds.end(),
                      [&](const auto& kind) { return kind.first == wanted; })
      ->second;
}

absl::StatusOr<AuditKind> KindOf(int wanted) {
  const auto known =
      std::find_if(kKinds.begin(), kKinds.end(),
                   [&](const auto& kind) { return kind.second == wanted; });
  if (known == kKinds.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("kinds: ", wanted, " is not known"));
  }
  return known->first;
}

absl::Status TakeKinds(const admin_pb::AuditPoolRequest& request,
                       std::set<AuditKind>* kinds) {
  for (const int wanted : request.kinds()) {
    ADDONS_ASSIGN_OR_RETURN(const AuditKind kind, KindOf(wanted));
    kinds->insert(kind);
  }
  if (!kinds->empty()) return absl::OkStatus();
  for (const auto& [kind, name] : kKinds) {
    // It takes long.
    if (kind != AuditKind::kCopies) kinds->insert(kind);
  }
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

void Fill(AuditFindings findings, admin_pb::AuditPoolResponse* response) {
  // What is wrong before what is not known.
  std::stable_partition(
      findings.begin(), findings.end(),
      [](const AuditFinding& finding) { return !finding.unclear; });
  for (const AuditFinding& finding : findings) {
    if (response->findings_size() == kMostFindings) {
      response->set_more(true);
      break;
    }
    admin_pb::AuditFinding& filled = *response->add_findings();
    filled.set_kind(NameOf(finding.kind));
    // They may repeat what Ceph or another program wrote.
    filled.set_object(CleanLine(finding.object, kMaxTextBytes));
    filled.set_seen(CleanLine(finding.seen, kMaxTextBytes));
    filled.set_remedy(finding.remedy);
    filled.set_unclear(finding.unclear);
    filled.set_repair(CleanLine(finding.repair, kMaxTextBytes));
  }
}

/// Findings are told from each other as they were shown.
absl::Status TakePlan(const admin_pb::RepairPoolRequest& request,
                      AuditFindings* plan) {
  if (request.plan().empty()) {
    return InvalidField("plan", "is missing: it has findings of AuditPool");
  }
  if (request.plan_size() > static_cast<int>(kMostFindings)) {
    return InvalidField(
        "plan", absl::StrCat("may have ", kMostFindings, " findings at most"));
  }
  for (const admin_pb::AuditFinding& wanted : request.plan()) {
    if (wanted.repair().empty()) {
      return InvalidField("plan", "has a finding without a repair");
    }
    AuditFinding finding;
    ADDONS_ASSIGN_OR_RETURN(finding.kind, KindOf(wanted.kind()));
    finding.object = wanted.object();
    finding.repair = wanted.repair();
    plan->push_back(std::move(finding));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<RepairResult>> Repair(
    OperationContext& context, LeaseKeeper& leases, BoundedThreads& threads,
    ConfigStore& config, ClusterProvider& clusters,
    const std::vector<ClusterId>& home, const Asked& asked) {
  context.Step("finding the pool");
  ADDONS_ASSIGN_OR_RETURN(const ResolvedPlace place,
                          FindPool(config, clusters, home, asked.pool));
  return RepairPool(context, leases, threads, place, asked.request, asked.plan);
}

void Fill(const std::vector<RepairResult>& results,
          admin_pb::RepairPoolResponse* response) {
  for (const RepairResult& result : results) {
    admin_pb::Repair& filled = *response->add_repairs();
    filled.set_kind(NameOf(result.kind));
    filled.set_object(CleanLine(result.object, kMaxTextBytes));
    filled.set_repair(CleanLine(result.repair, kMaxTextBytes));
    filled.set_outcome(result.outcome == RepairOutcome::kDone
                           ? admin_pb::Repair::DONE
                       : result.outcome == RepairOutcome::kNotNeeded
                           ? admin_pb::Repair::NOT_NEEDED
                           : admin_pb::Repair::FAILED);
    filled.set_text(CleanLine(result.text, kMaxTextBytes));
  }
}

}  // namespace

AuditService::AuditService(Rpc& rpc, OperationTable& operations,
                           ConfigStore& config, ClusterProvider& clusters,
                           LeaseKeeper& leases, std::vector<ClusterId> home,
                           std::string instance_id)
    : rpc_(rpc),
      operations_(operations),
      config_(config),
      clusters_(clusters),
      leases_(leases),
      home_(std::move(home)),
      instance_id_(std::move(instance_id)) {}

grpc::ServerUnaryReactor* AuditService::AuditPool(
    grpc::CallbackServerContext* context,
    const admin_pb::AuditPoolRequest* request,
    admin_pb::AuditPoolResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        ADDONS_RETURN_IF_ERROR(Require("pool", request->pool()));
        auto asked = std::make_shared<Asked>();
        ADDONS_RETURN_IF_ERROR(TakeKinds(*request, &asked->request.kinds));
        ADDONS_RETURN_IF_ERROR(TakePool(*request, instance_id_, asked.get()));
        if (request->fence_ends_within_seconds() != 0) {
          asked->request.fences.soon =
              std::chrono::seconds(request->fence_ends_within_seconds());
        }
        OperationSpec spec = SpecOf(*asked, "audit");
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

grpc::ServerUnaryReactor* AuditService::RepairPool(
    grpc::CallbackServerContext* context,
    const admin_pb::RepairPoolRequest* request,
    admin_pb::RepairPoolResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        ADDONS_RETURN_IF_ERROR(Require("pool", request->pool()));
        auto asked = std::make_shared<Asked>();
        ADDONS_RETURN_IF_ERROR(TakePlan(*request, &asked->plan));
        ADDONS_RETURN_IF_ERROR(TakePool(*request, instance_id_, asked.get()));
        OperationSpec spec = SpecOf(*asked, "repair");
        // Never in the way of a failover.
        spec.lane = Lane::kBulk;
        // One after the other; the lease holds off other daemons.
        spec.keys = {absl::StrCat("repair ", spec.object)};
        std::vector<std::string> what = {spec.object};
        for (const AuditFinding& finding : asked->plan) {
          what.push_back(
              absl::StrCat(static_cast<int>(finding.kind), finding.object));
          what.push_back(finding.repair);
        }
        spec.parameters =
            CallFingerprint(spec.verb, *asked->pool.user, {}, what);
        return RunOperation<std::vector<RepairResult>>(
                   operations_, spec, call.caller,
                   [this, asked](OperationContext& operation) {
                     return Repair(operation, leases_, threads_, config_,
                                   clusters_, home_, *asked);
                   })
            .Then(
                [response](absl::StatusOr<std::vector<RepairResult>> results) {
                  if (!results.ok()) return results.status();
                  Fill(*results, response);
                  return absl::OkStatus();
                });
      });
}

}  // namespace addons
