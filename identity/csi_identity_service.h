#ifndef ADDONS_IDENTITY_CSI_IDENTITY_SERVICE_H_
#define ADDONS_IDENTITY_CSI_IDENTITY_SERVICE_H_

#include "csi/csi.grpc.pb.h"
#include "identity/identity_service.h"
#include "identity/readiness.h"
#include "rpc/prompt_server.h"
#include "rpc/unary_call.h"

namespace addons {

/// Callbacks, but for Probe, which is prompt.
using CsiIdentityMethods =
    ::csi::v1::Identity::WithCallbackMethod_GetPluginInfo<
        ::csi::v1::Identity::WithCallbackMethod_GetPluginCapabilities<
            ::csi::v1::Identity::WithRawMethod_Probe<
                ::csi::v1::Identity::Service>>>;

/// csi.v1.Identity, so that the liveness sidecar of Kubernetes can watch this
/// daemon. It reports no plugin capability: volumes are the driver's business.
/// Thread-safe.
class CsiIdentityService final : public CsiIdentityMethods {
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
  /// MakeProbe(); this outlives it.
  PromptMethod ProbeMethod();

 private:
  Rpc& rpc_;
  const IdentityInfo info_;
  const Readiness readiness_;
};

}  // namespace addons

#endif  // ADDONS_IDENTITY_CSI_IDENTITY_SERVICE_H_
