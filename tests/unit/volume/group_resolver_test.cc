#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "ceph/pool.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/unit/volume/journal_fixtures.h"
#include "tests/unit/volume/memory_cluster.h"
#include "volume/resolver.h"

namespace addons {
namespace {

using ::addons::testing::kFixtureGroup1;
using ::addons::testing::kFixtureSnapshot;
using ::addons::testing::kFixtureVolume;
using ::addons::testing::MemoryCluster;
using ::addons::testing::MemoryClusters;
using ::addons::testing::StatusIs;
using ::addons::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kGroupObject[] =
    "csi.volume.group.1603eb04-e188-4ec4-a750-bec38d49ac0a";
constexpr char kUnknownId[] =
    "0001-0006-peer-a-0000000000000002-00000000-e188-4ec4-a750-bec38d49ac0a";

/// Pool 2 of cluster peer-a, which is pool 7 of cluster peer-b. Both are
/// configured unless a test says otherwise.
class GroupResolverTest : public ::testing::Test {
 protected:
  GroupResolverTest() {
    clusters_.Add("a", a_);
    clusters_.Add("b", b_);
    a_->PutFixtures();
    b_->AddPool(7, "pool-of-b");
    folder_.Write("cluster-mapping.json",
                  R"([{"clusterIDMapping": {"peer-a": "peer-b"},
                       "RBDPoolIDMapping": [{"2": "7"}]}])");
    Configure(R"({"clusterID": "peer-a", "monitors": ["a"]},)"
              R"({"clusterID": "peer-b", "monitors": ["b"],
                  "rbd": {"radosNamespace": "tenant1"}})");
  }

  void Configure(const std::string& entries) {
    folder_.Write("config.json", "[" + entries + "]");
  }
  void ConfigureOnlyB() {
    Configure(R"({"clusterID": "peer-b", "monitors": ["b"],
                  "rbd": {"radosNamespace": "tenant1"}})");
  }
  absl::StatusOr<ResolvedGroup> Resolve(const std::string& id) {
    const CephUserRef user = MakeCephUser("csi", Secret("key"));
    return resolver_.ResolveGroup(GroupHandle(id), user, Access::kRead,
                                  RealClock().Now() + std::chrono::hours(1));
  }

  TempDir folder_;
  std::shared_ptr<MemoryCluster> a_ = std::make_shared<MemoryCluster>();
  std::shared_ptr<MemoryCluster> b_ = std::make_shared<MemoryCluster>();
  MemoryClusters clusters_;
  ConfigStore config_{folder_.path()};
  Resolver resolver_{
      config_, clusters_, {std::chrono::hours(1), std::chrono::hours(1)}};
};

TEST_F(GroupResolverTest, FindsAGroupWithItsMembers) {
  const auto group = Resolve(kFixtureGroup1);
  ASSERT_OK(group);
  EXPECT_EQ(group->group_id, kFixtureGroup1);
  EXPECT_EQ(group->cluster_id, ClusterId("peer-a"));
  EXPECT_EQ(group->pool_id, 2);
  EXPECT_EQ(group->pool_name, "replicapool");
  EXPECT_EQ(group->rados_namespace, "");
  EXPECT_EQ(group->uuid, "1603eb04-e188-4ec4-a750-bec38d49ac0a");
  EXPECT_EQ(group->cluster, a_);
  EXPECT_EQ(group->attributes.request_name, "vg-fix-1");
  EXPECT_THAT(group->members(), SizeIs(2));
  EXPECT_EQ(group->Describe(),
            "rbd group 'replicapool/csi-vol-group-1603eb04-e188-4ec4-a750-"
            "bec38d49ac0a' (volume group '" +
                std::string(kFixtureGroup1) + "')");
}

TEST_F(GroupResolverTest, FindsAGroupOnThePeerSiteOnceItsJournalHasIt) {
  ConfigureOnlyB();
  b_->Put(7, "tenant1", kGroupObject,
          {{"csi.volname", "vgrcontent-1"},
           {"csi.groupname", "csi-vol-group-x"},
           {kFixtureVolume, ""}});
  const auto group = Resolve(kFixtureGroup1);
  ASSERT_OK(group);
  EXPECT_EQ(group->cluster_id, ClusterId("peer-b"));
  EXPECT_EQ(group->pool_id, 7);
  EXPECT_EQ(group->rados_namespace, "tenant1");
  EXPECT_THAT(group->members(), ElementsAre(kFixtureVolume));
}

TEST_F(GroupResolverTest, SaysWhatIsMissingOnThePeerSiteAndWritesNothing) {
  ConfigureOnlyB();
  EXPECT_THAT(Resolve(kFixtureGroup1),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("Failed to find volume group"),
                             HasSubstr("peer-b"),
                             HasSubstr("ceph-csi's controller or "
                                       "CreateVolumeGroup there"))));
  for (const std::string& call : b_->Calls()) {
    EXPECT_TRUE(call == "Connect" || absl::StartsWith(call, "OpenPool") ||
                absl::StartsWith(call, "ReadOmap") || call == "osd lspools")
        << call;
  }
  EXPECT_THAT(b_->Get(7, "tenant1", kGroupObject), ::testing::IsEmpty());
}

TEST_F(GroupResolverTest, TellsApartWhatTheIdStandsFor) {
  EXPECT_THAT(Resolve(kFixtureVolume),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("id of a volume, not of "
                                 "a volume group")));
  EXPECT_THAT(Resolve(kFixtureSnapshot),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("id of a snapshot, not of a volume group")));
  a_->Put(2, "", kGroupObject, {{kFixtureVolume, kFixtureSnapshot}});
  EXPECT_THAT(Resolve(kFixtureGroup1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("id of a volume group snapshot")));
}

TEST_F(GroupResolverTest, RefusesWhatIsNoId) {
  EXPECT_THAT(Resolve("vg-fix-1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("volume group id 'vg-fix-1': too short")));
  EXPECT_THAT(Resolve(""), StatusIs(absl::StatusCode::kInvalidArgument,
                                    HasSubstr("volume group id is empty")));
}

TEST_F(GroupResolverTest, SilenceIsNotAbsence) {
  b_->SetHook([](const std::string&) {
    return absl::UnavailableError("no monitor answered");
  });
  EXPECT_THAT(Resolve(kUnknownId),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("peer-b")));
}

TEST_F(GroupResolverTest, TheOperationKeyAsksNoCluster) {
  const auto key = resolver_.KeyOfGroup(GroupHandle(kFixtureGroup1));
  ASSERT_OK(key);
  EXPECT_EQ(key->ToString(),
            "6:peer-a/2//1603eb04-e188-4ec4-a750-bec38d49ac0a");
  EXPECT_THAT(a_->Calls(), ::testing::IsEmpty());
  ConfigureOnlyB();
  EXPECT_EQ(resolver_.KeyOfGroup(GroupHandle(kFixtureGroup1))->ToString(),
            "6:peer-b/7/tenant1/1603eb04-e188-4ec4-a750-bec38d49ac0a");
  EXPECT_THAT(
      resolver_.KeyOfGroup(GroupHandle("x")),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("group id")));
}

}  // namespace
}  // namespace addons
