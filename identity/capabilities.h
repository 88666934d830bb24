#ifndef ADDONS_IDENTITY_CAPABILITIES_H_
#define ADDONS_IDENTITY_CAPABILITIES_H_

#include <vector>

namespace addons {

/// In which roles the daemon runs. Both may be on, or none.
struct Modes {
  bool controller = false;
  bool node = false;
};

/// Which services this program has. Each is set where the service is
/// registered, so that nothing is advertised that cannot be called.
struct ServedServices {
  bool reclaim_space_controller = false;
  bool network_fence = false;
  bool volume_replication = false;
  bool replication_destination_info = false;
  bool volume_group = false;
  bool reclaim_space_node = false;
  bool key_rotation = false;
  bool fence_clients = false;
};

/// One entry of the GetCapabilities answer, named after group and value there.
enum class CapabilityId {
  kControllerService,
  kOfflineReclaimSpace,
  kNetworkFence,
  kVolumeReplication,
  kReplicationDestinationInfo,
  kVolumeGroup,
  kGroupsDoNotDeleteVolumes,
  kOneGroupPerVolume,
  kModifyVolumeGroup,
  kGetVolumeGroup,
  kListVolumeGroups,
  kNodeService,
  kOnlineReclaimSpace,
  kKeyRotation,
  kFenceClients,
};

/// What the daemon can ever do, in the order of ceph-csi: the controller's
/// part, then the node's. Depends on nothing but its arguments: callers cache
/// the answer and give up on a daemon that fails to give it.
std::vector<CapabilityId> Capabilities(const Modes& modes,
                                       const ServedServices& served);

}  // namespace addons

#endif  // ADDONS_IDENTITY_CAPABILITIES_H_
