#include "replication/clone_audit_service.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "ceph/pool.h"
#include "operation/run_operation.h"
#include "replication/inspection/clone_audit.h"
#include "replication/inspection/named_pool.h"
#include "rpc/secrets.h"
#include "rpc/validate.h"
#include "volume/credentials.h"

namespace addons {
namespace {

namespace pb = ::rbdaddons::admin::v1;

// So an answer stays far below the 4 MiB that gRPC takes.
constexpr size_t kMostFindings = 2000;

absl::StatusOr<std::vector<CloneFinding>> Audit(
    OperationContext& context, ConfigStore& config, ClusterProvider& clusters,
    const std::vector<ClusterId>& home, const NamedPool& named) {
  context.Step("finding the pool");
  ADDONS_ASSIGN_OR_RETURN(const ResolvedPlace place,
                          FindPool(config, clusters, home, named));
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          place.OpenPool(Access::kRead));
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
        auto owned = std::make_shared<NamedPool>();
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
