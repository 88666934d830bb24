#include "identity/capabilities.h"

namespace addons {

std::vector<CapabilityId> Capabilities(const Modes& modes,
                                       const ServedServices& served) {
  struct Row {
    bool offered;
    CapabilityId id;
  };
  const bool c = modes.controller;
  const bool n = modes.node;
  const bool replication = c && served.volume_replication;
  const bool groups = c && served.volume_group;
  const Row rows[] = {
      {c, CapabilityId::kControllerService},
      {c && served.reclaim_space_controller,
       CapabilityId::kOfflineReclaimSpace},
      {c && served.network_fence, CapabilityId::kNetworkFence},
      {replication, CapabilityId::kVolumeReplication},
      {replication && served.replication_destination_info,
       CapabilityId::kReplicationDestinationInfo},
      {groups, CapabilityId::kVolumeGroup},
      {groups, CapabilityId::kGroupsDoNotDeleteVolumes},
      {groups, CapabilityId::kOneGroupPerVolume},
      {groups, CapabilityId::kModifyVolumeGroup},
      {groups, CapabilityId::kGetVolumeGroup},
      {groups, CapabilityId::kListVolumeGroups},
      {n, CapabilityId::kNodeService},
      {n && served.reclaim_space_node, CapabilityId::kOnlineReclaimSpace},
      {n && served.key_rotation, CapabilityId::kKeyRotation},
      {n && served.fence_clients, CapabilityId::kFenceClients},
  };
  std::vector<CapabilityId> offered;
  for (const Row& row : rows) {
    if (row.offered) offered.push_back(row.id);
  }
  return offered;
}

}  // namespace addons
