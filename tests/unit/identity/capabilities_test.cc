#include "identity/capabilities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace addons {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Modes kController{.controller = true, .node = false};
constexpr Modes kNode{.controller = false, .node = true};
constexpr Modes kBoth{.controller = true, .node = true};

constexpr ServedServices kAll{.reclaim_space_controller = true,
                              .network_fence = true,
                              .volume_replication = true,
                              .replication_destination_info = true,
                              .volume_group = true,
                              .reclaim_space_node = true,
                              .key_rotation = true,
                              .fence_clients = true};

TEST(CapabilitiesTest, ListsTheControllersInTheDriversOrder) {
  EXPECT_THAT(
      Capabilities(kController, kAll),
      ElementsAre(
          CapabilityId::kControllerService, CapabilityId::kOfflineReclaimSpace,
          CapabilityId::kNetworkFence, CapabilityId::kVolumeReplication,
          CapabilityId::kReplicationDestinationInfo, CapabilityId::kVolumeGroup,
          CapabilityId::kGroupsDoNotDeleteVolumes,
          CapabilityId::kOneGroupPerVolume, CapabilityId::kModifyVolumeGroup,
          CapabilityId::kGetVolumeGroup, CapabilityId::kListVolumeGroups));
}

TEST(CapabilitiesTest, ListsTheNodesInTheDriversOrder) {
  EXPECT_THAT(
      Capabilities(kNode, kAll),
      ElementsAre(CapabilityId::kNodeService, CapabilityId::kOnlineReclaimSpace,
                  CapabilityId::kKeyRotation, CapabilityId::kFenceClients));
}

TEST(CapabilitiesTest, ListsTheControllersBeforeTheNodes) {
  std::vector<CapabilityId> expected = Capabilities(kController, kAll);
  for (const CapabilityId id : Capabilities(kNode, kAll))
    expected.push_back(id);
  EXPECT_EQ(Capabilities(kBoth, kAll), expected);
}

TEST(CapabilitiesTest, ListsNothingWithoutAMode) {
  EXPECT_THAT(Capabilities({}, kAll), IsEmpty());
}

TEST(CapabilitiesTest, PromisesNoServiceThatIsNotServed) {
  EXPECT_THAT(Capabilities(kBoth, {}),
              ElementsAre(CapabilityId::kControllerService,
                          CapabilityId::kNodeService));
}

TEST(CapabilitiesTest, PromisesReplicationAlone) {
  EXPECT_THAT(Capabilities(kController, {.volume_replication = true,
                                         .replication_destination_info = true}),
              ElementsAre(CapabilityId::kControllerService,
                          CapabilityId::kVolumeReplication,
                          CapabilityId::kReplicationDestinationInfo));
}

TEST(CapabilitiesTest, PromisesNoDestinationsWithoutReplication) {
  EXPECT_THAT(Capabilities(kController, {.replication_destination_info = true}),
              ElementsAre(CapabilityId::kControllerService));
}

}  // namespace
}  // namespace addons
