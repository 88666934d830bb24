// fence.FenceController behind the socket, on a simulated cluster.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "identity/identity.grpc.pb.h"
#include "networkfence/auto_unfence.h"
#include "tests/rpc/fence_call.h"
#include "tests/rpc/replication_server.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Config Modes(bool controller, bool node) {
  Config config;
  config.modes.controller = controller;
  config.modes.node = node;
  return config;
}

class NetworkFenceServiceTest : public ::testing::Test {
 protected:
  FenceAnswer Call(const std::string& method, FenceAsk ask) {
    if (ask.user_id.empty()) ask.user_id = server_.a.user()->id;
    if (ask.user_key.empty()) ask.user_key = server_.a.user()->key.Reveal();
    return CallFence(server_.Channel(), method, ask);
  }
  grpc::Status Fence(std::vector<std::string> cidrs) {
    FenceAsk ask;
    ask.cidrs = std::move(cidrs);
    return Call("FenceClusterNetwork", ask).status;
  }
  grpc::Status Unfence(std::vector<std::string> cidrs) {
    FenceAsk ask;
    ask.cidrs = std::move(cidrs);
    return Call("UnfenceClusterNetwork", ask).status;
  }
  std::vector<std::string> List() {
    const FenceAnswer answer = Call("ListClusterFence", {});
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    return answer.cidrs;
  }

  ReplicationServer server_;
};

TEST_F(NetworkFenceServiceTest, FencesListsAndUnfences) {
  server_.Start();
  EXPECT_TRUE(Fence({"192.168.1.77/24", "fd99::1", "192.168.1.3"}).ok());
  EXPECT_THAT(List(), ElementsAre("192.168.1.0/24", "fd99::1/128"));
  EXPECT_TRUE(Unfence({"192.168.1.77/24", "fd99::1", "192.168.1.3"}).ok());
  EXPECT_THAT(List(), IsEmpty());
}

TEST_F(NetworkFenceServiceTest, NothingChangesWhenOneRangeIsWrong) {
  server_.Start();
  const grpc::Status status = Fence({"192.168.1.0/24", "192.168.2.0/33"});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("192.168.2.0/33"));
  EXPECT_THAT(Fence({"192.0.0.0/7"}).error_message(),
              HasSubstr("wider than this daemon fences"));
  EXPECT_THAT(List(), IsEmpty());
}

TEST_F(NetworkFenceServiceTest, WhatFencesNobodyIsRefusedAndCanBeUnfenced) {
  server_.Start();
  for (const std::string range :
       {"0.0.0.0/32", "::/128", "255.255.255.255", "224.0.0.0/24", "ff02::1"}) {
    const grpc::Status status = Fence({"192.168.1.1", range});
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << range;
    EXPECT_THAT(status.error_message(),
                HasSubstr("no node has such an address"))
        << range;
    // An entry that an older release has made.
    EXPECT_TRUE(Unfence({range}).ok()) << range;
  }
  EXPECT_THAT(List(), IsEmpty());
}

TEST_F(NetworkFenceServiceTest, MisspeltKeysAreRefusedWhereSomethingChanges) {
  server_.Start();
  FenceAsk ask;
  ask.cidrs = {"192.168.1.1"};
  ask.parameters["allowServiceClient"] = "true";
  for (const char* method : {"FenceClusterNetwork", "UnfenceClusterNetwork"}) {
    const grpc::Status status = Call(method, ask).status;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(),
                HasSubstr("parameter 'allowServiceClient' is not known; is "
                          "'allowServiceClients' meant?"));
  }
  EXPECT_THAT(List(), IsEmpty());
  for (const char* method : {"ListClusterFence", "GetFenceClients"}) {
    EXPECT_TRUE(Call(method, ask).status.ok()) << method;
  }
}

TEST_F(NetworkFenceServiceTest, AMissingSecretNamesTheKeysOfTheClass) {
  server_.Start();
  FenceAsk ask;
  ask.cidrs = {"192.168.1.1"};
  ask.user_key = " ";
  for (const char* method : kFenceMethods) {
    const grpc::Status status = Call(method, ask).status;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_THAT(
        status.error_message(),
        AllOf(HasSubstr("'secrets.userKey' is empty"),
              HasSubstr("csiaddons.openshift.io/networkfence-secret-name"),
              HasSubstr("NetworkFenceClass")));
  }
}

TEST_F(NetworkFenceServiceTest, WideEntriesOfOthersCanBeUnfenced) {
  server_.Start();
  server_.a.AddRangeBlocklistEntry("128.0.0.0:0/1", std::chrono::hours(1));
  EXPECT_TRUE(Unfence({"128.0.0.0/1"}).ok());
  EXPECT_THAT(List(), IsEmpty());
}

TEST_F(NetworkFenceServiceTest, EqualCallsAreOneOperation) {
  // A call that is not joined is refused at once.
  server_.SetConflictWait(std::chrono::milliseconds(0));
  server_.Hold("rados_object_list");
  server_.Start();
  std::vector<std::jthread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back(
        [this] { EXPECT_TRUE(Fence({"192.168.1.0/24"}).ok()); });
  }
  server_.AwaitHeld();
  server_.AwaitCalls("FenceClusterNetwork", 3, "fence.FenceController");
  server_.Release();
  callers.clear();
  EXPECT_THAT(List(), ElementsAre("192.168.1.0/24"));
}

TEST_F(NetworkFenceServiceTest, FenceAndUnfenceOfOneClusterTakeTurns) {
  // The same cluster under another name, too.
  server_.SetConflictWait(std::chrono::milliseconds(100));
  server_.WriteConfig(
      R"(}, {"clusterID": "other", "monitors": ["site-a:6789"])");
  server_.Hold("rados_object_list");
  server_.Start();
  std::jthread first([this] { EXPECT_TRUE(Fence({"192.168.1.0/24"}).ok()); });
  server_.AwaitHeld();
  FenceAsk ask;
  ask.cidrs = {"192.168.1.0/24"};
  ask.parameters = {{"clusterID", "other"}};
  EXPECT_EQ(Call("UnfenceClusterNetwork", ask).status.error_code(),
            grpc::StatusCode::ABORTED);
  // Looking is never held up.
  EXPECT_THAT(List(), ElementsAre("192.168.1.0/24"));
  server_.Release();
}

TEST_F(NetworkFenceServiceTest, FencesOfOtherRangesShareTheirLooks) {
  constexpr int kFences = 24;
  // A call that would have to wait for another one is refused at once.
  server_.SetConflictWait(std::chrono::milliseconds(0));
  server_.Hold("rados_object_list");
  server_.Start();
  std::vector<std::jthread> callers;
  for (int i = 0; i < kFences; ++i) {
    callers.emplace_back([this, i] {
      const grpc::Status status = Fence({absl::StrCat("192.168.", i, ".0/24")});
      EXPECT_TRUE(status.ok()) << status.error_message();
    });
    if (i == 0) server_.AwaitHeld();
  }
  server_.AwaitCalls("FenceClusterNetwork", kFences, "fence.FenceController");
  // All others have their entries while the first one's barrier is held up.
  const auto limit =
      std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (List().size() < kFences && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  server_.Release();
  callers.clear();
  EXPECT_THAT(List(), SizeIs(kFences));
  // The held one, and one for those who came meanwhile; on a slow machine
  // perhaps one more.
  EXPECT_LE(server_.CallsTo("rados_wait_for_latest_osdmap"), 4U);
}

TEST_F(NetworkFenceServiceTest, OverlappingRangesTakeTurns) {
  server_.Hold("rados_object_list");
  server_.Start();
  std::jthread first([this] { EXPECT_TRUE(Fence({"192.168.1.0/24"}).ok()); });
  server_.AwaitHeld();
  FenceAsk ask;
  ask.cidrs = {"192.168.1.7"};
  ask.deadline = std::chrono::seconds(2);
  const grpc::Status waited = Call("UnfenceClusterNetwork", ask).status;
  EXPECT_EQ(waited.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_THAT(waited.error_message(),
              AllOf(HasSubstr("192.168.1.0/24"), HasSubstr("repeat the call")));
  server_.Release();
  first.join();
  // It left its place.
  EXPECT_TRUE(Unfence({"192.168.1.0/24"}).ok());
  EXPECT_THAT(List(), IsEmpty());
}

TEST(NetworkFenceWorkersTest, AFenceRunsWhileAllWorkersOfItsClusterHang) {
  Config config;
  config.operations.control = {2, 1, 8};
  ReplicationServer server("a", config);
  server.AddMirrored();
  server.Hold("rbd_mirror_image_demote");
  server.Start();
  std::jthread stuck(
      [&] { EXPECT_TRUE(server.Call("DemoteVolume").status.ok()); });
  server.AwaitHeld();
  FenceAsk ask;
  ask.cidrs = {"192.168.1.0/24"};
  ask.user_id = server.a.user()->id;
  ask.user_key = server.a.user()->key.Reveal();
  const FenceAnswer answer =
      CallFence(server.Channel(), "FenceClusterNetwork", ask);
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  server.Release();
}

TEST_F(NetworkFenceServiceTest, ClientsAreAnsweredWithoutADeadline) {
  server_.Start();
  FenceAsk ask;
  ask.deadline = std::chrono::milliseconds(0);
  const FenceAnswer answer = Call("GetFenceClients", ask);
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.client_id, server_.a.fsid());
  EXPECT_THAT(answer.cidrs, ElementsAre(HasSubstr("/32")));
}

TEST_F(NetworkFenceServiceTest, OwnFenceStaysWithoutTheFlag) {
  server_.Start();
  const std::string own = Call("GetFenceClients", {}).cidrs.at(0);
  server_.a.AddRangeBlocklistEntry(own.substr(0, own.find('/')) + ":0/32",
                                   std::chrono::hours(1));
  EXPECT_TRUE(Call("GetFenceClients", {}).status.ok());
  EXPECT_THAT(List(), ElementsAre(own));
}

TEST(NetworkFenceModesTest, OwnFenceGoesWithTheFlagAndNeverFailsTheCall) {
  Config config = Modes(false, true);
  config.enable_fencing = true;
  ReplicationServer server("a", config);
  server.Start();
  FenceAsk ask;
  ask.user_id = server.a.user()->id;
  ask.user_key = server.a.user()->key.Reveal();
  const auto call = [&](const std::string& method) {
    return CallFence(server.Channel(), method, ask);
  };
  const std::string own = call("GetFenceClients").cidrs.at(0);
  server.a.AddRangeBlocklistEntry(own.substr(0, own.find('/')) + ":0/32",
                                  AutoUnfence::kAutomaticExpiry);
  server.world.Advance(std::chrono::minutes(6));
  server.a.AddRangeBlocklistEntry("192.168.9.9:0/32", std::chrono::hours(1));
  server.world.SetCallHook(
      [](absl::string_view, absl::string_view call_name, bool mutation) {
        return call_name == "rados_mon_command" && mutation ? EACCES : 0;
      });
  EXPECT_TRUE(call("GetFenceClients").status.ok());
  EXPECT_THAT(server.log(), HasSubstr("automatic fence not lifted"));
  server.world.SetCallHook(nullptr);
  EXPECT_TRUE(call("GetFenceClients").status.ok());
  EXPECT_THAT(call("ListClusterFence").cidrs, ElementsAre("192.168.9.9/32"));
}

TEST(NetworkFenceModesTest, APersonsFenceOfANodeStaysWithTheFlagToo) {
  Config config = Modes(true, true);
  config.enable_fencing = true;
  ReplicationServer server("a", config);
  server.Start();
  FenceAsk ask;
  ask.user_id = server.a.user()->id;
  ask.user_key = server.a.user()->key.Reveal();
  const std::string own =
      CallFence(server.Channel(), "GetFenceClients", ask).cidrs.at(0);
  ask.cidrs = {own};
  ask.parameters["expirySeconds"] = "86400";
  ask.parameters["allowServiceClients"] = "true";
  EXPECT_TRUE(
      CallFence(server.Channel(), "FenceClusterNetwork", ask).status.ok());
  server.world.Advance(std::chrono::minutes(6));
  EXPECT_TRUE(CallFence(server.Channel(), "GetFenceClients", ask).status.ok());
  EXPECT_THAT(CallFence(server.Channel(), "ListClusterFence", ask).cidrs,
              ElementsAre(own));
}

TEST(NetworkFenceModesTest, IsAdvertisedPerModeAndServedInBoth) {
  using Fence = ::identity::Capability::NetworkFence;
  struct {
    bool controller;
    bool node;
    std::vector<int> offered;
  } cases[] = {
      {true, false, {Fence::NETWORK_FENCE}},
      {false, true, {Fence::GET_CLIENTS_TO_FENCE}},
      {true, true, {Fence::NETWORK_FENCE, Fence::GET_CLIENTS_TO_FENCE}}};
  for (const auto& tested : cases) {
    ReplicationServer server("a", Modes(tested.controller, tested.node));
    server.Start();
    grpc::ClientContext context;
    ::identity::GetCapabilitiesResponse response;
    ASSERT_TRUE(::identity::Identity::NewStub(server.Channel())
                    ->GetCapabilities(&context, {}, &response)
                    .ok());
    std::vector<int> offered;
    for (const auto& capability : response.capabilities()) {
      if (capability.has_network_fence()) {
        offered.push_back(capability.network_fence().type());
      }
    }
    EXPECT_EQ(offered, tested.offered);
    for (const char* method : kFenceMethods) {
      EXPECT_EQ(CallFence(server.Channel(), method, {{"192.168.1.1"}})
                    .status.error_code(),
                grpc::StatusCode::UNAUTHENTICATED)
          << method;
    }
  }
}

TEST_F(NetworkFenceServiceTest, KeysAreNeverShown) {
  server_.Start();
  const std::string key = server_.a.user()->key.Reveal();
  for (const char* method : kFenceMethods) {
    FenceAsk ask;
    ask.cidrs = {"192.168.1.1"};
    const grpc::Status status = Call(method, ask).status;
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  server_.Stop();
  EXPECT_THAT(server_.log(),
              AllOf(HasSubstr("FenceClusterNetwork"), Not(HasSubstr(key))));
}

}  // namespace
}  // namespace addons::testing
