// replication.Controller for volume groups, through the socket: keys of the
// members, conflicts, changed membership, destination.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "ceph/mirror.h"
#include "tests/rpc/replication_server.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class GroupServiceTest : public ::testing::Test {
 protected:
  GroupServiceTest() { server_.AddMirroredGroup(); }
  void Start() {
    server_.world.Advance(minutes(1));
    server_.Start();
    server_.world.ClearCalls();
  }
  Ask OfGroup() {
    Ask ask;
    ask.group_id = server_.group_id;
    return ask;
  }
  int Primaries(FakeSite& site) {
    return (site.Info(server_.image).primary ? 1 : 0) +
           (site.Info(server_.second_image).primary ? 1 : 0);
  }
  ReplicationServer server_;
};

TEST_F(GroupServiceTest, DemoteDemotesEachMember) {
  Start();
  EXPECT_EQ(server_.Call("DemoteVolume", OfGroup()).status.error_code(),
            grpc::OK);
  EXPECT_EQ(Primaries(server_.a), 0);
}

TEST_F(GroupServiceTest, PromoteOnThePrimarySiteIsDone) {
  Start();
  Ask ask = OfGroup();
  // The first one puts the members into their rbd group.
  EXPECT_EQ(server_.Call("PromoteVolume", ask).status.error_code(), grpc::OK);
  server_.world.ClearCalls();
  EXPECT_EQ(server_.Call("PromoteVolume", ask).status.error_code(), grpc::OK);
  ask.force = true;
  EXPECT_EQ(server_.Call("PromoteVolume", ask).status.error_code(), grpc::OK);
  EXPECT_EQ(server_.world.CountMutations(), 0);
}

TEST_F(GroupServiceTest, DisableDisablesEachMember) {
  Start();
  EXPECT_EQ(
      server_.Call("DisableVolumeReplication", OfGroup()).status.error_code(),
      grpc::OK);
  EXPECT_EQ(server_.a.Info(server_.image).state, MirrorImageState::kDisabled);
  EXPECT_EQ(server_.a.Info(server_.second_image).state,
            MirrorImageState::kDisabled);
}

TEST_F(GroupServiceTest, EnableWantsTheClassToAgree) {
  Start();
  Ask ask = OfGroup();
  const auto unsaid = server_.Call("EnableVolumeReplication", ask);
  EXPECT_EQ(unsaid.status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(unsaid.status.error_message(),
              AllOf(HasSubstr("groupReplication"), HasSubstr("members")));
  ask.parameters["groupReplication"] = "all";
  EXPECT_EQ(server_.Call("EnableVolumeReplication", ask).status.error_code(),
            grpc::INVALID_ARGUMENT);
  ask.parameters["groupReplication"] = "members";
  EXPECT_EQ(server_.Call("EnableVolumeReplication", ask).status.error_code(),
            grpc::OK);
}

TEST_F(GroupServiceTest, ResyncOfAPrimaryGroupIsRefused) {
  Start();
  EXPECT_EQ(server_.Call("ResyncVolume", OfGroup()).status.error_code(),
            grpc::FAILED_PRECONDITION);
}

TEST_F(GroupServiceTest, InfoListsTheMembers) {
  Start();
  // Without a schedule they would not be protected.
  Ask promote = OfGroup();
  promote.parameters["schedulingInterval"] = "1h";
  ASSERT_TRUE(server_.Call("PromoteVolume", promote).status.ok());
  const auto answer = server_.Call("GetVolumeReplicationInfo", OfGroup());
  EXPECT_EQ(answer.status.error_code(), grpc::OK);
  EXPECT_THAT(answer.message,
              AllOf(HasSubstr("2 healthy"), HasSubstr(server_.id)));
}

TEST_F(GroupServiceTest, DestinationNamesTheGroupAndAllMembers) {
  Start();
  const auto answer = server_.Call("GetReplicationDestinationInfo", OfGroup());
  EXPECT_EQ(answer.status.error_code(), grpc::OK);
  const auto on_b = [this](const char* uuid) {
    return server_.pair.VolumeId(server_.b, uuid);
  };
  EXPECT_EQ(answer.destination, on_b(ReplicationServer::kGroupUuid));
  EXPECT_THAT(
      answer.member_destinations,
      UnorderedElementsAre(
          Pair(server_.id, on_b(ReplicationServer::kUuid)),
          Pair(server_.pair.VolumeId(server_.a, ReplicationServer::kSecondUuid),
               on_b(ReplicationServer::kSecondUuid))));
}

TEST_F(GroupServiceTest, GroupOnlyOfTheJournalIsNotFoundWithAHint) {
  Start();
  Ask ask;
  ask.group_id =
      server_.pair.VolumeId(server_.a, "ef99f915-2181-4dff-a96e-bb1ee41d9f46");
  const auto answer = server_.Call("DemoteVolume", ask);
  EXPECT_EQ(answer.status.error_code(), grpc::NOT_FOUND);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("CreateVolumeGroup"));
}

TEST_F(GroupServiceTest, DisableOfAnUnknownClusterIsNotDone) {
  Start();
  Ask ask;
  ask.group_id = absl::StrCat("0001-0009-elsewhere-0000000000000002-",
                              ReplicationServer::kGroupUuid);
  EXPECT_EQ(server_.Call("DisableVolumeReplication", ask).status.error_code(),
            grpc::UNAVAILABLE);
}

TEST_F(GroupServiceTest, VerbOfAMemberExcludesThatOfItsGroup) {
  server_.SetConflictWait(milliseconds(100));
  server_.Hold("rbd_mirror_image_demote");
  Start();
  {
    std::jthread member([&] { server_.Call("DemoteVolume"); });
    server_.AwaitHeld();
    Ask ask = OfGroup();
    ask.parameters["schedulingInterval"] = "1h";
    const auto refused = server_.Call("PromoteVolume", ask);
    EXPECT_EQ(refused.status.error_code(), grpc::ABORTED);
    EXPECT_THAT(refused.status.error_message(),
                HasSubstr("demote of volume '" + server_.id));
    server_.Release();
  }
}

TEST_F(GroupServiceTest, ChangedMembershipIsNoticed) {
  Start();
  // The group loses its second member between the two looks at its journal.
  std::atomic<int> reads{0};
  server_.world.SetCallHook(
      [&](absl::string_view, absl::string_view call, bool) {
        if (call == "rados_read_op_omap_get_vals2" && ++reads == 2) {
          server_.AddGroup({server_.id});
        }
        return 0;
      });
  EXPECT_EQ(server_.Call("DemoteVolume", OfGroup()).status.error_code(),
            grpc::OK);
  server_.world.SetCallHook(nullptr);
  EXPECT_FALSE(server_.a.Info(server_.image).primary);
  EXPECT_TRUE(server_.a.Info(server_.second_image).primary);
}

TEST_F(GroupServiceTest, MembershipThatNeverSettlesIsAborted) {
  Start();
  std::atomic<int> reads{0};
  // Each time another one has joined.
  server_.world.SetCallHook([&](absl::string_view, absl::string_view call,
                                bool) {
    if (call != "rados_read_op_omap_get_vals2") return 0;
    const std::string joined = absl::StrFormat("5ef79ce1-81e8-439b-8405-%012d",
                                               static_cast<int>(++reads));
    server_.AddGroup({server_.id, server_.pair.VolumeId(server_.a, joined)});
    return 0;
  });
  const auto answer = server_.Call("DemoteVolume", OfGroup());
  server_.world.SetCallHook(nullptr);
  EXPECT_EQ(answer.status.error_code(), grpc::ABORTED);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("again and again"));
  EXPECT_EQ(server_.world.CountMutations(), 0);
}

TEST_F(GroupServiceTest, EqualCallsAtTheSameTimeAreOneOperation) {
  server_.Hold("rbd_mirror_image_demote");
  Start();
  std::vector<grpc::Status> answers(3);
  {
    std::vector<std::jthread> callers;
    callers.emplace_back(
        [&] { answers[0] = server_.Call("DemoteVolume", OfGroup()).status; });
    server_.AwaitHeld();
    for (size_t i = 1; i < answers.size(); ++i) {
      callers.emplace_back([&, i] {
        answers[i] = server_.Call("DemoteVolume", OfGroup()).status;
      });
    }
    server_.AwaitCalls("DemoteVolume", answers.size());
    server_.Release();
  }
  for (const auto& answer : answers) EXPECT_EQ(answer.error_code(), grpc::OK);
  EXPECT_EQ(server_.world.CountCalls("a", "rbd_mirror_image_demote"), 2);
}

TEST(GroupServiceOnPeerTest, PlannedMoveTakesBothMembers) {
  ReplicationServer server("b");
  server.AddMirroredGroup();
  server.world.Advance(minutes(1));
  server.Start();
  Ask ask;
  ask.group_id = server.group_id;
  server.a.Demote(server.image);
  // It arrives: otherwise the first call may be answered before that, for
  // simulated time runs much faster than the caller's.
  server.world.Advance(minutes(1));
  ask.deadline = milliseconds(700);
  const auto waiting = server.Call("PromoteVolume", ask);
  // By then the member that is still primary may have been so for the settle
  // time.
  EXPECT_NE(waiting.status.error_code(), grpc::OK);
  EXPECT_THAT(waiting.status.error_message(), HasSubstr("1 ready"));
  EXPECT_FALSE(server.b.Info(server.image).primary);
  server.a.Demote(server.second_image);
  server.world.Advance(minutes(1));  // it arrives
  ask.deadline = seconds(20);
  EXPECT_EQ(server.Call("PromoteVolume", ask).status.error_code(), grpc::OK);
  EXPECT_TRUE(server.b.Info(server.image).primary);
  EXPECT_TRUE(server.b.Info(server.second_image).primary);
}

// Its members are primary on the other site, so it waits, with the only worker
// that there is; between its looks others have it.
TEST(GroupServiceOnPeerTest, AGroupThatWaitsLeavesItsWorkerToOthers) {
  Config config;
  config.operations.control = {1, 1, 8};
  ReplicationServer server("b", config);
  server.UseRealTime();
  server.AddMirroredGroup();
  const std::string plain =
      server.pair.AddVolume(server.b, "0c4f5a8e-3d35-4b64-8f6a-6a3c63a52e11");
  server.world.Advance(minutes(1));
  server.Start();
  Ask ask;
  ask.group_id = server.group_id;
  ask.deadline = seconds(8);
  std::jthread group([&] {
    const grpc::Status waited = server.Call("PromoteVolume", ask).status;
    EXPECT_EQ(waited.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(waited.error_message(), HasSubstr("2 waiting"));
  });
  // It has found by then that it has to wait.
  std::this_thread::sleep_for(seconds(2));
  Ask other;
  other.volume_id = plain;
  other.deadline = seconds(5);
  EXPECT_EQ(server.Call("DisableVolumeReplication", other).status.error_code(),
            grpc::OK);
}

}  // namespace
}  // namespace addons::testing
