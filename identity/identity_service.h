#ifndef ADDONS_IDENTITY_IDENTITY_SERVICE_H_
#define ADDONS_IDENTITY_IDENTITY_SERVICE_H_

#include <map>
#include <string>
#include <vector>

#include "identity/capabilities.h"
#include "identity/identity.grpc.pb.h"
#include "identity/readiness.h"
#include "rpc/unary_call.h"

namespace addons {

/// Who this daemon is.
struct IdentityInfo {
  std::string name;     // the driver's, as volumes carry it
  std::string version;  // ours
  std::map<std::string, std::string> manifest;
};

/// identity.Identity. GetIdentity and GetCapabilities answer what they were
/// built with: they touch nothing and cannot fail. Thread-safe.
class IdentityService final : public ::identity::Identity::CallbackService {
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
  /// FAILED_PRECONDITION with Readiness's reason when it is an error.
  grpc::ServerUnaryReactor* Probe(grpc::CallbackServerContext* context,
                                  const ::identity::ProbeRequest* request,
                                  ::identity::ProbeResponse* response) override;

 private:
  Rpc& rpc_;
  const IdentityInfo info_;
  const ::identity::GetCapabilitiesResponse capabilities_;
  const Readiness readiness_;
};

/// What both Probe methods answer: Readiness's value, or its error's message
/// with the code that the specification wants.
absl::StatusOr<bool> ProbeAnswer(const Readiness& readiness);

}  // namespace addons

#endif  // ADDONS_IDENTITY_IDENTITY_SERVICE_H_
