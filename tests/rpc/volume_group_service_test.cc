// volumegroup.Controller through the socket: what is refused, pages, and calls
// for one group that come at the same time, also those of replication.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "ceph/mirror.h"
#include "identity/identity.grpc.pb.h"
#include "tests/rpc/reclaim_call.h"
#include "tests/rpc/replication_server.h"
#include "tests/rpc/volume_group_call.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kCreate[] = "CreateVolumeGroup";
constexpr char kModify[] = "ModifyVolumeGroupMembership";
constexpr char kDelete[] = "DeleteVolumeGroup";
constexpr char kList[] = "ListVolumeGroups";
constexpr char kGet[] = "ControllerGetVolumeGroup";
constexpr char kThirdUuid[] = "00000000-0000-4000-8000-000000000003";

class VolumeGroupServiceTest : public ::testing::Test {
 protected:
  VolumeGroupAnswer Call(const std::string& method, VolumeGroupAsk ask) {
    ask.user_id = server_.a.user()->id;
    if (ask.user_key.empty()) ask.user_key = server_.a.user()->key.Reveal();
    if (method == kCreate && ask.parameters.empty()) {
      ask.parameters = {{"clusterID", server_.a.cluster_id()},
                        {"pool", MirroredPair::kPool}};
    }
    return CallVolumeGroup(server_.Channel(), method, ask);
  }
  VolumeGroupAnswer Create(const std::string& name,
                           const std::vector<std::string>& volumes) {
    VolumeGroupAsk ask;
    ask.name = name;
    ask.volume_ids = volumes;
    return Call(kCreate, ask);
  }
  VolumeGroupAnswer Modify(const std::string& id,
                           const std::vector<std::string>& volumes) {
    VolumeGroupAsk ask;
    ask.group_id = id;
    ask.volume_ids = volumes;
    return Call(kModify, ask);
  }
  VolumeGroupAnswer OnGroup(const std::string& method, const std::string& id) {
    VolumeGroupAsk ask;
    ask.group_id = id;
    return Call(method, ask);
  }
  std::string AddVolume(const std::string& uuid) {
    return server_.pair.AddVolume(server_.a, uuid);
  }
  ReplicationServer server_;
};

TEST_F(VolumeGroupServiceTest, AGroupLivesFromCreateToDelete) {
  server_.Start();
  const std::string one = AddVolume(ReplicationServer::kUuid);
  const std::string two = AddVolume(ReplicationServer::kSecondUuid);
  const auto created = Create("vg", {one});
  ASSERT_TRUE(created.status.ok()) << created.status.error_message();
  EXPECT_EQ(created.context.at("pool"), MirroredPair::kPool);
  const std::string id = created.group_id;
  EXPECT_EQ(Create("vg", {one}).group_id, id);
  EXPECT_THAT(Modify(id, {one, two}).volume_ids,
              UnorderedElementsAre(one, two));
  EXPECT_THAT(OnGroup(kGet, id).volume_ids, UnorderedElementsAre(one, two));
  EXPECT_THAT(Call(kList, {}).listed, ElementsAre(id));
  EXPECT_EQ(OnGroup(kDelete, id).status.error_code(),
            grpc::FAILED_PRECONDITION);
  EXPECT_TRUE(Modify(id, {}).status.ok());
  EXPECT_TRUE(OnGroup(kDelete, id).status.ok());
  EXPECT_TRUE(OnGroup(kDelete, id).status.ok());
  EXPECT_EQ(OnGroup(kGet, id).status.error_code(), grpc::NOT_FOUND);
  EXPECT_THAT(Call(kList, {}).listed, IsEmpty());
}

// As after a failover: nobody has made the group on this site.
TEST_F(VolumeGroupServiceTest, AGroupThatModifyHasAdoptedIsReplicated) {
  server_.AddMirrored();
  server_.Start();
  Ask of_group;
  of_group.group_id =
      server_.pair.VolumeId(server_.a, ReplicationServer::kGroupUuid);
  of_group.parameters = {{"groupReplication", "members"}};
  for (const char* verb : {"EnableVolumeReplication", "PromoteVolume"}) {
    const auto unknown = server_.Call(verb, of_group);
    EXPECT_EQ(unknown.status.error_code(), grpc::NOT_FOUND);
    EXPECT_THAT(unknown.status.error_message(), HasSubstr(kModify));
  }
  VolumeGroupAsk ask;
  ask.group_id = of_group.group_id;
  ask.volume_ids = {server_.id};
  ask.parameters = {{"volumeGroupNamePrefix", "a/b"}};
  EXPECT_EQ(Call(kModify, ask).status.error_code(), grpc::INVALID_ARGUMENT);
  ask.parameters = {{"volumeGroupNamePrefix", "mine-"}};
  const auto adopted = Call(kModify, ask);
  ASSERT_TRUE(adopted.status.ok()) << adopted.status.error_message();
  EXPECT_EQ(adopted.group_id, of_group.group_id);
  EXPECT_THAT(adopted.volume_ids, ElementsAre(server_.id));
  EXPECT_EQ(server_.a.Groups(MirroredPair::kPool, "").begin()->first,
            std::string("mine-") + ReplicationServer::kGroupUuid);
  for (const char* verb : {"EnableVolumeReplication", "PromoteVolume"}) {
    const auto known = server_.Call(verb, of_group);
    EXPECT_TRUE(known.status.ok()) << known.status.error_message();
  }
}

// A reclaim gives way to it, although no journal has the group.
TEST_F(VolumeGroupServiceTest, AnAdoptionEndsTheReclaimOfAVolume) {
  server_.UseRealTime();
  // Half a minute of work.
  server_.id = server_.pair.AddVolume(server_.a, ReplicationServer::kUuid,
                                      uint64_t{64} << 30);
  server_.a.SetUsage(server_.image, 16384, 16384);
  server_.Start();
  Reclaimed reclaimed;
  std::jthread reclaim([&] { reclaimed = Reclaim(server_); });
  const auto limit =
      std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (server_.a.UsedObjects(server_.image) > 16300) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit);
    std::this_thread::yield();
  }
  const auto adopted =
      Modify(server_.pair.VolumeId(server_.a, ReplicationServer::kGroupUuid),
             {server_.id});
  EXPECT_TRUE(adopted.status.ok()) << adopted.status.error_message();
  reclaim.join();
  EXPECT_EQ(reclaimed.status.error_code(), grpc::ABORTED);
}

TEST_F(VolumeGroupServiceTest, MisspeltKeysAreRefusedWhereAVolumeMayJoin) {
  server_.Start();
  const std::string volume = AddVolume(ReplicationServer::kUuid);
  const std::string id = Create("vg", {volume}).group_id;
  VolumeGroupAsk ask;
  ask.name = "other";
  ask.group_id = id;
  ask.volume_ids = {volume};
  ask.parameters = {{"clusterID", server_.a.cluster_id()},
                    {"pool", MirroredPair::kPool},
                    {"flattenmode", "force"}};
  for (const char* method : {kCreate, kModify}) {
    const grpc::Status status = Call(method, ask).status;
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << method;
    EXPECT_THAT(status.error_message(), HasSubstr("is 'flattenMode' meant?"));
  }
  // One that was made before its class was changed can be emptied, and go.
  ask.volume_ids.clear();
  EXPECT_TRUE(Call(kModify, ask).status.ok());
  EXPECT_TRUE(OnGroup(kDelete, id).status.ok());
}

TEST_F(VolumeGroupServiceTest, AMissingSecretNamesTheKeysOfTheClass) {
  server_.Start();
  VolumeGroupAsk ask;
  ask.name = "vg";
  ask.group_id = server_.pair.VolumeId(server_.a, kThirdUuid);
  ask.user_key = " ";
  for (const char* method : kVolumeGroupMethods) {
    const grpc::Status status = Call(method, ask).status;
    EXPECT_EQ(status.error_code(), grpc::UNAUTHENTICATED) << method;
    EXPECT_THAT(status.error_message(),
                AllOf(HasSubstr("replication.storage.openshift.io/"
                                "group-replication-secret-name"),
                      HasSubstr("VolumeGroupReplicationClass")));
  }
}

TEST_F(VolumeGroupServiceTest, EmptyNamesAndIdsAreInvalid) {
  server_.Start();
  for (const char* method : {kCreate, kModify, kDelete, kGet}) {
    EXPECT_EQ(Call(method, {}).status.error_code(), grpc::INVALID_ARGUMENT)
        << method;
  }
  for (const char* method : kReplicationMethods) {
    Ask ask;
    ask.volume_id = ReplicationServer::kEmptyGroup;
    const auto answer = server_.Call(method, ask);
    EXPECT_EQ(answer.status.error_code(), grpc::INVALID_ARGUMENT) << method;
    EXPECT_THAT(answer.status.error_message(), HasSubstr("volume_group_id"));
  }
}

TEST_F(VolumeGroupServiceTest, AListIsReadPageByPage) {
  server_.Start();
  std::vector<std::string> ids;
  for (const std::string name : {"vg-1", "vg-2", "vg-3"}) {
    ids.push_back(Create(name, {}).group_id);
  }
  VolumeGroupAsk ask;
  ask.max_entries = 2;
  const auto first = Call(kList, ask);
  EXPECT_THAT(first.listed, ElementsAre(ids[0], ids[1]));
  // The group that the token names may go meanwhile.
  EXPECT_TRUE(OnGroup(kDelete, ids[1]).status.ok());
  ask.token = first.next_token;
  const auto second = Call(kList, ask);
  EXPECT_THAT(second.listed, ElementsAre(ids[2]));
  EXPECT_EQ(second.next_token, "");
  ask.token = "no token";
  EXPECT_EQ(Call(kList, ask).status.error_code(), grpc::ABORTED);
  ask.token = "";
  ask.max_entries = -1;
  EXPECT_EQ(Call(kList, ask).status.error_code(), grpc::INVALID_ARGUMENT);
}

TEST_F(VolumeGroupServiceTest, CapabilitiesAreInTheDriversOrder) {
  server_.Start();
  grpc::ClientContext context;
  ::identity::GetCapabilitiesResponse response;
  ASSERT_TRUE(::identity::Identity::NewStub(server_.Channel())
                  ->GetCapabilities(&context, {}, &response)
                  .ok());
  using Group = ::identity::Capability::VolumeGroup;
  std::vector<int> types;
  for (const auto& capability : response.capabilities()) {
    if (capability.has_volume_group()) {
      types.push_back(capability.volume_group().type());
    }
  }
  EXPECT_THAT(
      types,
      ElementsAre(Group::VOLUME_GROUP, Group::DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES,
                  Group::LIMIT_VOLUME_TO_ONE_VOLUME_GROUP,
                  Group::MODIFY_VOLUME_GROUP, Group::GET_VOLUME_GROUP,
                  Group::LIST_VOLUME_GROUPS));
}

/// A group of two volumes that are mirrored, and one that may join.
class ReplicatedVolumeGroupTest : public VolumeGroupServiceTest {
 protected:
  ReplicatedVolumeGroupTest() {
    server_.AddMirroredGroup();
    members_ = {server_.id, server_.pair.VolumeId(
                                server_.a, ReplicationServer::kSecondUuid)};
    third_ = AddVolume(kThirdUuid);
    server_.world.Advance(minutes(1));
  }
  Ask OfGroup() {
    Ask ask;
    ask.group_id = server_.group_id;
    ask.parameters["groupReplication"] = "members";
    return ask;
  }
  bool Mirrored(const std::string& uuid) {
    return server_.a.Info(MirroredPair::ImageOf(uuid)).state ==
           MirrorImageState::kEnabled;
  }
  std::vector<std::string> All() const {
    return {members_[0], members_[1], third_};
  }
  void CallsWaitForEachOther(const std::string& held,
                             const std::vector<std::string>& verbs);

  std::vector<std::string> members_;
  std::string third_;
};

TEST_F(ReplicatedVolumeGroupTest, WhoComesIsMirroredAndWhoLeavesIsNot) {
  server_.Start();
  EXPECT_TRUE(Modify(server_.group_id, All()).status.ok());
  EXPECT_TRUE(Mirrored(kThirdUuid));
  EXPECT_TRUE(Modify(server_.group_id, {members_[0], third_}).status.ok());
  // What was mirrored before the group was, keeps its own replication.
  EXPECT_TRUE(Mirrored(ReplicationServer::kSecondUuid));
  EXPECT_TRUE(Modify(server_.group_id, {members_[0]}).status.ok());
  EXPECT_FALSE(Mirrored(kThirdUuid));
  EXPECT_TRUE(Mirrored(ReplicationServer::kUuid));
  // As the operator deletes a group.
  EXPECT_TRUE(server_.Call("DisableVolumeReplication", OfGroup()).status.ok());
  EXPECT_TRUE(Modify(server_.group_id, {}).status.ok());
  EXPECT_TRUE(OnGroup(kDelete, server_.group_id).status.ok());
  EXPECT_FALSE(Mirrored(ReplicationServer::kUuid));
  EXPECT_EQ(server_.Call("DemoteVolume", OfGroup()).status.error_code(),
            grpc::NOT_FOUND);
}

TEST_F(ReplicatedVolumeGroupTest, AVolumeThatCannotBeMirroredChangesNothing) {
  server_.a.EnableMirroring(MirroredPair::ImageOf(kThirdUuid),
                            MirrorMode::kJournal);
  server_.Start();
  server_.world.ClearCalls();
  const auto answer = Modify(server_.group_id, {members_[0], third_});
  EXPECT_EQ(answer.status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(answer.status.error_message(),
              AllOf(HasSubstr(third_), HasSubstr(server_.group_id)));
  EXPECT_EQ(server_.world.CountMutations(), 0);
}

/// While Modify is held at `held`, the other verbs of the group wait; reads
/// answer at once.
void ReplicatedVolumeGroupTest::CallsWaitForEachOther(
    const std::string& held, const std::vector<std::string>& verbs) {
  server_.Hold(held);
  server_.Start();
  server_.world.ClearCalls();
  VolumeGroupAnswer modified;
  std::vector<grpc::Status> answers(verbs.size());
  {
    std::vector<std::jthread> callers;
    callers.emplace_back([&] { modified = Modify(server_.group_id, All()); });
    server_.AwaitHeld();
    for (size_t i = 0; i < verbs.size(); ++i) {
      callers.emplace_back(
          [&, i] { answers[i] = server_.Call(verbs[i], OfGroup()).status; });
    }
    for (const std::string& verb : verbs) server_.AwaitCalls(verb, 1);
    EXPECT_TRUE(OnGroup(kGet, server_.group_id).status.ok());
    EXPECT_TRUE(Call(kList, {}).status.ok());
    EXPECT_TRUE(
        server_.Call("GetVolumeReplicationInfo", OfGroup()).status.ok());
    const auto destination =
        server_.Call("GetReplicationDestinationInfo", OfGroup());
    EXPECT_TRUE(destination.status.ok());
    EXPECT_THAT(destination.member_destinations, SizeIs(2));
    server_.Release();
  }
  EXPECT_TRUE(modified.status.ok()) << modified.status.error_message();
  for (size_t i = 0; i < verbs.size(); ++i) {
    EXPECT_TRUE(answers[i].ok()) << verbs[i] << answers[i].error_message();
  }
}

TEST_F(ReplicatedVolumeGroupTest, VerbsOfReplicationWaitForAChangeOfMembers) {
  CallsWaitForEachOther("rbd_group_image_add",
                        {"EnableVolumeReplication", "PromoteVolume"});
  EXPECT_TRUE(Mirrored(kThirdUuid));
  // They saw three members: the one that joined, too, is where they left it.
  EXPECT_TRUE(server_.a.Info(MirroredPair::ImageOf(kThirdUuid)).primary);
}

TEST_F(ReplicatedVolumeGroupTest, ADemoteThatComesMeanwhileTakesTheNewMember) {
  CallsWaitForEachOther("rbd_group_image_add", {"DemoteVolume"});
  for (const std::string& uuid :
       {std::string(ReplicationServer::kUuid),
        std::string(ReplicationServer::kSecondUuid), std::string(kThirdUuid)}) {
    EXPECT_TRUE(Mirrored(uuid));
    EXPECT_FALSE(server_.a.Info(MirroredPair::ImageOf(uuid)).primary);
  }
}

TEST_F(ReplicatedVolumeGroupTest, TheWaitIsBounded) {
  server_.SetConflictWait(milliseconds(100));
  server_.Hold("rbd_group_image_add");
  server_.Start();
  {
    std::jthread modify([&] { Modify(server_.group_id, All()); });
    server_.AwaitHeld();
    for (const char* method : {"EnableVolumeReplication", "PromoteVolume",
                               "DemoteVolume", "DisableVolumeReplication"}) {
      const auto refused = server_.Call(method, OfGroup());
      EXPECT_EQ(refused.status.error_code(), grpc::ABORTED) << method;
      EXPECT_THAT(refused.status.error_message(),
                  HasSubstr("modify of volume group"));
    }
    EXPECT_EQ(OnGroup(kDelete, server_.group_id).status.error_code(),
              grpc::ABORTED);
    EXPECT_EQ(Modify(server_.group_id, {}).status.error_code(), grpc::ABORTED);
    server_.Release();
  }
}

TEST_F(ReplicatedVolumeGroupTest, AChangeOfMembersWaitsForReplication) {
  server_.SetConflictWait(milliseconds(100));
  server_.Hold("rbd_mirror_image_demote");
  server_.Start();
  {
    std::jthread demote([&] { server_.Call("DemoteVolume", OfGroup()); });
    server_.AwaitHeld();
    for (const auto& members :
         std::vector<std::vector<std::string>>{All(), {members_[0]}, {}}) {
      const auto refused = Modify(server_.group_id, members);
      EXPECT_EQ(refused.status.error_code(), grpc::ABORTED);
      EXPECT_THAT(refused.status.error_message(),
                  HasSubstr("demote of volume group"));
    }
    // A group of another name that wants one of the members.
    EXPECT_EQ(Create("vg-other", {members_[0]}).status.error_code(),
              grpc::ABORTED);
    server_.Release();
  }
}

TEST_F(VolumeGroupServiceTest, EqualCreatesAtTheSameTimeAreOne) {
  server_.Hold("rbd_group_create");
  server_.Start();
  const std::string volume = AddVolume(ReplicationServer::kUuid);
  std::vector<VolumeGroupAnswer> answers(4);
  {
    std::vector<std::jthread> callers;
    callers.emplace_back([&] { answers[0] = Create("vg", {volume}); });
    server_.AwaitHeld();
    for (size_t i = 1; i < answers.size(); ++i) {
      callers.emplace_back([&, i] { answers[i] = Create("vg", {volume}); });
    }
    server_.AwaitCalls(kCreate, answers.size(), "volumegroup.Controller");
    server_.Release();
  }
  for (const auto& answer : answers) {
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_EQ(answer.group_id, answers[0].group_id);
  }
  EXPECT_THAT(server_.a.Groups(MirroredPair::kPool, ""), SizeIs(1));
}

}  // namespace
}  // namespace addons::testing
