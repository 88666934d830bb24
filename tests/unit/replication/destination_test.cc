// The id of a volume on the peer site. Vectors as ceph-csi's.

#include "replication/destination.h"

#include <memory>

#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kVectorUuid[] = "00000000-1111-2222-3333-444444444444";
constexpr char kSource[] =
    "0001-000f-primary-cluster-0000000000000001-"
    "00000000-1111-2222-3333-444444444444";

class DestinationTest : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(world_.CountMutations(), 0);
    EXPECT_THAT(world_.Violations(), ::testing::IsEmpty());
  }

  /// One pool with the id 1 and a volume in it.
  void AddVolume(const std::string& pool) {
    site_.AddPool(1, pool);
    site_.SetOmap(pool, "", absl::StrCat("csi.volume.", kVectorUuid),
                  {{"csi.volname", "pvc-1"}, {"csi.imagename", "csi-vol-1"}});
  }
  void Configure(const std::string& destination,
                 const std::string& mapping = "") {
    dir_.Write(
        "config.json",
        absl::StrCat(R"([{"clusterID": "primary-cluster",)",
                     R"("monitors": ["site-a:6789"])",
                     destination.empty() ? "" : ", ", destination, "}]"));
    if (!mapping.empty()) dir_.Write("cluster-mapping.json", mapping);
    config_ = std::make_unique<ConfigStore>(dir_.path());
    resolver_ = std::make_unique<Resolver>(*config_, clusters_);
    environment_ = std::make_unique<ReplicationEnvironment>(
        *resolver_, *config_, world_, ReplicationOptions());
    finder_ = std::make_unique<DestinationFinder>(*environment_);
  }
  absl::StatusOr<std::string> Find(const std::string& id = kSource) {
    return finder_->Find({VolumeHandle(id), site_.user()},
                         RealClock().Now() + std::chrono::minutes(1));
  }
  static std::string Id(const std::string& head, int pool) {
    return absl::StrCat(head, "-000000000000000", pool, "-", kVectorUuid);
  }

  static constexpr char kDestination[] =
      R"("replicationDestination": {"remoteClusterID": "secondary-cluster",
         "rbd": {"remotePoolMapping": {"rbd": {"poolID": "5"}}}})";

  FakeWorld world_;
  FakeSite& site_ = world_.AddSite("a");
  FakeClusterProvider clusters_{world_};
  const TempDir dir_;
  std::unique_ptr<ConfigStore> config_;
  std::unique_ptr<Resolver> resolver_;
  std::unique_ptr<ReplicationEnvironment> environment_;
  std::unique_ptr<DestinationFinder> finder_;
};

TEST_F(DestinationTest, ListedPoolGetsThePoolIdOfTheOtherSite) {
  AddVolume("rbd");
  Configure(kDestination);
  const auto id = Find();
  ASSERT_OK(id);
  EXPECT_EQ(*id, Id("0001-0011-secondary-cluster", 5));
}

TEST_F(DestinationTest, PoolThatIsNotListedKeepsItsId) {
  AddVolume("replicapool");
  Configure(kDestination);
  const auto id = Find();
  ASSERT_OK(id);
  EXPECT_EQ(*id, Id("0001-0011-secondary-cluster", 1));
}

TEST_F(DestinationTest, DestinationWithoutPoolsKeepsThePoolId) {
  AddVolume("rbd");
  Configure(
      R"("replicationDestination": {"remoteClusterID": "secondary-cluster"})");
  const auto id = Find();
  ASSERT_OK(id);
  EXPECT_EQ(*id, Id("0001-0011-secondary-cluster", 1));
}

TEST_F(DestinationTest, WithoutDestinationTheMappingTells) {
  AddVolume("rbd");
  Configure("", R"([{"clusterIDMapping": {"primary-cluster": "other"},)"
                R"("RBDPoolIDMapping": [{"1": "7"}]}])");
  const auto id = Find();
  ASSERT_OK(id);
  EXPECT_EQ(*id, Id("0001-0005-other", 7));
}

TEST_F(DestinationTest, WithoutDestinationAndMappingTheIdIsTheSame) {
  AddVolume("rbd");
  Configure("");
  const auto id = Find();
  ASSERT_OK(id);
  EXPECT_EQ(*id, kSource);
}

TEST_F(DestinationTest, EmptyRemoteClusterIsRefusedByName) {
  AddVolume("rbd");
  Configure(R"("replicationDestination": {"remoteClusterID": ""})");
  EXPECT_THAT(Find(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("replicationDestination.remoteClusterID")));
}

TEST_F(DestinationTest, UnknownVolumeIsNotFound) {
  site_.AddPool(1, "rbd");
  Configure(kDestination);
  EXPECT_THAT(Find(), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(DestinationTest, IllClusterDoesNotMatterOnceItsPoolWasSeen) {
  AddVolume("rbd");
  Configure(kDestination);
  ASSERT_OK(Find());
  site_.SetClusterUp(false);
  const auto id = Find();
  ASSERT_OK(id);
  EXPECT_EQ(*id, Id("0001-0011-secondary-cluster", 5));
}

TEST_F(DestinationTest, IllClusterWhosePoolWasNeverSeenIsUnavailable) {
  AddVolume("rbd");
  Configure(kDestination);
  site_.SetClusterUp(false);
  EXPECT_THAT(Find(), StatusIs(absl::StatusCode::kUnavailable,
                               HasSubstr("primary-cluster")));
}

TEST_F(DestinationTest, IllClusterDoesNotMatterWhereNoPoolIsListed) {
  AddVolume("rbd");
  Configure(
      R"("replicationDestination": {"remoteClusterID": "secondary-cluster"})");
  site_.SetClusterUp(false);
  const auto id = Find();
  ASSERT_OK(id);
  EXPECT_EQ(*id, Id("0001-0011-secondary-cluster", 1));
}

TEST_F(DestinationTest, IllClusterDoesNotMatterWhereTheMappingTells) {
  AddVolume("rbd");
  Configure("", R"([{"clusterIDMapping": {"primary-cluster": "other"},)"
                R"("RBDPoolIDMapping": [{"1": "7"}]}])");
  site_.SetClusterUp(false);
  const auto id = Find();
  ASSERT_OK(id);
  EXPECT_EQ(*id, Id("0001-0005-other", 7));
}

TEST_F(DestinationTest, MirroringNeedNotBeEnabled) {
  AddVolume("rbd");
  Configure(kDestination);
  EXPECT_OK(Find());
  EXPECT_EQ(world_.CountCalls("a", "rbd_open_read_only"), 0);
}

TEST_F(DestinationTest, NoConfigurationIsUnavailable) {
  config_ = std::make_unique<ConfigStore>(dir_.path());
  resolver_ = std::make_unique<Resolver>(*config_, clusters_);
  environment_ = std::make_unique<ReplicationEnvironment>(
      *resolver_, *config_, world_, ReplicationOptions());
  finder_ = std::make_unique<DestinationFinder>(*environment_);
  EXPECT_THAT(Find(), StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace addons::testing
