#include "identity/csi_identity_service.h"

#include <utility>

#include "identity/probe.h"

namespace addons {

namespace csi_pb = ::csi::v1;

CsiIdentityService::CsiIdentityService(Rpc& rpc, IdentityInfo info,
                                       Readiness readiness)
    : rpc_(rpc), info_(std::move(info)), readiness_(std::move(readiness)) {}

grpc::ServerUnaryReactor* CsiIdentityService::GetPluginInfo(
    grpc::CallbackServerContext* context,
    const csi_pb::GetPluginInfoRequest* request,
    csi_pb::GetPluginInfoResponse* response) {
  return UnaryCall(rpc_, *context, *request, *response,
                   [&](const CallContext&) {
                     response->set_name(info_.name);
                     response->set_vendor_version(info_.version);
                     response->mutable_manifest()->insert(
                         info_.manifest.begin(), info_.manifest.end());
                     return absl::OkStatus();
                   });
}

grpc::ServerUnaryReactor* CsiIdentityService::GetPluginCapabilities(
    grpc::CallbackServerContext* context,
    const csi_pb::GetPluginCapabilitiesRequest* request,
    csi_pb::GetPluginCapabilitiesResponse* response) {
  return UnaryCall(rpc_, *context, *request, *response,
                   [](const CallContext&) { return absl::OkStatus(); });
}

PromptMethod CsiIdentityService::ProbeMethod() {
  return MakeProbe<csi_pb::ProbeRequest, csi_pb::ProbeResponse>(*this, rpc_,
                                                                readiness_);
}

}  // namespace addons
