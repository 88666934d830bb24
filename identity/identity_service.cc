#include "identity/identity_service.h"

#include <utility>

#include "identity/probe.h"

namespace addons {
namespace {

namespace pb = ::identity;

pb::Capability ToProto(CapabilityId id) {
  pb::Capability capability;
  switch (id) {
    case CapabilityId::kControllerService:
      capability.mutable_service()->set_type(
          pb::Capability::Service::CONTROLLER_SERVICE);
      break;
    case CapabilityId::kNodeService:
      capability.mutable_service()->set_type(
          pb::Capability::Service::NODE_SERVICE);
      break;
    case CapabilityId::kOfflineReclaimSpace:
      capability.mutable_reclaim_space()->set_type(
          pb::Capability::ReclaimSpace::OFFLINE);
      break;
    case CapabilityId::kOnlineReclaimSpace:
      capability.mutable_reclaim_space()->set_type(
          pb::Capability::ReclaimSpace::ONLINE);
      break;
    case CapabilityId::kNetworkFence:
      capability.mutable_network_fence()->set_type(
          pb::Capability::NetworkFence::NETWORK_FENCE);
      break;
    case CapabilityId::kFenceClients:
      capability.mutable_network_fence()->set_type(
          pb::Capability::NetworkFence::GET_CLIENTS_TO_FENCE);
      break;
    case CapabilityId::kVolumeReplication:
      capability.mutable_volume_replication()->set_type(
          pb::Capability::VolumeReplication::VOLUME_REPLICATION);
      break;
    case CapabilityId::kReplicationDestinationInfo:
      capability.mutable_volume_replication()->set_type(
          pb::Capability::VolumeReplication::GET_REPLICATION_DESTINATION_INFO);
      break;
    case CapabilityId::kVolumeGroup:
      capability.mutable_volume_group()->set_type(
          pb::Capability::VolumeGroup::VOLUME_GROUP);
      break;
    case CapabilityId::kOneGroupPerVolume:
      capability.mutable_volume_group()->set_type(
          pb::Capability::VolumeGroup::LIMIT_VOLUME_TO_ONE_VOLUME_GROUP);
      break;
    case CapabilityId::kGroupsDoNotDeleteVolumes:
      capability.mutable_volume_group()->set_type(
          pb::Capability::VolumeGroup::DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES);
      break;
    case CapabilityId::kModifyVolumeGroup:
      capability.mutable_volume_group()->set_type(
          pb::Capability::VolumeGroup::MODIFY_VOLUME_GROUP);
      break;
    case CapabilityId::kGetVolumeGroup:
      capability.mutable_volume_group()->set_type(
          pb::Capability::VolumeGroup::GET_VOLUME_GROUP);
      break;
    case CapabilityId::kListVolumeGroups:
      capability.mutable_volume_group()->set_type(
          pb::Capability::VolumeGroup::LIST_VOLUME_GROUPS);
      break;
    case CapabilityId::kKeyRotation:
      capability.mutable_encryption_key_rotation()->set_type(
          pb::Capability::EncryptionKeyRotation::ENCRYPTIONKEYROTATION);
      break;
  }
  return capability;
}

pb::GetCapabilitiesResponse ToProto(const std::vector<CapabilityId>& ids) {
  pb::GetCapabilitiesResponse response;
  for (const CapabilityId id : ids) *response.add_capabilities() = ToProto(id);
  return response;
}

}  // namespace

IdentityService::IdentityService(Rpc& rpc, IdentityInfo info,
                                 const std::vector<CapabilityId>& capabilities,
                                 Readiness readiness)
    : rpc_(rpc),
      info_(std::move(info)),
      capabilities_(ToProto(capabilities)),
      readiness_(std::move(readiness)) {}

grpc::ServerUnaryReactor* IdentityService::GetIdentity(
    grpc::CallbackServerContext* context, const pb::GetIdentityRequest* request,
    pb::GetIdentityResponse* response) {
  return UnaryCall(rpc_, *context, *request, *response,
                   [&](const CallContext&) {
                     response->set_name(info_.name);
                     response->set_vendor_version(info_.version);
                     response->mutable_manifest()->insert(
                         info_.manifest.begin(), info_.manifest.end());
                     return absl::OkStatus();
                   });
}

grpc::ServerUnaryReactor* IdentityService::GetCapabilities(
    grpc::CallbackServerContext* context,
    const pb::GetCapabilitiesRequest* request,
    pb::GetCapabilitiesResponse* response) {
  return UnaryCall(rpc_, *context, *request, *response,
                   [&](const CallContext&) {
                     *response = capabilities_;
                     return absl::OkStatus();
                   });
}

PromptMethod IdentityService::ProbeMethod() {
  return MakeProbe<pb::ProbeRequest, pb::ProbeResponse>(*this, rpc_,
                                                        readiness_);
}

}  // namespace addons
