#include "identity/identity_service.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "identity/csi_identity_service.h"
#include "tests/testing/in_process_server.h"

namespace addons {
namespace {

using ::addons::testing::InProcessServer;

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const IdentityInfo kInfo{"rbd.csi.example.com", "1.2.3", {{"librbd", "16"}}};

constexpr ServedServices kAll{.reclaim_space_controller = true,
                              .network_fence = true,
                              .volume_replication = true,
                              .replication_destination_info = true,
                              .volume_group = true,
                              .reclaim_space_node = true,
                              .key_rotation = true,
                              .fence_clients = true};

class IdentityServiceTest : public ::testing::Test {
 protected:
  std::vector<std::string> CapabilityTexts(const Modes& modes) {
    IdentityService service(rpc_, kInfo, Capabilities(modes, kAll), readiness_);
    const ::identity::GetCapabilitiesRequest request;
    ::identity::GetCapabilitiesResponse response;
    InProcessServer server(service);
    grpc::ClientContext context;
    EXPECT_TRUE(::identity::Identity::NewStub(server.Channel())
                    ->GetCapabilities(&context, request, &response)
                    .ok());
    std::vector<std::string> texts;
    for (const auto& capability : response.capabilities()) {
      texts.push_back(Text(capability));
    }
    return texts;
  }

  // "volume_group.VOLUME_GROUP", as the status of a CSIAddonsNode shows it.
  static std::string Text(const ::identity::Capability& capability) {
    const auto& reflection = *capability.GetReflection();
    const auto* field = reflection.GetOneofFieldDescriptor(
        capability, capability.GetDescriptor()->oneof_decl(0));
    const auto& value = reflection.GetMessage(capability, field);
    const auto* type = value.GetDescriptor()->FindFieldByName("type");
    return absl::StrCat(field->name(), ".",
                        value.GetReflection()->GetEnum(value, type)->name());
  }

  grpc::Status Probe(::identity::ProbeResponse* response) {
    IdentityService service(rpc_, kInfo, {}, readiness_);
    const ::identity::ProbeRequest request;
    InProcessServer server(service, {service.ProbeMethod()});
    grpc::ClientContext context;
    return ::identity::Identity::NewStub(server.Channel())
        ->Probe(&context, request, response);
  }

  Rpc rpc_{RealClock()};
  Readiness readiness_ = [] { return true; };
};

TEST_F(IdentityServiceTest, TellsNameVersionAndManifest) {
  IdentityService service(rpc_, kInfo, {}, readiness_);
  const ::identity::GetIdentityRequest request;
  ::identity::GetIdentityResponse response;
  InProcessServer server(service);
  grpc::ClientContext context;
  ASSERT_TRUE(::identity::Identity::NewStub(server.Channel())
                  ->GetIdentity(&context, request, &response)
                  .ok());
  EXPECT_EQ(response.name(), "rbd.csi.example.com");
  EXPECT_EQ(response.vendor_version(), "1.2.3");
  EXPECT_EQ(response.manifest().at("librbd"), "16");
}

TEST_F(IdentityServiceTest, AdvertisesTheControllersCapabilities) {
  EXPECT_THAT(CapabilityTexts({.controller = true}),
              ElementsAre("service.CONTROLLER_SERVICE", "reclaim_space.OFFLINE",
                          "network_fence.NETWORK_FENCE",
                          "volume_replication.VOLUME_REPLICATION",
                          "volume_replication.GET_REPLICATION_DESTINATION_INFO",
                          "volume_group.VOLUME_GROUP",
                          "volume_group.DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES",
                          "volume_group.LIMIT_VOLUME_TO_ONE_VOLUME_GROUP",
                          "volume_group.MODIFY_VOLUME_GROUP",
                          "volume_group.GET_VOLUME_GROUP",
                          "volume_group.LIST_VOLUME_GROUPS"));
}

TEST_F(IdentityServiceTest, AdvertisesTheNodesCapabilities) {
  EXPECT_THAT(CapabilityTexts({.node = true}),
              ElementsAre("service.NODE_SERVICE", "reclaim_space.ONLINE",
                          "encryption_key_rotation.ENCRYPTIONKEYROTATION",
                          "network_fence.GET_CLIENTS_TO_FENCE"));
}

TEST_F(IdentityServiceTest, AdvertisesWithoutAskingForReadiness) {
  readiness_ = [this]() -> absl::StatusOr<bool> {
    ADD_FAILURE() << "asked";
    return absl::UnavailableError("no");
  };
  EXPECT_EQ(CapabilityTexts({.controller = true}).size(), 11U);
}

TEST_F(IdentityServiceTest, ProbeSaysReady) {
  ::identity::ProbeResponse response;
  ASSERT_TRUE(Probe(&response).ok());
  ASSERT_TRUE(response.has_ready());
  EXPECT_TRUE(response.ready().value());
}

TEST_F(IdentityServiceTest, ProbeSaysNotReadyWhileStarting) {
  readiness_ = [] { return false; };
  ::identity::ProbeResponse response;
  ASSERT_TRUE(Probe(&response).ok());
  ASSERT_TRUE(response.has_ready());
  EXPECT_FALSE(response.ready().value());
}

TEST_F(IdentityServiceTest, ProbeFailsWithTheReason) {
  readiness_ = []() -> absl::StatusOr<bool> {
    return absl::UnavailableError("config.json is missing");
  };
  ::identity::ProbeResponse response;
  const grpc::Status status = Probe(&response);
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("config.json is missing"));
}

TEST_F(IdentityServiceTest, CsiIdentityHasTheSameName) {
  CsiIdentityService service(rpc_, kInfo, readiness_);
  const csi::v1::GetPluginInfoRequest request;
  csi::v1::GetPluginInfoResponse response;
  InProcessServer server(service);
  grpc::ClientContext context;
  ASSERT_TRUE(csi::v1::Identity::NewStub(server.Channel())
                  ->GetPluginInfo(&context, request, &response)
                  .ok());
  EXPECT_EQ(response.name(), "rbd.csi.example.com");
  EXPECT_EQ(response.vendor_version(), "1.2.3");
}

TEST_F(IdentityServiceTest, CsiIdentityHasNoPluginCapability) {
  CsiIdentityService service(rpc_, kInfo, readiness_);
  const csi::v1::GetPluginCapabilitiesRequest request;
  csi::v1::GetPluginCapabilitiesResponse response;
  InProcessServer server(service);
  grpc::ClientContext context;
  ASSERT_TRUE(csi::v1::Identity::NewStub(server.Channel())
                  ->GetPluginCapabilities(&context, request, &response)
                  .ok());
  EXPECT_EQ(response.capabilities_size(), 0);
}

TEST_F(IdentityServiceTest, CsiProbeFailsWithTheReason) {
  CsiIdentityService service(rpc_, kInfo, []() -> absl::StatusOr<bool> {
    return absl::UnavailableError("config.json is missing");
  });
  const csi::v1::ProbeRequest request;
  csi::v1::ProbeResponse response;
  InProcessServer server(service, {service.ProbeMethod()});
  grpc::ClientContext context;
  EXPECT_EQ(csi::v1::Identity::NewStub(server.Channel())
                ->Probe(&context, request, &response)
                .error_code(),
            grpc::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace addons
