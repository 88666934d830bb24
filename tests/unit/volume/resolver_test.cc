#include "volume/resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bounded_threads.h"
#include "ceph/errors.h"
#include "ceph/pool.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/unit/volume/journal_fixtures.h"
#include "tests/unit/volume/memory_cluster.h"
#include "volume/volume_id.h"

namespace addons {
namespace {

using ::addons::testing::Gate;
using ::addons::testing::kFixtureIds;
using ::addons::testing::MemoryCluster;
using ::addons::testing::MemoryClusters;
using ::addons::testing::StatusIs;
using ::addons::testing::TempDir;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kUuid[] = "b891b493-7754-470d-b2a0-4ca18f698b2a";
constexpr char kOtherUuid[] = "b891b493-7754-470d-b2a0-4ca18f698b2b";
constexpr char kObjectRead[] =
    "ReadOmap csi.volume.b891b493-7754-470d-b2a0-4ca18f698b2a";
// The volume is in pool 2 of site1, which is pool 7 of site2 and site3.
constexpr char kId[] =
    "0001-0005-site1-0000000000000002-b891b493-7754-470d-b2a0-4ca18f698b2a";
constexpr char kOtherId[] =
    "0001-0005-site1-0000000000000002-b891b493-7754-470d-b2a0-4ca18f698b2b";
constexpr char kIdOfSite2[] =
    "0001-0005-site2-0000000000000007-b891b493-7754-470d-b2a0-4ca18f698b2a";

const ResolverOptions kPatient = {hours(1), hours(1), hours(1), {}};

absl::Status Unreachable() {
  return absl::UnavailableError("no monitor answered");
}
absl::Status Refusal() { return absl::UnauthenticatedError("wrong key"); }

/// A hook that does `action` at `call` only.
testing::CallHook At(const std::string& call,
                     std::function<absl::Status()> action) {
  return [call, action = std::move(action)](const std::string& made) {
    return made == call ? action() : absl::OkStatus();
  };
}

class ResolverTest : public ::testing::Test {
 protected:
  ResolverTest() {
    for (const auto& [monitor, cluster] :
         {std::pair("m1", site1_), std::pair("m2", site2_),
          std::pair("m3", site3_)}) {
      clusters_.Add(monitor, cluster);
    }
    site1_->AddPool(2, "pool-of-1");
    site2_->AddPool(7, "pool-of-2");
    site3_->AddPool(7, "pool-of-3");
    Map({"site2"});
    Configure({"site1", "site2"});
  }

  ~ResolverTest() override {
    hang_.Open();  // before the resolver joins its threads
    resolver_.reset();
  }

  /// Writes config.json; siteN has the monitor mN.
  void Configure(const std::vector<std::string>& cluster_ids) {
    std::vector<std::string> entries;
    for (const std::string& id : cluster_ids) {
      entries.push_back(absl::StrCat(R"({"clusterID": ")", id,
                                     R"(", "monitors": ["m)", id.substr(4),
                                     R"("]})"));
    }
    folder_.Write("config.json",
                  absl::StrCat("[", absl::StrJoin(entries, ","), "]"));
  }
  /// Maps pool 2 of site1 to pool 7 of the clusters.
  void Map(const std::vector<std::string>& cluster_ids) {
    std::vector<std::string> elements;
    for (const std::string& id : cluster_ids) {
      elements.push_back(
          absl::StrCat(R"({"clusterIDMapping": {"site1": ")", id,
                       R"("}, "RBDPoolIDMapping": [{"2": "7"}]})"));
    }
    folder_.Write("cluster-mapping.json",
                  absl::StrCat("[", absl::StrJoin(elements, ","), "]"));
  }

  Resolver& ResolverWith(const ResolverOptions& options) {
    resolver_ = std::make_unique<Resolver>(config_, clusters_, options);
    return *resolver_;
  }
  absl::StatusOr<ResolvedVolume> Resolve(const std::string& id = kId,
                                         SteadyDuration patience = hours(1)) {
    const CephUserRef user = MakeCephUser("csi", Secret("key"));
    return resolver_->Resolve(VolumeHandle(id), user, access_,
                              RealClock().Now() + patience);
  }
  /// The cluster that the volume was found on.
  std::string ResolvedCluster(const std::string& id = kId) {
    const auto volume = Resolve(id);
    EXPECT_OK(volume);
    return volume.ok() ? volume->cluster_id.text() : "";
  }
  /// Makes a connect to the cluster hang until the end of the test.
  void HangAtConnect(MemoryCluster& cluster) {
    cluster.SetHook(At("Connect", [this] {
      hang_.Pass();
      return Unreachable();
    }));
  }
  static void FailAtConnect(MemoryCluster& cluster,
                            const absl::Status& status) {
    cluster.SetHook(At("Connect", [status] { return status; }));
  }

  TempDir folder_;
  const std::shared_ptr<MemoryCluster> site1_ =
      std::make_shared<MemoryCluster>();
  const std::shared_ptr<MemoryCluster> site2_ =
      std::make_shared<MemoryCluster>();
  const std::shared_ptr<MemoryCluster> site3_ =
      std::make_shared<MemoryCluster>();
  MemoryClusters clusters_;
  Access access_ = Access::kRead;
  ConfigStore config_{folder_.path()};
  Gate hang_;
  std::unique_ptr<Resolver> resolver_ =
      std::make_unique<Resolver>(config_, clusters_, kPatient);
};

// --- which place is used

TEST_F(ResolverTest, UsesTheClusterOfTheIdWhenItHasTheVolume) {
  site1_->PutVolume(2, kUuid);
  site2_->PutVolume(7, kUuid);
  const auto volume = Resolve();
  ASSERT_OK(volume);
  EXPECT_EQ(volume->volume_id, kId);
  EXPECT_EQ(volume->cluster_id, ClusterId("site1"));
  EXPECT_EQ(volume->pool_id, 2);
  EXPECT_EQ(volume->pool_name, "pool-of-1");
  EXPECT_EQ(volume->rados_namespace, "");
  EXPECT_EQ(volume->uuid, kUuid);
  EXPECT_EQ(volume->cluster, site1_);
  EXPECT_EQ(volume->image_name().text(), absl::StrCat("csi-vol-", kUuid));
  EXPECT_EQ(volume->attributes.image_id, "1031a976f30a");
}

TEST_F(ResolverTest, UsesTheMappedClusterWhenTheOtherIsNotConfigured) {
  Configure({"site2"});
  site2_->PutVolume(7, kUuid);
  const auto volume = Resolve();
  ASSERT_OK(volume);
  EXPECT_EQ(volume->volume_id, kId);
  EXPECT_EQ(volume->cluster_id, ClusterId("site2"));
  EXPECT_EQ(volume->pool_id, 7);
  EXPECT_EQ(volume->pool_name, "pool-of-2");
  EXPECT_EQ(volume->cluster, site2_);
}

TEST_F(ResolverTest, UsesTheMappedClusterWhenTheOtherHasNoJournalEntry) {
  site2_->PutVolume(7, kUuid);
  EXPECT_EQ(ResolvedCluster(), "site2");
}

TEST_F(ResolverTest, UsesTheMappedClusterWhenTheOtherHasAStubOnly) {
  site1_->Put(2, "", absl::StrCat("csi.volume.", kUuid),
              {{"csi.imageid", "1"}});
  site2_->PutVolume(7, kUuid);
  EXPECT_EQ(ResolvedCluster(), "site2");
}

TEST_F(ResolverTest, UsesTheMappedClusterWhenTheOtherHasNoSuchPool) {
  folder_.Write("cluster-mapping.json",
                R"([{"clusterIDMapping": {"site2": "site1"},
                     "RBDPoolIDMapping": [{"9": "2"}]}])");
  site1_->PutVolume(2, kUuid);
  EXPECT_EQ(
      ResolvedCluster(absl::StrCat("0001-0005-site2-0000000000000009-", kUuid)),
      "site1");
}

TEST_F(ResolverTest, UsesTheMappedClusterWhenTheOtherRefusesTheUser) {
  FailAtConnect(*site1_, Refusal());
  site2_->PutVolume(7, kUuid);
  EXPECT_EQ(ResolvedCluster(), "site2");
}

TEST_F(ResolverTest, UsesTheMappedClusterWhenTheEntryOfTheOtherIsBroken) {
  folder_.Write("config.json", R"([{"clusterID": "site1", "monitors": []},
                                   {"clusterID": "site2", "monitors": ["m2"]}])");
  site2_->PutVolume(7, kUuid);
  EXPECT_EQ(ResolvedCluster(), "site2");
}

TEST_F(ResolverTest, UsesTheFirstMappedClusterOfTheFileThatHasTheVolume) {
  Configure({"site1", "site2", "site3"});
  Map({"site3", "site2"});
  site2_->PutVolume(7, kUuid);
  site3_->PutVolume(7, kUuid);
  EXPECT_EQ(ResolvedCluster(), "site3");
}

TEST_F(ResolverTest, MapsInBothDirections) {
  site1_->PutVolume(2, kUuid);
  const auto volume = Resolve(kIdOfSite2);
  ASSERT_OK(volume);
  EXPECT_EQ(volume->cluster_id, ClusterId("site1"));
  EXPECT_EQ(volume->pool_id, 2);
}

TEST_F(ResolverTest, FindsEveryVolumeOfARealProvisioner) {
  site1_->PutFixtures();
  folder_.Write("config.json",
                R"([{"clusterID": "peer-a", "monitors": ["m1"]},
                    {"clusterID": "peer-ns", "monitors": ["m1"],
                     "rbd": {"radosNamespace": "tenant1"}}])");
  int volumes = 0;
  for (const auto& fixture : kFixtureIds) {
    if (!absl::StartsWith(fixture.request_name, "pvc-")) continue;
    const auto volume = Resolve(fixture.id);
    ASSERT_OK(volume) << fixture.request_name;
    EXPECT_EQ(volume->attributes.request_name, fixture.request_name);
    ++volumes;
  }
  EXPECT_EQ(volumes, 9);
}

TEST_F(ResolverTest, DescribesAndOpensTheVolumesPoolAndNamespace) {
  site1_->PutFixtures();
  folder_.Write("config.json",
                R"([{"clusterID": "peer-ns", "monitors": ["m1"],
                     "rbd": {"radosNamespace": "tenant1"}}])");
  const std::string id =
      "0001-0007-peer-ns-0000000000000002-9b419548-9c2b-4aaf-800a-f51e429a1f0f";
  const auto volume = Resolve(id);
  ASSERT_OK(volume);
  EXPECT_EQ(volume->rados_namespace, "tenant1");
  EXPECT_EQ(volume->Describe(),
            "image 'replicapool/tenant1/csi-vol-9b419548-9c2b-4aaf-800a-"
            "f51e429a1f0f' (volume '" +
                id + "')");
  const auto pool = volume->OpenPool(Access::kRead);
  ASSERT_OK(pool);
  EXPECT_EQ((*pool)->id(), 2);
  EXPECT_EQ((*pool)->rados_namespace(), "tenant1");
}

TEST_F(ResolverTest, DescribesAVolumeInTheDefaultNamespace) {
  site1_->PutVolume(2, kUuid);
  EXPECT_EQ(Resolve()->Describe(),
            absl::StrCat("image 'pool-of-1/csi-vol-", kUuid, "' (volume '", kId,
                         "')"));
}

// --- dead sites

TEST_F(ResolverTest, NeverWaitsForADeadMappedCluster) {
  HangAtConnect(*site2_);
  site1_->PutVolume(2, kUuid);
  // More calls than threads can hang.
  for (int i = 0; i < 50; ++i) EXPECT_EQ(ResolvedCluster(), "site1");
}

TEST_F(ResolverTest, GivesASilentClusterUpAfterTheGraceTimeAndThenAtOnce) {
  const SteadyDuration grace = seconds(1);
  ResolverWith({grace, hours(1)});
  HangAtConnect(*site1_);
  site2_->PutVolume(7, kUuid);
  const SteadyTime first = RealClock().Now();
  EXPECT_EQ(ResolvedCluster(), "site2");
  const SteadyTime second = RealClock().Now();
  EXPECT_EQ(ResolvedCluster(), "site2");
  EXPECT_GE(second - first, grace);
  EXPECT_LT(RealClock().Now() - second, grace);
  // It was not even asked again, so that it cannot use up threads.
  EXPECT_EQ(site1_->CountCalls("Connect"), 1);
}

TEST_F(ResolverTest, WaitsForASlowClusterOfTheIdWithinTheGraceTime) {
  Gate slow;
  site1_->PutVolume(2, kUuid);
  site1_->SetHook(At(kObjectRead, [&] {
    slow.Pass();
    return absl::OkStatus();
  }));
  site2_->PutVolume(7, kUuid);
  std::string cluster;
  std::jthread caller([&] { cluster = ResolvedCluster(); });
  slow.AwaitArrivals(1);
  while (site2_->CountCalls(kObjectRead) == 0) std::this_thread::yield();
  slow.Open();
  caller.join();
  EXPECT_EQ(cluster, "site1");
}

TEST_F(ResolverTest, DoesNotWaitForAClusterThatFailedLately) {
  ResolverWith({/*grace=*/hours(1), /*memory=*/SteadyDuration::zero()});
  FailAtConnect(*site1_, Unreachable());
  site2_->PutVolume(7, kUuid);
  EXPECT_EQ(ResolvedCluster(), "site2");

  HangAtConnect(*site1_);  // the grace time is an hour
  EXPECT_EQ(ResolvedCluster(), "site2");
  hang_.AwaitArrivals(1);  // but it is asked in the background
}

TEST_F(ResolverTest, DoesNotAskAClusterThatFailedLatelyBeforeItsTime) {
  FailAtConnect(*site1_, Unreachable());
  site2_->PutVolume(7, kUuid);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ResolvedCluster(), "site2");
  EXPECT_EQ(site1_->CountCalls("Connect"), 1);
}

TEST_F(ResolverTest, ReturnsToAClusterThatAnswersAgain) {
  ResolverWith({/*grace=*/hours(1), /*memory=*/SteadyDuration::zero()});
  FailAtConnect(*site1_, Unreachable());
  site1_->PutVolume(2, kUuid);
  site2_->PutVolume(7, kUuid);
  EXPECT_EQ(ResolvedCluster(), "site2");
  site1_->SetHook(nullptr);
  while (ResolvedCluster() != "site1") std::this_thread::yield();
  EXPECT_EQ(ResolvedCluster(), "site1");
}

TEST_F(ResolverTest, AsksASilentClusterWhenNobodyElseHasTheVolume) {
  FailAtConnect(*site1_, Unreachable());
  site2_->PutVolume(7, kUuid);
  EXPECT_EQ(ResolvedCluster(), "site2");
  site1_->SetHook(nullptr);
  site1_->PutVolume(2, kOtherUuid);
  EXPECT_EQ(ResolvedCluster(kOtherId), "site1");
}

// --- where something may be changed

TEST_F(ResolverTest, AChangeDoesNotGoPastAClusterThatIsSilentForAMoment) {
  FailAtConnect(*site1_, Unreachable());
  site2_->PutVolume(7, kUuid);
  EXPECT_EQ(ResolvedCluster(), "site2");
  access_ = Access::kMutate;
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnavailable,
                                  AllOf(HasSubstr("'site2' has it"),
                                        HasSubstr("--site-clusters=site2"))));
  site1_->SetHook(nullptr);  // it says no
  EXPECT_EQ(ResolvedCluster(), "site2");
}

TEST_F(ResolverTest, AChangeDoesNotGoPastAClusterThatHangs) {
  ResolverWith({milliseconds(10), hours(1), hours(1), {}});
  HangAtConnect(*site1_);
  site2_->PutVolume(7, kUuid);
  access_ = Access::kMutate;
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Resolve(kId, milliseconds(200)),
                StatusIs(absl::StatusCode::kUnavailable,
                         HasSubstr("'site1' did not answer in time")));
  }
}

TEST_F(ResolverTest, AChangeGoesPastAClusterWhoseSilenceHasLasted) {
  const SteadyDuration settle = milliseconds(300);
  ResolverWith({milliseconds(10), hours(1), settle, {}});
  FailAtConnect(*site1_, Unreachable());
  site2_->PutVolume(7, kUuid);
  access_ = Access::kMutate;
  const SteadyTime begin = RealClock().Now();
  while (!Resolve().ok()) {
    ASSERT_LT(RealClock().Now() - begin, seconds(60));
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_GE(RealClock().Now() - begin, settle);
  // One answer ends it. A call does not wait for that of a silent cluster, so
  // the first one may still go past it.
  site1_->SetHook(nullptr);
  site1_->PutVolume(2, kUuid);
  while (ResolvedCluster() != "site1") {
    ASSERT_LT(RealClock().Now() - begin, seconds(60));
    std::this_thread::sleep_for(milliseconds(1));
  }
  FailAtConnect(*site1_, Unreachable());
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ResolverTest, WithHomeClustersNoOtherIsAsked) {
  ResolverWith({hours(1), hours(1), hours(1), {ClusterId("site2")}});
  HangAtConnect(*site1_);
  site1_->PutVolume(2, kUuid);
  site2_->PutVolume(7, kUuid);
  for (const Access access : {Access::kRead, Access::kMutate}) {
    access_ = access;
    EXPECT_EQ(ResolvedCluster(), "site2");
  }
  EXPECT_EQ(site1_->CountCalls("Connect"), 0);
  EXPECT_EQ(resolver_->KeyOfVolume(VolumeHandle(kId)).value().cluster_id,
            ClusterId("site2"));
  EXPECT_THAT(Resolve(kOtherId), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(ResolverTest, HomeClustersThatNothingBelongsToAreNoProofOfAbsence) {
  ResolverWith({hours(1), hours(1), hours(1), {ClusterId("site-2")}});
  site2_->PutVolume(7, kUuid);
  const auto refused =
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("--site-clusters"));
  EXPECT_THAT(Resolve(), refused);
  EXPECT_THAT(resolver_->KeyOfVolume(VolumeHandle(kId)), refused);
}

TEST_F(ResolverTest, GivesTheClusterOfTheIdItsTimeWhenAllHadBeenSilent) {
  const SteadyDuration grace = milliseconds(200);
  ResolverWith({grace, hours(1)});
  FailAtConnect(*site1_, Unreachable());
  FailAtConnect(*site2_, Unreachable());
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnavailable));

  HangAtConnect(*site1_);
  site2_->SetHook(nullptr);
  site2_->PutVolume(7, kUuid);
  const SteadyTime start = RealClock().Now();
  EXPECT_EQ(ResolvedCluster(), "site2");
  EXPECT_GE(RealClock().Now() - start, grace);
}

TEST_F(ResolverTest, AsksInTheBackgroundEvenWhenItMustQueueForIt) {
  ResolverWith({/*grace=*/hours(1), /*memory=*/SteadyDuration::zero()});
  FailAtConnect(*site1_, Unreachable());
  site2_->PutVolume(7, kUuid);
  EXPECT_EQ(ResolvedCluster(), "site2");

  // Another user's lookups take all threads of site1.
  HangAtConnect(*site1_);
  for (int i = 1; i <= BoundedThreads::kThreadsPerLane; ++i) {
    site2_->SetHook(At("Connect", [this, i] {
      hang_.AwaitArrivals(i);
      return absl::OkStatus();
    }));
    const CephUserRef other = MakeCephUser("other", Secret("key"));
    EXPECT_OK(resolver_->Resolve(VolumeHandle(kIdOfSite2), other, Access::kRead,
                                 RealClock().Now() + hours(1)));
  }
  EXPECT_EQ(ResolvedCluster(), "site2");
  hang_.Open();
  const int asked = 1 + BoundedThreads::kThreadsPerLane + 1;
  while (site1_->CountCalls("Connect") < asked) std::this_thread::yield();
}

TEST_F(ResolverTest, RemembersSilencePerUser) {
  FailAtConnect(*site1_, Unreachable());
  site2_->PutVolume(7, kUuid);
  EXPECT_EQ(ResolvedCluster(), "site2");
  const CephUserRef other = MakeCephUser("other", Secret("key"));
  EXPECT_OK(resolver_->Resolve(VolumeHandle(kId), other, Access::kRead,
                               RealClock().Now() + hours(1)));
  EXPECT_EQ(site1_->CountCalls("Connect"), 2);
}

TEST_F(ResolverTest, AnswersAtTheDeadlineNamingTheClusterThatDoesNot) {
  HangAtConnect(*site2_);
  EXPECT_THAT(
      Resolve(kId, milliseconds(50)),
      StatusIs(absl::StatusCode::kUnavailable,
               AllOf(HasSubstr("cluster 'site2' did not answer in time"),
                     HasSubstr("cluster 'site1' pool 2"))));
}

TEST_F(ResolverTest, TakesWhatWasFoundAtADeadlineWithinTheGraceTime) {
  HangAtConnect(*site1_);
  site2_->PutVolume(7, kUuid);
  const auto volume = Resolve(kId, milliseconds(200));
  ASSERT_OK(volume);
  EXPECT_EQ(volume->cluster_id, ClusterId("site2"));
}

TEST_F(ResolverTest, AsksTheOnlyClusterInTheCallersThread) {
  Configure({"site1"});
  site1_->PutVolume(2, kUuid);
  std::thread::id asked_by;
  site1_->SetHook(At("Connect", [&] {
    asked_by = std::this_thread::get_id();
    return absl::OkStatus();
  }));
  EXPECT_EQ(ResolvedCluster(), "site1");
  EXPECT_EQ(asked_by, std::this_thread::get_id());
}

TEST_F(ResolverTest, CanBeDestroyedWhileALookupHangs) {
  HangAtConnect(*site2_);
  site1_->PutVolume(2, kUuid);
  Gate arrived;
  site1_->SetHook(At("Connect", [&] {
    hang_.AwaitArrivals(1);  // the lookup on site2 is under way
    return absl::OkStatus();
  }));
  EXPECT_EQ(ResolvedCluster(), "site1");

  std::atomic<bool> destroyed{false};
  Gate began;
  std::jthread destroyer([&] {
    began.Open();
    resolver_.reset();
    destroyed = true;
  });
  began.Pass();
  EXPECT_FALSE(destroyed);  // it cannot be: its thread is in the hook
  hang_.Open();
  destroyer.join();
  EXPECT_TRUE(destroyed);
}

TEST_F(ResolverTest, ServesManyThreads) {
  ResolverWith({milliseconds(5), SteadyDuration::zero()});
  std::atomic<int> connects{0};
  site1_->SetHook(At("Connect", [&] {
    return ++connects % 3 == 0 ? Unreachable() : absl::OkStatus();
  }));
  site1_->PutVolume(2, kUuid);
  site2_->PutVolume(7, kUuid);
  std::atomic<int> found{0};
  std::vector<std::jthread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int k = 0; k < 50; ++k) found += Resolve().ok() ? 1 : 0;
    });
  }
  callers.clear();
  resolver_.reset();  // its lookups use the hook's counter
  EXPECT_EQ(found, 200);
}

// --- errors

TEST_F(ResolverTest, IsNotFoundWhenAllSayNoNamingWhereItLooked) {
  EXPECT_THAT(
      Resolve(),
      StatusIs(
          absl::StatusCode::kNotFound,
          AllOf(StartsWith(absl::StrCat("Failed to find volume '", kId, "'")),
                HasSubstr("cluster 'site1' pool 2"),
                HasSubstr("cluster 'site2' pool 7"))));
}

TEST_F(ResolverTest, IsNotFoundWhenThePoolsAreGone) {
  Map({});
  EXPECT_THAT(Resolve("0001-0005-site1-0000000000000009-" + std::string(kUuid)),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("cluster 'site1' has no pool 9")));
}

TEST_F(ResolverTest, NotFoundSaysWhatMustBeThereFirst) {
  Configure({"site2"});
  EXPECT_THAT(Resolve(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("PV and PVC"), HasSubstr("ceph-csi"),
                             Not(HasSubstr("config.json")))));
}

TEST_F(ResolverTest, PeerThatIsNotConfiguredIsNotMentioned) {
  Configure({"site1"});
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kNotFound,
                                  Not(HasSubstr("config.json"))));
  FailAtConnect(*site1_, Refusal());
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnauthenticated,
                                  Not(HasSubstr("config.json"))));
}

TEST_F(ResolverTest, NobodyWasAskedWhenNoClusterIsConfigured) {
  Configure({"site3"});
  const auto matches =
      AllOf(HasSubstr("not in config.json"), HasSubstr("'site1', 'site2'"));
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnavailable, matches));
  EXPECT_THAT(resolver_->KeyOfVolume(VolumeHandle(kId)),
              StatusIs(absl::StatusCode::kUnavailable, matches));
}

TEST_F(ResolverTest, PlaceThatRefusesTheUserHasNotSaidNo) {
  FailAtConnect(*site2_, Refusal());
  EXPECT_THAT(Resolve(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("cluster 'site2' refuses user 'csi'")));
}

// --- without memory

TEST_F(ResolverTest, LookupThatThrowsHasNotAskedItsCluster) {
  site1_->PutVolume(2, kUuid);
  std::atomic<bool> throws = true;
  site1_->SetHook([&throws](const std::string&) -> absl::Status {
    if (throws) throw std::bad_alloc();
    return absl::OkStatus();
  });
  for (const bool one_place : {false, true}) {  // on a thread, or on this one
    if (one_place) Map({});
    throws = true;
    EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnavailable,
                                    AllOf(HasSubstr("cluster 'site1' could"),
                                          HasSubstr("unexpected exception"))));
    throws = false;
    EXPECT_OK(Resolve());  // and nobody takes it for silent
  }
}

// --- pools that are not mapped

TEST_F(ResolverTest, VolumeInAPoolThatIsNotMappedNamesTheMissingLine) {
  Configure({"site2"});
  site2_->AddPool(9, "other");
  site2_->PutVolume(9, kUuid);
  const std::string id =
      absl::StrCat("0001-0005-site1-0000000000000004-", kUuid);
  EXPECT_THAT(
      Resolve(id),
      StatusIs(absl::StatusCode::kUnavailable,
               AllOf(HasSubstr("in pool 'other', which has the id 9"),
                     HasSubstr(R"({"clusterIDMapping": {"site1": "site2"})"),
                     HasSubstr(R"("RBDPoolIDMapping": [{"4": "9"}])"))));
}

TEST_F(ResolverTest, SitesWithOneClusterIdAndOtherPoolIdsAreTold) {
  Configure({"site1"});
  site1_->AddPool(5, "other");
  site1_->PutVolume(5, kUuid);
  EXPECT_THAT(Resolve(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr(R"("RBDPoolIDMapping": [{"2": "5"}])")));
}

TEST_F(ResolverTest, IsNotFoundWhenNoPoolOfTheMappedClusterHasIt) {
  Configure({"site2"});
  const std::string id =
      absl::StrCat("0001-0005-site1-0000000000000004-", kUuid);
  EXPECT_THAT(Resolve(id), StatusIs(absl::StatusCode::kNotFound,
                                    HasSubstr("no pool of cluster 'site2'")));
}

TEST_F(ResolverTest, PoolThatRefusesTheUserMayHaveIt) {
  Configure({"site2"});
  site2_->SetHook(
      At(kObjectRead, [] { return CephError(-1, "read", "omap"); }));
  const std::string id =
      absl::StrCat("0001-0005-site1-0000000000000004-", kUuid);
  EXPECT_THAT(Resolve(id), StatusIs(absl::StatusCode::kUnauthenticated));
}

TEST_F(ResolverTest, OtherPoolsAreNotSearchedWhileTheVolumeIsWhereItShouldBe) {
  site1_->AddPool(4, "here");
  site1_->PutVolume(4, kUuid);
  const std::string id =
      absl::StrCat("0001-0005-site1-0000000000000004-", kUuid);
  EXPECT_EQ(ResolvedCluster(id), "site1");
  EXPECT_THAT(site2_->Calls(), IsEmpty());
  EXPECT_EQ(site1_->CountCalls("osd lspools"), 0);
}

TEST_F(ResolverTest, IsUnauthenticatedWhenTheOnlyClusterRefusesTheUser) {
  Configure({"site2"});
  FailAtConnect(*site2_, Refusal());
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnauthenticated,
                                  HasSubstr("wrong key")));
}

TEST_F(ResolverTest, IsUnauthenticatedWhenTheClusterOfTheIdRefusesTheUser) {
  FailAtConnect(*site1_, Refusal());
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnauthenticated));
  FailAtConnect(*site2_, Unreachable());
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnauthenticated));
}

TEST_F(ResolverTest, IsUnauthenticatedWhenTheUserMayNotReadTheJournal) {
  Configure({"site1"});
  site1_->SetHook(
      At(kObjectRead, [] { return CephError(-1, "read", "omap"); }));
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnauthenticated,
                                  HasSubstr("refuses user 'csi'")));
}

TEST_F(ResolverTest, IsUnavailableWhenTheOnlyClusterCannotBeReached) {
  Configure({"site1"});
  FailAtConnect(*site1_, Unreachable());
  EXPECT_THAT(Resolve(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("cluster 'site1' could not be asked: no "
                                 "monitor answered")));
}

TEST_F(ResolverTest, IsUnavailableWhenAMappedClusterCannotBeReached) {
  FailAtConnect(*site2_, Unreachable());
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnavailable,
                                  HasSubstr("cluster 'site2' could not be")));
}

TEST_F(ResolverTest, IsUnavailableWhateverErrorTheJournalHas) {
  Configure({"site1"});
  // Time-out, I/O error, out of space, not supported.
  for (const int error : {110, 5, 28, 95}) {
    site1_->SetHook(
        At(kObjectRead, [error] { return CephError(-error, "read", "omap"); }));
    EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnavailable));
  }
}

TEST_F(ResolverTest, IsUnavailableWhateverErrorThePoolHas) {
  Configure({"site1"});
  site1_->SetHook(At("OpenPool 2", [] {
    return absl::FailedPreconditionError("never to be seen by a promote");
  }));
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ResolverTest, IsUnavailableWhenTheEntryIsBrokenSayingHow) {
  folder_.Write("config.json", R"([{"clusterID": "site1", "monitors": []}])");
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnavailable,
                                  HasSubstr("monitors is empty")));
}

TEST_F(ResolverTest, IsUnavailableWithoutAConfiguration) {
  folder_.Remove("config.json");
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnavailable,
                                  HasSubstr("config.json")));
}

TEST_F(ResolverTest, IsUnavailableWhenTheMappingIsUnknown) {
  folder_.Write("cluster-mapping.json", "[{");
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnavailable,
                                  HasSubstr("cluster-mapping.json")));
  site1_->PutVolume(2, kUuid);
  EXPECT_EQ(ResolvedCluster(), "site1");
}

TEST_F(ResolverTest, TriesOnceMoreWhenItIsBlocklisted) {
  Configure({"site1"});
  site1_->PutVolume(2, kUuid);
  std::atomic<int> reads{0};
  site1_->SetHook(At(kObjectRead, [&] {
    return ++reads == 1 ? CephError(-kBlocklistedErrno, "read", "omap")
                        : absl::OkStatus();
  }));
  EXPECT_EQ(ResolvedCluster(), "site1");
  EXPECT_EQ(site1_->CountCalls("OpenPool 2"), 2);
}

TEST_F(ResolverTest, GivesUpWhenItStaysBlocklisted) {
  Configure({"site1"});
  site1_->SetHook(At(kObjectRead, [] {
    return CephError(-kBlocklistedErrno, "read", "omap");
  }));
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(site1_->CountCalls(kObjectRead), 2);
}

TEST_F(ResolverTest, RefusesTheIdOfASnapshot) {
  site1_->PutFixtures();
  folder_.Write("config.json",
                R"([{"clusterID": "peer-a", "monitors": ["m1"]}])");
  EXPECT_THAT(
      Resolve("0001-0006-peer-a-0000000000000002-5ef79ce1-81e8-439b-8405-"
              "35138edf5b89"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("the id of a snapshot, not of a volume")));
}

TEST_F(ResolverTest, RefusesTheIdOfAGroup) {
  site1_->PutFixtures();
  folder_.Write("config.json",
                R"([{"clusterID": "peer-a", "monitors": ["m1"]}])");
  EXPECT_THAT(
      Resolve("0001-0006-peer-a-0000000000000002-1603eb04-e188-4ec4-a750-"
              "bec38d49ac0a"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("the id of a volume group, not of a volume")));
}

TEST_F(ResolverTest, RefusesTheIdOfASnapshotOfAMappedCluster) {
  site2_->Put(7, "", absl::StrCat("csi.snap.", kUuid), {{"csi.snapname", "s"}});
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ResolverTest, LooksForOtherKindsOnlyWhenThereIsNoVolume) {
  Configure({"site1"});
  site1_->PutVolume(2, kUuid);
  EXPECT_EQ(ResolvedCluster(), "site1");
  EXPECT_EQ(absl::StrJoin(site1_->Calls(), ", "),
            absl::StrCat("Connect, OpenPool 2, ", kObjectRead));
}

TEST_F(ResolverTest, RefusesWhatIsNoVolumeIdWithoutAsking) {
  EXPECT_THAT(Resolve("pvc-1"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(site1_->Calls(), IsEmpty());
}

TEST_F(ResolverTest, NeverWrites) {
  site1_->Put(2, "", absl::StrCat("csi.volume.", kUuid),
              {{"csi.imageid", "1"}});
  site2_->Put(7, "", absl::StrCat("csi.volume.", kUuid),
              {{"csi.volname", "pvc-1"}});
  EXPECT_EQ(ResolvedCluster(), "site2");
  EXPECT_THAT(site1_->Calls(), Not(Contains(HasSubstr("Replace"))));
  EXPECT_THAT(site2_->Calls(), Not(Contains(HasSubstr("Replace"))));
}

// --- keys of operations

TEST_F(ResolverTest, OperationKeyIsTheSameForAllIdsOfAVolume) {
  Configure({"site2"});
  const auto key = resolver_->KeyOfVolume(VolumeHandle(kId));
  ASSERT_OK(key);
  EXPECT_EQ(*key, resolver_->KeyOfVolume(VolumeHandle(kIdOfSite2)).value());
  EXPECT_EQ(key->ToString(), absl::StrCat("5:site2/7//", kUuid));
}

TEST_F(ResolverTest, OperationKeyTellsVolumesApart) {
  EXPECT_NE(resolver_->KeyOfVolume(VolumeHandle(kId)).value(),
            resolver_->KeyOfVolume(VolumeHandle(kOtherId)).value());
}

TEST_F(ResolverTest, OperationKeyHasTheNamespace) {
  folder_.Write("config.json", R"([{"clusterID": "site1", "monitors": ["m1"],
                                    "rbd": {"radosNamespace": "tenant1"}}])");
  EXPECT_EQ(resolver_->KeyOfVolume(VolumeHandle(kId)).value().ToString(),
            absl::StrCat("5:site1/2/tenant1/", kUuid));
}

TEST_F(ResolverTest, OperationKeyTakesAClusterIdWithASlash) {
  folder_.Write("config.json",
                R"([{"clusterID": "a/b:c", "monitors": ["m1"]}])");
  const VolumeId id{1, ClusterId("a/b:c"), 2, kUuid};
  const auto key = resolver_->KeyOfVolume(VolumeHandle(id.ToString().value()));
  ASSERT_OK(key);
  EXPECT_EQ(key->cluster_id, ClusterId("a/b:c"));
  EXPECT_EQ(key->ToString(), absl::StrCat("5:a/b:c/2//", kUuid));
}

TEST_F(ResolverTest, OperationKeyAsksNoCluster) {
  EXPECT_OK(resolver_->KeyOfVolume(VolumeHandle(kId)));
  EXPECT_THAT(site1_->Calls(), IsEmpty());
  EXPECT_THAT(site2_->Calls(), IsEmpty());
}

TEST_F(ResolverTest, OperationKeyNeedsAVolumeId) {
  EXPECT_THAT(resolver_->KeyOfVolume(VolumeHandle("pvc-1")),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ResolverTest, OperationKeyNeedsAConfiguredCluster) {
  Configure({"site3"});
  EXPECT_THAT(resolver_->KeyOfVolume(VolumeHandle(kId)),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ResolverTest, OperationKeyNeedsAUsableEntry) {
  folder_.Write("config.json", R"([{"clusterID": "site1", "monitors": []}])");
  EXPECT_THAT(
      resolver_->KeyOfVolume(VolumeHandle(kId)),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("monitors is empty")));
}

TEST_F(ResolverTest, OperationKeyNeedsAConfiguration) {
  folder_.Remove("config.json");
  EXPECT_THAT(resolver_->KeyOfVolume(VolumeHandle(kId)),
              StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace addons
