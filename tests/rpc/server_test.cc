// The whole daemon behind its socket, except Ceph.

#include <gmock/gmock.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <string>

#include "cli/methods.h"
#include "csi/csi.grpc.pb.h"
#include "fence/fence.grpc.pb.h"
#include "identity/identity.grpc.pb.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "reclaimspace/reclaimspace.grpc.pb.h"
#include "replication/replication.grpc.pb.h"
#include "rpc/method.h"
#include "tests/rpc/app_fixture.h"
#include "tests/rpc/raw_call.h"

namespace addons {
namespace {

using ::addons::testing::AppFixture;
using ::addons::testing::BoundedContext;
using ::addons::testing::RawCall;
using ::addons::testing::RawResult;
using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

class ServerTest : public AppFixture {
 protected:
  grpc::Status Probe(::identity::ProbeResponse* response) {
    return ::identity::Identity::NewStub(Channel())->Probe(
        BoundedContext().get(), {}, response);
  }

  std::set<std::string> Capabilities() {
    ::identity::GetCapabilitiesResponse response;
    const grpc::Status status =
        ::identity::Identity::NewStub(Channel())->GetCapabilities(
            BoundedContext().get(), {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::set<std::string> names;
    for (const auto& capability : response.capabilities()) {
      if (capability.has_service()) {
        names.insert(::identity::Capability::Service::Type_Name(
            capability.service().type()));
      } else if (capability.has_volume_replication()) {
        names.insert(::identity::Capability::VolumeReplication::Type_Name(
            capability.volume_replication().type()));
      } else if (capability.has_reclaim_space()) {
        names.insert(::identity::Capability::ReclaimSpace::Type_Name(
            capability.reclaim_space().type()));
      } else if (capability.has_encryption_key_rotation()) {
        names.insert(::identity::Capability::EncryptionKeyRotation::Type_Name(
            capability.encryption_key_rotation().type()));
      } else {
        names.insert(std::to_string(capability.type_case()));
      }
    }
    return names;
  }

  // The answer of grpc.health.v1, as the number of its enum; -1 for an error.
  int Health() {
    const RawResult result =
        RawCall(Channel(), "/grpc.health.v1.Health/Check", "");
    // HealthCheckResponse { ServingStatus status = 1 }.
    if (!result.status.ok() || result.answer.size() != 2) return -1;
    return result.answer[1];
  }
};

TEST_F(ServerTest, TellsItsIdentity) {
  config_.driver_name = "rbd.csi.example.com";
  ASSERT_OK(Start());
  ::identity::GetIdentityResponse response;
  ASSERT_TRUE(::identity::Identity::NewStub(Channel())
                  ->GetIdentity(BoundedContext().get(), {}, &response)
                  .ok());
  EXPECT_EQ(response.name(), "rbd.csi.example.com");
  EXPECT_NE(response.vendor_version(), "");
  EXPECT_EQ(response.manifest().at("csi"), "1.12");
}

TEST_F(ServerTest, TheControllerAdvertisesReplication) {
  ASSERT_OK(Start());
  EXPECT_THAT(Capabilities(),
              IsSupersetOf({"CONTROLLER_SERVICE", "VOLUME_REPLICATION",
                            "GET_REPLICATION_DESTINATION_INFO"}));
}

TEST_F(ServerTest, TheNodeAdvertisesNothingOfTheController) {
  config_.modes = {.controller = false, .node = true};
  ASSERT_OK(Start());
  const std::set<std::string> names = Capabilities();
  EXPECT_EQ(names.count("NODE_SERVICE"), 1U);
  EXPECT_EQ(names.count("CONTROLLER_SERVICE"), 0U);
  EXPECT_EQ(names.count("VOLUME_REPLICATION"), 0U);
}

TEST_F(ServerTest, TheNodeTrims) {
  config_.modes = {.controller = false, .node = true};
  ASSERT_OK(Start());
  EXPECT_EQ(Capabilities().count("ONLINE"), 1U);
  ::reclaimspace::NodeReclaimSpaceRequest request;
  request.set_volume_id(VolumeId());
  request.set_staging_target_path(dir_.path());
  ::reclaimspace::NodeReclaimSpaceResponse response;
  const grpc::Status status =
      ::reclaimspace::ReclaimSpaceNode::NewStub(Channel())->NodeReclaimSpace(
          BoundedContext().get(), request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(),
              HasSubstr(dir_.path() + "/" + VolumeId()));
}

TEST_F(ServerTest, TheControllerDoesNotTrim) {
  ASSERT_OK(Start());
  EXPECT_EQ(Capabilities().count("ONLINE"), 0U);
  const grpc::Status status =
      RawCall(Channel(), "/reclaimspace.ReclaimSpaceNode/NodeReclaimSpace", "")
          .status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("without --nodeserver"));
  EXPECT_THAT(log_.text(), HasSubstr("without --nodeserver"));
}

constexpr char kRotate[] =
    "/encryptionkeyrotation.EncryptionKeyRotationController/"
    "EncryptionKeyRotate";

TEST_F(ServerTest, KeysAreNotRotatedUnlessAsked) {
  config_.modes = {.controller = false, .node = true};
  ASSERT_OK(Start());
  EXPECT_EQ(Capabilities().count("ONLINE"), 1U);
  EXPECT_EQ(Capabilities().count("ENCRYPTIONKEYROTATION"), 0U);
  const grpc::Status status = RawCall(Channel(), kRotate, "").status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("without --key-rotation"));
}

TEST_F(ServerTest, KeysAreRotatedWhereTheFlagSaysSo) {
  config_.modes = {.controller = false, .node = true};
  config_.rotate_keys = true;
  ASSERT_OK(Start());
  EXPECT_EQ(Capabilities().count("ENCRYPTIONKEYROTATION"), 1U);
  const grpc::Status status = RawCall(Channel(), kRotate, "").status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("volume_id"));
}

TEST_F(ServerTest, AdvertisesAlsoWithoutAConfiguration) {
  std::filesystem::remove(dir_.File("config.json"));
  ASSERT_OK(Start());
  EXPECT_EQ(Capabilities().count("CONTROLLER_SERVICE"), 1U);
}

TEST_F(ServerTest, ProbeSaysReady) {
  ASSERT_OK(Start());
  ::identity::ProbeResponse response;
  ASSERT_TRUE(Probe(&response).ok());
  EXPECT_TRUE(response.ready().value());
}

TEST_F(ServerTest, ProbeNamesTheMissingConfiguration) {
  std::filesystem::remove(dir_.File("config.json"));
  ASSERT_OK(Start());
  ::identity::ProbeResponse response;
  const grpc::Status status = Probe(&response);
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr(dir_.File("config.json")));
}

TEST_F(ServerTest, ProbeNoticesAConfigurationThatArrives) {
  std::filesystem::remove(dir_.File("config.json"));
  ASSERT_OK(Start());
  ::identity::ProbeResponse response;
  ASSERT_FALSE(Probe(&response).ok());
  WriteConfig();
  EXPECT_TRUE(Probe(&response).ok());
}

TEST_F(ServerTest, AnswersTheLivenessSidecar) {
  ASSERT_OK(Start());
  const auto stub = csi::v1::Identity::NewStub(Channel());
  csi::v1::ProbeResponse probe;
  EXPECT_TRUE(stub->Probe(BoundedContext().get(), {}, &probe).ok());
  EXPECT_TRUE(probe.ready().value());
  csi::v1::GetPluginInfoResponse info;
  EXPECT_TRUE(stub->GetPluginInfo(BoundedContext().get(), {}, &info).ok());
  EXPECT_EQ(info.name(), config_.driver_name);
}

TEST_F(ServerTest, AnswersHealthChecks) {
  ASSERT_OK(Start());
  constexpr int kServing = 1;
  EXPECT_EQ(Health(), kServing);
}

TEST_F(ServerTest, OffersReflection) {
  ASSERT_OK(Start());
  // A ServerReflectionRequest with list_services = 7: "*".
  const RawResult result =
      RawCall(Channel(),
              "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
              std::string("\x3a\x01*", 3));
  EXPECT_THAT(result.answer, HasSubstr("identity.Identity"));
  EXPECT_THAT(result.answer, HasSubstr("replication.Controller"));
  EXPECT_THAT(result.answer, Not(HasSubstr("rbdaddons.admin.v1")));
}

TEST_F(ServerTest, CallersOfCsiAddonsAreNoAdministrators) {
  config_.modes.node = true;
  ASSERT_OK(Start());
  size_t methods = 0;
  for (const auto* const method : AllMethods()) {
    const std::string name = MethodName(*method);
    if (!IsForAdministrators(name)) continue;
    ++methods;
    const grpc::Status status = RawCall(Channel(), "/" + name, "").status;
    EXPECT_EQ(status.error_code(), grpc::UNIMPLEMENTED) << name;
    EXPECT_THAT(status.error_message(), AllOf(HasSubstr(admin_endpoint()),
                                              HasSubstr("--admin-endpoint")))
        << name;
    EXPECT_NE(RawCall(AdminChannel(), "/" + name, "").status.error_code(),
              grpc::UNIMPLEMENTED)
        << name;
  }
  EXPECT_GE(methods, 9U);
}

TEST_F(ServerTest, AdministratorsAreNoCallersOfCsiAddons) {
  config_.modes.node = true;
  ASSERT_OK(Start());
  for (const auto* const method : AllMethods()) {
    const std::string name = MethodName(*method);
    if (IsForAdministrators(name) ||
        method->service()->full_name() == "identity.Identity") {
      continue;
    }
    EXPECT_EQ(RawCall(AdminChannel(), "/" + name, "").status.error_code(),
              grpc::UNIMPLEMENTED)
        << name;
  }
  const grpc::Status status =
      RawCall(AdminChannel(), "/replication.Controller/PromoteVolume", "")
          .status;
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("for administrators"), HasSubstr(endpoint())));
}

TEST_F(ServerTest, TheAdministratorsSocketTellsWhoItIs) {
  ASSERT_OK(Start());
  ::identity::ProbeResponse probe;
  ASSERT_TRUE(::identity::Identity::NewStub(AdminChannel())
                  ->Probe(BoundedContext().get(), {}, &probe)
                  .ok());
  EXPECT_TRUE(probe.ready().value());
  EXPECT_TRUE(
      RawCall(AdminChannel(), "/grpc.health.v1.Health/Check", "").status.ok());
  const RawResult listed =
      RawCall(AdminChannel(),
              "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
              std::string("\x3a\x01*", 3));
  EXPECT_THAT(listed.answer, AllOf(HasSubstr("rbdaddons.admin.v1.Operations"),
                                   Not(HasSubstr("replication.Controller"))));
}

TEST_F(ServerTest, WithoutASocketAdministratorsAreServedNowhere) {
  config_.admin_socket_path = "";
  ASSERT_OK(Start());
  const grpc::Status status =
      RawCall(Channel(), "/rbdaddons.admin.v1.Operations/ListOperations", "")
          .status;
  EXPECT_EQ(status.error_code(), grpc::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("served nowhere"));
}

TEST_F(ServerTest, AnAdministratorsSocketThatCannotBeIsAnError) {
  config_.admin_socket_path = dir_.File("missing/a");
  EXPECT_THAT(Start(), StatusIs(absl::StatusCode::kInternal,
                                AllOf(HasSubstr("missing"),
                                      HasSubstr("--admin-endpoint"))));
  EXPECT_FALSE(std::filesystem::exists(config_.socket_path));
}

TEST_F(ServerTest, RefusesMethodsOfServicesThatItDoesNotServe) {
  config_.modes = {};
  ASSERT_OK(Start());
  ::replication::PromoteVolumeResponse response;
  const grpc::Status status =
      ::replication::Controller::NewStub(Channel())->PromoteVolume(
          BoundedContext().get(), {}, &response);
  EXPECT_EQ(status.error_code(), grpc::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("without --controllerserver"));
}

TEST_F(ServerTest, ServesAdministratorsInEveryMode) {
  config_.modes = {};
  ASSERT_OK(Start());
  ::rbdaddons::admin::v1::ListOperationsResponse response;
  const grpc::Status status =
      ::rbdaddons::admin::v1::Operations::NewStub(AdminChannel())
          ->ListOperations(BoundedContext().get(), {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.lanes_size(), 3);
}

TEST_F(ServerTest, SaysWhatIsWrongWithARequestThatCannotBeRead) {
  ASSERT_OK(Start());
  // Not a message; and one whose volume_id, field 1, is not UTF-8.
  for (const std::string& request :
       {std::string("\xff\xff\xff"), std::string("\x0a\x02\xc0\xaf")}) {
    for (const char* method : {"/replication.Controller/PromoteVolume",
                               "/reclaimspace.ReclaimSpaceController/"
                               "ControllerReclaimSpace"}) {
      const grpc::Status status = RawCall(Channel(), method, request).status;
      EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << method;
      EXPECT_THAT(status.error_message(),
                  AllOf(HasSubstr("cannot be read"), HasSubstr("(request ")));
    }
  }
  const std::string log = log_.text();
  EXPECT_THAT(log, HasSubstr("replication.Controller/PromoteVolume"));
  EXPECT_THAT(log, HasSubstr("INVALID_ARGUMENT"));
}

TEST_F(ServerTest, RefusesUnknownMethods) {
  ASSERT_OK(Start());
  for (const char* method :
       {"/identity.Identity/Unknown", "/no.Such/Method", "/nonsense"}) {
    const grpc::Status status = RawCall(Channel(), method, "").status;
    EXPECT_EQ(status.error_code(), grpc::UNIMPLEMENTED) << method;
    EXPECT_THAT(status.error_message(), HasSubstr("rbd-addonsd")) << method;
  }
}

TEST_F(ServerTest, RefusesMessagesOfMoreThanFourMebibytes) {
  ASSERT_OK(Start());
  EXPECT_EQ(RawCall(Channel(), "/identity.Identity/GetIdentity",
                    std::string((4U << 20U) + 1, 'x'))
                .status.error_code(),
            grpc::RESOURCE_EXHAUSTED);
}

TEST_F(ServerTest, ReadsMessagesOfNearlyFourMebibytes) {
  ASSERT_OK(Start());
  ::replication::PromoteVolumeRequest request;
  (*request.mutable_secrets())["a"] = std::string((4U << 20U) - 1000, 'x');
  ::replication::PromoteVolumeResponse response;
  const grpc::Status status =
      ::replication::Controller::NewStub(Channel())->PromoteVolume(
          BoundedContext().get(), request, &response);
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("secrets: is "));
}

TEST_F(ServerTest, RefusesTextThatIsNotUtf8) {
  ASSERT_OK(Start());
  // PromoteVolumeRequest.volume_id = "\xff".
  const grpc::Status status =
      RawCall(Channel(), "/replication.Controller/PromoteVolume",
              std::string("\x0a\x01\xff", 3))
          .status;
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.error_code(), grpc::FAILED_PRECONDITION);
}

TEST_F(ServerTest, NamesAFieldThatIsTooLong) {
  ASSERT_OK(Start());
  ::replication::PromoteVolumeRequest request;
  request.mutable_replication_source()->mutable_volume()->set_volume_id(
      std::string(129, 'v'));
  ::replication::PromoteVolumeResponse response;
  const grpc::Status status =
      ::replication::Controller::NewStub(Channel())->PromoteVolume(
          BoundedContext().get(), request, &response);
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(),
              HasSubstr("replication_source.volume.volume_id"));
}

TEST_F(ServerTest, ServesSeveralConnectionsAndManyCalls) {
  ASSERT_OK(Start());
  for (int connection = 0; connection < 3; ++connection) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto stub = ::identity::Identity::NewStub(grpc::CreateCustomChannel(
        "unix:" + config_.socket_path, grpc::InsecureChannelCredentials(),
        arguments));
    for (int call = 0; call < 20; ++call) {
      ::identity::ProbeResponse response;
      ASSERT_TRUE(stub->Probe(BoundedContext().get(), {}, &response).ok());
    }
  }
  uint64_t probes = 0;
  for (const CallCount& count : app_->rpc().stats().Counts()) {
    if (count.method == "identity.Identity/Probe") probes += count.calls;
  }
  EXPECT_EQ(probes, 60U);
}

TEST_F(ServerTest, TheSocketHasItsMode) {
  config_.socket_mode = 0660;
  ASSERT_OK(Start());
  struct stat info {};
  ASSERT_EQ(lstat(config_.socket_path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & mode_t{0777}, 0660U);
  // Who may call as the sidecar may not cancel what it began.
  ASSERT_EQ(lstat(config_.admin_socket_path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & mode_t{0777}, 0600U);
}

TEST_F(ServerTest, ASecondDaemonRefusesToStart) {
  ASSERT_OK(Start());
  AppParts parts;
  parts.clusters =
      std::make_unique<::addons::testing::ScriptedClusters>(connect_);
  EXPECT_THAT(App::Create(config_, std::move(parts)).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("serves there already")));
  ::identity::ProbeResponse response;
  EXPECT_TRUE(Probe(&response).ok());
}

TEST_F(ServerTest, ADaemonThatComesBackIsReachedAgain) {
  ASSERT_OK(Start());
  app_.reset();
  EXPECT_FALSE(std::filesystem::exists(config_.socket_path));
  EXPECT_FALSE(std::filesystem::exists(config_.admin_socket_path));
  ASSERT_OK(Start());
  ::identity::ProbeResponse response;
  EXPECT_TRUE(Probe(&response).ok());
}

}  // namespace
}  // namespace addons
