#include "rpc/method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "csi/csi.pb.h"
#include "fence/fence.pb.h"
#include "identity/identity.pb.h"
#include "rbdaddons/admin.pb.h"
#include "replication/replication.pb.h"
#include "volumegroup/volumegroup.pb.h"

namespace addons {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(MethodOfRequestTest, FindsTheMethod) {
  EXPECT_EQ(MethodOfRequest(replication::PromoteVolumeRequest()),
            "replication.Controller/PromoteVolume");
}

TEST(MethodOfRequestTest, TellsEquallyNamedMethodsApart) {
  EXPECT_EQ(MethodOfRequest(identity::ProbeRequest()),
            "identity.Identity/Probe");
  EXPECT_EQ(MethodOfRequest(csi::v1::ProbeRequest()), "csi.v1.Identity/Probe");
}

TEST(MethodOfRequestTest, IsEmptyForOtherMessages) {
  EXPECT_EQ(MethodOfRequest(replication::ReplicationSource()), "");
}

TEST(IsMutatingTest, KnowsReaders) {
  for (const char* method :
       {"identity.Identity/Probe", "identity.Identity/GetCapabilities",
        "replication.Controller/GetVolumeReplicationInfo",
        "volumegroup.Controller/ListVolumeGroups",
        "volumegroup.Controller/ControllerGetVolumeGroup",
        "fence.FenceController/GetFenceClients",
        "rbdaddons.admin.v1.Operations/ListOperations"}) {
    EXPECT_FALSE(IsMutating(method)) << method;
  }
}

TEST(IsMutatingTest, TakesAllOthersForWriters) {
  for (const char* method :
       {"replication.Controller/PromoteVolume",
        "reclaimspace.ReclaimSpaceController/ControllerReclaimSpace",
        "fence.FenceController/UnfenceClusterNetwork",
        "volumegroup.Controller/ModifyVolumeGroupMembership",
        "rbdaddons.admin.v1.Operations/CancelOperation"}) {
    EXPECT_TRUE(IsMutating(method)) << method;
  }
}

TEST(ObjectOfRequestTest, NamesTheVolumeOfASource) {
  replication::PromoteVolumeRequest request;
  request.mutable_replication_source()->mutable_volume()->set_volume_id(
      "0001-a");
  EXPECT_EQ(ObjectOfRequest(request), "volume_id=0001-a");
}

TEST(ObjectOfRequestTest, NamesTheVolumeOfAnOldSidecar) {
  replication::PromoteVolumeRequest request;
  const auto* field = request.GetDescriptor()->FindFieldByName("volume_id");
  request.GetReflection()->SetString(&request, field, "0001-a");
  EXPECT_EQ(ObjectOfRequest(request), "volume_id=0001-a");
}

TEST(ObjectOfRequestTest, NamesTheOperationThatIsCancelled) {
  rbdaddons::admin::v1::CancelOperationRequest request;
  request.set_operation_id(42);
  EXPECT_EQ(ObjectOfRequest(request), "operation_id=42");
}

TEST(ObjectOfRequestTest, TellsForce) {
  replication::PromoteVolumeRequest request;
  request.set_force(true);
  request.mutable_replication_source()
      ->mutable_volumegroup()
      ->set_volume_group_id("g");
  EXPECT_EQ(ObjectOfRequest(request), "force=true volume_group_id=g");
}

TEST(ObjectOfRequestTest, ShowsTheFirstOfMany) {
  volumegroup::CreateVolumeGroupRequest request;
  request.set_name("n");
  for (int i = 0; i < 7; ++i) request.add_volume_ids("v" + std::to_string(i));
  EXPECT_EQ(ObjectOfRequest(request), "name=n volume_ids=v0,v1,v2,v3,+3");
}

TEST(ObjectOfRequestTest, NamesRanges) {
  fence::FenceClusterNetworkRequest request;
  for (int i = 0; i < 5; ++i) {
    request.add_cidrs()->set_cidr("10.0.0." + std::to_string(i));
  }
  EXPECT_EQ(ObjectOfRequest(request),
            "cidr=10.0.0.0 cidr=10.0.0.1 cidr=10.0.0.2 cidr=10.0.0.3 cidrs=+1");
}

TEST(ObjectOfRequestTest, ShowsNeitherSecretsNorParameters) {
  replication::PromoteVolumeRequest request;
  (*request.mutable_secrets())["userKey"] = "hush";
  (*request.mutable_parameters())["name"] = "parameter";
  EXPECT_EQ(ObjectOfRequest(request), "");
}

TEST(ObjectOfRequestTest, EscapesWhatCouldForgeALogLine) {
  replication::PromoteVolumeRequest request;
  request.mutable_replication_source()->mutable_volume()->set_volume_id(
      "a\nerror code=OK");
  EXPECT_THAT(ObjectOfRequest(request), Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace addons
