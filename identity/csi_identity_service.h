#ifndef ADDONS_IDENTITY_CSI_IDENTITY_SERVICE_H_
#define ADDONS_IDENTITY_CSI_IDENTITY_SERVICE_H_

#include "csi/csi.grpc.pb.h"
#include "identity/identity_service.h"
#include "identity/readiness.h"
#include "rpc/unary_call.h"

namespace addons {

/// csi.v1.Identity, so that the liveness sidecar of Kubernetes can watch this
/// daemon. It reports no plugin capability: volumes are the driver's business.
/// Thread-safe.
class CsiIdentityService final : public ::csi::v1::Identity::CallbackService {
 public:
  /// `rpc` is not owned.
  CsiIdentityService(Rpc& rpc, IdentityInfo info, Readiness readiness);

  grpc::ServerUnaryReactor* GetPluginInfo(
      grpc::CallbackServerContext* context,
      const ::csi::v1::GetPluginInfoRequest* request,
      ::csi::v1::GetPluginInfoResponse* response) override;
  grpc::ServerUnaryReactor* GetPluginCapabilities(
      grpc::CallbackServerContext* context,
      const ::csi::v1::GetPluginCapabilitiesRequest* request,
      ::csi::v1::GetPluginCapabilitiesResponse* response) override;
  grpc::ServerUnaryReactor* Probe(grpc::CallbackServerContext* context,
                                  const ::csi::v1::ProbeRequest* request,
                                  ::csi::v1::ProbeResponse* response) override;

 private:
  Rpc& rpc_;
  const IdentityInfo info_;
  const Readiness readiness_;
};

}  // namespace addons

#endif  // ADDONS_IDENTITY_CSI_IDENTITY_SERVICE_H_
