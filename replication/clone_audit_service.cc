#include "replication/clone_audit_service.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "operation/run_operation.h"
#include "replication/clone_audit.h"
#include "rpc/secrets.h"
#include "rpc/validate.h"
#include "volume/credentials.h"
#include "volume/home_clusters.h"
#include "volume/pools.h"

namespace addons {
namespace {

namespace pb = ::rbdaddons::admin::v1;

// So an answer stays far below the 4 MiB that gRPC takes.
constexpr size_t kMostFindings = 2000;

struct AuditRequest {
  ClusterId cluster_id;  // empty: the only one of this site
  std::string pool;
  CephUserRef user;
};

std::string Describe(const AuditRequest& request) {
  return absl::StrCat("pool '", request.pool, "'",
                      request.cluster_id.empty() ? "" : " of cluster '",
                      request.cluster_id.text(),
                      request.cluster_id.empty() ? "" : "'");
}

/// The entry that is meant. FAILED_PRECONDITION: it is broken, or another
/// site's. INVALID_ARGUMENT: none is named, and there are several.
absl::StatusOr<const ClusterEntry*> FindEntry(
    const ClusterConfig& config, const std::vector<ClusterId>& home,
    const ClusterId& cluster_id) {
  if (!cluster_id.empty()) {
    if (IsHome(home, cluster_id)) return config.Find(cluster_id);
    return absl::FailedPreconditionError(absl::StrCat(
        "cluster '", cluster_id.text(), "' is not one of --site-clusters (",
        absl::StrJoin(home, ", ", AppendClusterId),
        "): ask the daemon of its site"));
  }
  const ClusterEntry* only = nullptr;
  for (const ClusterEntry& entry : config.entries()) {
    if (!IsHome(home, entry.cluster_id)) continue;
    if (only != nullptr) {
      return InvalidField("cluster_id",
                          "is missing, and config.json has several clusters");
    }
    only = &entry;
  }
  if (only != nullptr) return only;
  return InvalidField(
      "cluster_id", "is missing, and config.json has no cluster of this site");
}

absl::StatusOr<std::vector<CloneFinding>> Audit(
    OperationContext& context, ConfigStore& config, ClusterProvider& clusters,
    const std::vector<ClusterId>& home, const AuditRequest& request) {
  context.Step("finding the pool");
  ADDONS_ASSIGN_OR_RETURN(const auto current, config.Current());
  ADDONS_ASSIGN_OR_RETURN(const ClusterEntry* const entry,
                          FindEntry(*current, home, request.cluster_id));
  ADDONS_ASSIGN_OR_RETURN(
      const std::shared_ptr<Cluster> cluster,
      clusters.Connect({entry->cluster_id, entry->monitors}, request.user));
  ADDONS_ASSIGN_OR_RETURN(const auto pools, ListPools(*cluster));
  std::optional<int64_t> pool_id;
  for (const auto& [id, name] : pools) {
    if (name == request.pool) pool_id = id;
  }
  if (!pool_id.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("cluster '", entry->cluster_id.text(), "' has no pool '",
                     request.pool, "'"));
  }
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> pool,
      cluster->OpenPool(*pool_id, entry->rados_namespace, Access::kRead));
  context.Step("looking at the mirrored images");
  return AuditMirroredClones(*pool, context.stop_token());
}

pb::MirroredClone::State StateOf(CloneState state) {
  return state == CloneState::kHasParent ? pb::MirroredClone::HAS_PARENT
                                         : pb::MirroredClone::WAS_FLATTENED;
}

void Fill(const std::vector<CloneFinding>& findings,
          pb::ListMirroredClonesResponse* response) {
  for (const CloneFinding& finding : findings) {
    if (response->clones_size() == kMostFindings) {
      response->set_more(true);
      break;
    }
    pb::MirroredClone& clone = *response->add_clones();
    clone.set_image(finding.image);
    clone.set_state(StateOf(finding.state));
    clone.set_text(finding.text);
  }
}

}  // namespace

CloneAuditService::CloneAuditService(Rpc& rpc, OperationTable& operations,
                                     ConfigStore& config,
                                     ClusterProvider& clusters,
                                     std::vector<ClusterId> home)
    : rpc_(rpc),
      operations_(operations),
      config_(config),
      clusters_(clusters),
      home_(std::move(home)) {}

grpc::ServerUnaryReactor* CloneAuditService::ListMirroredClones(
    grpc::CallbackServerContext* context,
    const pb::ListMirroredClonesRequest* request,
    pb::ListMirroredClonesResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        ADDONS_RETURN_IF_ERROR(Require("pool", request->pool()));
        auto owned = std::make_shared<AuditRequest>();
        owned->cluster_id = ClusterId(request->cluster_id());
        owned->pool = request->pool();
        ADDONS_ASSIGN_OR_RETURN(
            owned->user, UserFromSecrets(TakeSecrets(request->secrets())));
        OperationSpec spec;
        spec.share = WorkerShare::OfCluster(owned->cluster_id);
        spec.verb = "audit";
        spec.object = Describe(*owned);
        spec.parameters =
            CallFingerprint(spec.verb, *owned->user, {}, {spec.object});
        MakeRead(&spec);
        return RunOperation<std::vector<CloneFinding>>(
                   operations_, spec, call.caller,
                   [this, owned](OperationContext& operation) {
                     return Audit(operation, config_, clusters_, home_, *owned);
                   })
            .Then([response](
                      const absl::StatusOr<std::vector<CloneFinding>>& found) {
              if (found.ok()) Fill(*found, response);
              return found.status();
            });
      });
}

}  // namespace addons
