#include "cli/conformance/methods_under_test.h"

namespace addons {
namespace {

using Json = ServerUnderTest::Json;

constexpr char kReplication[] = "volume_replication.VOLUME_REPLICATION";

Json AboutReclaim(const std::string& id) { return {{"volume_id", id}}; }

Json AboutTrim(const std::string& id) {
  return {{"volume_id", id},
          {"staging_target_path", "/conformance/there-is-no-such-folder"}};
}

Json AboutGroup(const std::string& id) { return {{"volume_group_id", id}}; }

}  // namespace

Json AboutVolume(const std::string& volume_id) {
  return {{"replication_source", {{"volume", {{"volume_id", volume_id}}}}}};
}

const std::vector<MethodUnderTest>& MethodsUnderTest() {
  static const auto* const methods = new std::vector<MethodUnderTest>{
      {"replication.enable", "replication.Controller/EnableVolumeReplication",
       kReplication, AboutVolume},
      {"replication.disable", "replication.Controller/DisableVolumeReplication",
       kReplication, AboutVolume, true},
      {"replication.promote", "replication.Controller/PromoteVolume",
       kReplication, AboutVolume},
      {"replication.demote", "replication.Controller/DemoteVolume",
       kReplication, AboutVolume},
      {"replication.resync", "replication.Controller/ResyncVolume",
       kReplication, AboutVolume},
      {"replication.info", "replication.Controller/GetVolumeReplicationInfo",
       kReplication, AboutVolume},
      {"replication.destination",
       "replication.Controller/GetReplicationDestinationInfo",
       "volume_replication.GET_REPLICATION_DESTINATION_INFO", AboutVolume},
      {"reclaim.controller",
       "reclaimspace.ReclaimSpaceController/ControllerReclaimSpace",
       "reclaim_space.OFFLINE", AboutReclaim},
      {"reclaim.node", "reclaimspace.ReclaimSpaceNode/NodeReclaimSpace",
       "reclaim_space.ONLINE", AboutTrim},
      {"group.get", "volumegroup.Controller/ControllerGetVolumeGroup",
       "volume_group.GET_VOLUME_GROUP", AboutGroup, false, false},
      {"group.modify", "volumegroup.Controller/ModifyVolumeGroupMembership",
       "volume_group.MODIFY_VOLUME_GROUP", AboutGroup, false, false},
      {"group.delete", "volumegroup.Controller/DeleteVolumeGroup",
       "volume_group.VOLUME_GROUP", AboutGroup, true, false},
  };
  return *methods;
}

}  // namespace addons
