#ifndef ADDONS_IDENTITY_IDENTITY_SERVICE_H_
#define ADDONS_IDENTITY_IDENTITY_SERVICE_H_

#include <map>
#include <string>
#include <vector>

#include "identity/capabilities.h"
#include "identity/identity.grpc.pb.h"
#include "identity/readiness.h"
#include "rpc/prompt_server.h"
#include "rpc/unary_call.h"

namespace addons {

/// Who this daemon is.
struct IdentityInfo {
  std::string name;     // the driver's, as volumes carry it
  std::string version;  // ours
  std::map<std::string, std::string> manifest;
};

/// Callbacks, but for Probe, which is prompt.
using IdentityMethods = ::identity::Identity::WithCallbackMethod_GetIdentity<
    ::identity::Identity::WithCallbackMethod_GetCapabilities<
        ::identity::Identity::WithRawMethod_Probe<
            ::identity::Identity::Service>>>;

/// identity.Identity. GetIdentity and GetCapabilities answer what they were
/// built with: they touch nothing and cannot fail. Thread-safe.
class IdentityService final : public IdentityMethods {
 public:
  /// `rpc` is not owned.
  IdentityService(Rpc& rpc, IdentityInfo info,
                  const std::vector<CapabilityId>& capabilities,
                  Readiness readiness);

  grpc::ServerUnaryReactor* GetIdentity(
      grpc::CallbackServerContext* context,
      const ::identity::GetIdentityRequest* request,
      ::identity::GetIdentityResponse* response) override;
  grpc::ServerUnaryReactor* GetCapabilities(
      grpc::CallbackServerContext* context,
      const ::identity::GetCapabilitiesRequest* request,
      ::identity::GetCapabilitiesResponse* response) override;
  /// MakeProbe(); this outlives it.
  PromptMethod ProbeMethod();

 private:
  Rpc& rpc_;
  const IdentityInfo info_;
  const ::identity::GetCapabilitiesResponse capabilities_;
  const Readiness readiness_;
};

}  // namespace addons

#endif  // ADDONS_IDENTITY_IDENTITY_SERVICE_H_
