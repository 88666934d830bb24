// The background watch of replication, on simulated clusters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "operation/operation_table.h"
#include "replication/look/known_proofs.h"
#include "replication/steps/info.h"
#include "replication/steps/resync.h"
#include "tests/fakes/local_notes.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/fakes/test_operation_context.h"
#include "tests/testing/gate.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "watch/entry_looks.h"
#include "watch/pool_look.h"
#include "watch/replication_watch.h"

namespace addons::testing {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kUuid[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";
constexpr char kList[] = "rbd_mirror_image_global_status_list";

/// One daemon that has both clusters, with a volume that is primary on a.
class WatchTest : public ::testing::Test {
 protected:
  WatchTest() {
    pair_.WriteConfig(dir_.path());
    id_ = pair_.AddMirroredVolume(a_, kUuid);
    world_.Advance(seconds(60));
  }
  void TearDown() override {
    world_.SetCallHook(nullptr);
    EXPECT_THAT(world_.Violations(), IsEmpty());
  }

  /// As a call does that has found the volume on `site`.
  void Note(FakeSite& site, CephUserRef user, const std::string& image_id,
            const std::string& rados_namespace = "") {
    environment_.watched.Note(Volume(site, rados_namespace), image_id, user);
  }
  ResolvedVolume Volume(FakeSite& site,
                        const std::string& rados_namespace = "") {
    ResolvedVolume volume;
    volume.cluster_id = ClusterId(site.cluster_id());
    volume.pool_id = pair_.pool_id(site);
    volume.pool_name = MirroredPair::kPool;
    volume.rados_namespace = rados_namespace;
    volume.volume_id = VolumeHandle(id_);
    volume.attributes.image_name = ImageName(image_);
    volume.attributes.request_name = "pvc-1";
    return volume;
  }
  void NoteBoth() {
    Note(a_, a_.user(), a_.ImageId(image_));
    Note(b_, b_.user(), b_.ImageId(image_));
  }
  /// False: it never came true.
  bool Await(const std::function<bool()>& condition) {
    const SteadyTime give_up = RealClock().Now() + seconds(30);
    while (!condition()) {
      if (RealClock().Now() > give_up) return false;
      RealClock().SleepFor(std::chrono::milliseconds(2), std::stop_token());
    }
    return true;
  }
  /// A look at every cluster, from its beginning to its end.
  void LookOnce() {
    watch_.StartLooks();
    EXPECT_TRUE(Await([&] { return !watch_.looking(); }));
  }
  WatchedPool PoolOf(FakeSite& site) {
    for (const WatchedPool& pool : seen_()->pools) {
      if (pool.cluster_id == site.cluster_id()) return pool;
    }
    ADD_FAILURE() << "no pool of " << site.cluster_id();
    return {};
  }

  WatchedImage OnlyOf(FakeSite& site) {
    const WatchedPool pool = PoolOf(site);
    EXPECT_THAT(pool.images, SizeIs(1));
    return pool.images.empty() ? WatchedImage() : pool.images[0];
  }
  VolumeTarget On(FakeSite& site) {
    return {VolumeHandle(pair_.VolumeId(site, kUuid)), site.user()};
  }
  /// One that looks at the image itself.
  void ACall(FakeSite& site) {
    GetReplicationInfo(environment_, On(site), RealClock().Now() + minutes(1))
        .IgnoreError();
  }
  void RequestResync(FakeSite& site) {
    TestOperationContext context(world_);
    const auto resync =
        Resync(context, environment_, ResyncRequest{On(site), Force::kYes});
    ASSERT_OK(resync);
    ASSERT_FALSE(resync->ready);
  }
  SiteStatus LocalReport(FakeSite& site) {
    for (const SiteStatus& status : site.Status(image_)) {
      if (status.local()) return status;
    }
    ADD_FAILURE() << "rbd-mirror has not reported";
    return {};
  }

  FakeWorld world_;
  MirroredPair pair_{world_};
  FakeSite& a_ = pair_.a();
  FakeSite& b_ = pair_.b();
  const TempDir dir_;
  ConfigStore config_{dir_.path()};
  FakeClusterProvider clusters_{world_};
  Resolver resolver_{config_, clusters_};
  ReplicationEnvironment environment_{resolver_, config_, world_, {}};
  OperationTable operations_{OperationLimits(), world_};
  WatchedClusters named_{world_};
  ReplicationWatch watch_{operations_, environment_, named_, clusters_,
                          std::chrono::milliseconds(0)};
  const ReplicationWatch::Source seen_ = watch_.snapshots();
  const std::string image_ = MirroredPair::ImageOf(kUuid);
  std::string id_;
};

TEST_F(WatchTest, SeesBothSitesWithoutOpeningAnImage) {
  NoteBoth();
  world_.ClearCalls();
  LookOnce();
  EXPECT_EQ(world_.CountCalls("a", kList), 1);
  EXPECT_EQ(world_.CountCalls("a", "rbd_open_read_only"), 0);
  EXPECT_EQ(world_.CountMutations(), 0);
  const WatchedPool on_a = PoolOf(a_);
  EXPECT_EQ(on_a.unseen, "");
  EXPECT_EQ(on_a.local_mirror_up, true);
  EXPECT_EQ(on_a.peer_mirror_up, true);
  ASSERT_THAT(on_a.images, SizeIs(1));
  EXPECT_EQ(on_a.images[0].image, image_);
  EXPECT_EQ(on_a.images[0].volume_id, id_);
  EXPECT_EQ(on_a.images[0].volume_name, "pvc-1");
  EXPECT_EQ(on_a.images[0].role, WatchedRole::kPrimary);
  EXPECT_TRUE(on_a.images[0].last_sync.has_value());
  EXPECT_FALSE(on_a.images[0].split_brain);
  // Nobody has set a schedule.
  EXPECT_EQ(on_a.images[0].interval_seconds, std::nullopt);
  EXPECT_EQ(on_a.images[0].copy, CopyState::kLate);
  EXPECT_THAT(on_a.peers, ElementsAre("site-b"));
  EXPECT_THAT(on_a.images[0].message, HasSubstr("no mirror snapshot schedule"));
  const WatchedPool on_b = PoolOf(b_);
  ASSERT_THAT(on_b.images, SizeIs(1));
  EXPECT_EQ(on_b.images[0].role, WatchedRole::kSecondary);
  EXPECT_EQ(on_b.images[0].health, ReplicationHealth::kHealthy)
      << on_b.images[0].message;
}

// No call has to tell of it.
TEST_F(WatchTest, AVolumeThatIsPausedIsCalledSo) {
  LocalRecord record = Noted(a_, image_);
  record.pause =
      SchedulePause{PauseStep::kPaused, 1795747600, R"([{"interval":"5m"}])"};
  addons::Note(a_, image_, record);
  NoteBoth();
  world_.ClearCalls();
  LookOnce();
  ASSERT_THAT(PoolOf(a_).images, SizeIs(1));
  const WatchedImage paused = PoolOf(a_).images[0];
  EXPECT_THAT(paused.message,
              AllOf(HasSubstr("paused since 2026-11-27"), HasSubstr("every 5m"),
                    Not(HasSubstr("no mirror snapshot"))));
  EXPECT_EQ(paused.health, ReplicationHealth::kDegraded);
  EXPECT_EQ(paused.copy, CopyState::kLate);
  EXPECT_EQ(world_.CountCalls("a", "rbd_open_read_only"), 0);
  EXPECT_EQ(world_.CountMutations(), 0);
  record.pause.reset();
  addons::Note(a_, image_, record);
  LookOnce();
  EXPECT_THAT(PoolOf(a_).images[0].message,
              HasSubstr("no mirror snapshot schedule"));
}

TEST_F(WatchTest, WhatAComparisonHasFoundOfACopyIsSaid) {
  NoteBoth();
  LookOnce();
  ASSERT_NE(PoolOf(b_).images[0].copy, CopyState::kBroken);
  for (FakeSite* site : {&a_, &b_}) {
    const auto pool = pair_.cluster(*site)->OpenPool(pair_.pool_id(*site), "",
                                                     Access::kMutate);
    ASSERT_OK(pool);
    ASSERT_OK(WriteProof(**pool, site->ImageId(image_),
                         {"first", 1796108580, 1796108590, 3, 0}));
  }
  LookOnce();
  const WatchedPool pool = PoolOf(b_);
  EXPECT_EQ(pool.images[0].copy, CopyState::kBroken);
  EXPECT_THAT(
      pool.images[0].message,
      HasSubstr("the copy is damaged at point 'first': 3 objects differ, "
                "compared at 2026-12-01T07:03:10Z"));
  EXPECT_EQ(pool.broken.at(static_cast<size_t>(BrokenCopy::kDamaged)), 1U);
  // What is primary is no copy.
  EXPECT_NE(PoolOf(a_).images[0].copy, CopyState::kBroken);
  // That it cannot be read for once makes no copy well.
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_read_op_omap_get_vals2" ? EIO : 0;
  });
  LookOnce();
  world_.SetCallHook(nullptr);
  EXPECT_EQ(PoolOf(b_).images[0].copy, CopyState::kBroken);
}

TEST_F(WatchTest, ACallBringsItsPool) {
  const VolumeTarget target{VolumeHandle(id_), a_.user()};
  GetReplicationInfo(environment_, target, RealClock().Now() + minutes(1))
      .IgnoreError();
  LookOnce();
  ASSERT_THAT(seen_()->pools, SizeIs(1));
  EXPECT_EQ(PoolOf(a_).images.at(0).volume_id, id_);
}

// It costs nothing: calls read the metadata for their own notes.
TEST_F(WatchTest, ACallBringsTheNameOfTheClaim) {
  const VolumeTarget target{VolumeHandle(id_), a_.user()};
  const auto claim_after = [&](const std::string& name) {
    a_.SetImageMetadata(image_, "csi.storage.k8s.io/pvc/name", name);
    GetReplicationInfo(environment_, target, RealClock().Now() + minutes(1))
        .IgnoreError();
    LookOnce();
    return PoolOf(a_).images.at(0).claim;
  };
  a_.SetImageMetadata(image_, "csi.storage.k8s.io/pvc/namespace", "");
  EXPECT_EQ(claim_after("data"), "") << "without its namespace";
  a_.SetImageMetadata(image_, "csi.storage.k8s.io/pvc/namespace", "ns1");
  EXPECT_EQ(claim_after("data"), "ns1/data");
  EXPECT_EQ(claim_after(std::string(254, 'x')), "") << "no name of Kubernetes";
}

TEST_F(WatchTest, EachPublishedSnapshotHasANumberOfItsOwn) {
  NoteBoth();
  const uint64_t before = seen_()->number;
  LookOnce();
  EXPECT_GT(seen_()->number, before);
}

TEST_F(WatchTest, CopiesAreCountedByTheirState) {
  ASSERT_OK(pair_.cluster(a_)->MgrCommand(absl::StrCat(
      R"({"prefix":"rbd mirror snapshot schedule add","level_spec":"replicapool/)",
      image_, R"(","interval":"5m"})")));
  NoteBoth();
  LookOnce();
  EXPECT_THAT(PoolOf(a_).by_copy, ElementsAre(1, 0, 0, 0, 0));
  EXPECT_THAT(PoolOf(b_).by_copy, ElementsAre(1, 0, 0, 0, 0));
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(3));
  LookOnce();
  EXPECT_THAT(PoolOf(a_).by_copy, ElementsAre(0, 0, 1, 0, 0));
  EXPECT_THAT(PoolOf(b_).by_copy, ElementsAre(0, 0, 1, 0, 0));
  world_.Advance(minutes(15));
  LookOnce();
  EXPECT_THAT(PoolOf(a_).by_copy, ElementsAre(0, 0, 0, 1, 0));
  environment_.watched.Note(Volume(a_), a_.ImageId(image_), a_.user(), true);
  LookOnce();
  EXPECT_THAT(PoolOf(a_).by_copy, ElementsAre(0, 0, 0, 0, 1));
}

TEST_F(WatchTest, TellsCallsThatTheManagerHasAnswered) {
  constexpr char kManager[] = "rados_mgr_command";
  ASSERT_OK(pair_.cluster(a_)->MgrCommand(absl::StrCat(
      R"({"prefix":"rbd mirror snapshot schedule add","level_spec":"replicapool/)",
      image_, R"(","interval":"5m"})")));
  const VolumeTarget target{VolumeHandle(id_), a_.user()};
  const auto info = [&] {
    return GetReplicationInfo(environment_, target,
                              RealClock().Now() + minutes(1));
  };
  NoteBoth();
  LookOnce();
  EXPECT_EQ(world_.CountCalls("a", kManager), 2);
  ASSERT_OK(info());
  EXPECT_EQ(world_.CountCalls("a", kManager), 2);
  // That it did not answer the look tells nothing of before.
  world_.Advance(ManagerPresence::kCounts - seconds(1));
  a_.SetMgrHasModule(false);
  LookOnce();
  world_.Advance(seconds(1));
  const auto away = info();
  ASSERT_OK(away);
  EXPECT_EQ(away->health, ReplicationHealth::kDegraded) << away->message;
  EXPECT_THAT(away->message, HasSubstr("the manager does not tell"));
}

TEST_F(WatchTest, LagIsTheAgeInIntervals) {
  ASSERT_OK(pair_.cluster(a_)->MgrCommand(absl::StrCat(
      R"({"prefix":"rbd mirror snapshot schedule add","level_spec":"replicapool/)",
      image_, R"(","interval":"5m"})")));
  NoteBoth();
  world_.Advance(minutes(15));
  LookOnce();
  const WatchedImage image = PoolOf(a_).images.at(0);
  EXPECT_EQ(image.interval_seconds, 300);
  ASSERT_TRUE(image.lag_ratio.has_value());
  EXPECT_GT(*image.lag_ratio, 2.5);
  EXPECT_LT(*image.lag_ratio, 4);
  EXPECT_EQ(image.health, ReplicationHealth::kDegraded);
  EXPECT_THAT(image.message, HasSubstr("older than two intervals"));
}

// rbd-mirror is well, and the scheduler takes none.
TEST_F(WatchTest, SnapshotsThatWereDueAreMissed) {
  ASSERT_OK(pair_.cluster(a_)->MgrCommand(absl::StrCat(
      R"({"prefix":"rbd mirror snapshot schedule add","level_spec":"replicapool/)",
      image_, R"(","interval":"5m"})")));
  NoteBoth();
  LookOnce();
  EXPECT_EQ(PoolOf(a_).images.at(0).missed_snapshots, 0);
  world_.Advance(minutes(15));
  LookOnce();
  EXPECT_EQ(PoolOf(a_).images.at(0).missed_snapshots, 2);
  EXPECT_EQ(PoolOf(a_).images.at(0).newest_snapshot,
            PoolOf(a_).images.at(0).last_sync);
  EXPECT_EQ(PoolOf(b_).images.at(0).missed_snapshots, std::nullopt);
  a_.CreateMirrorSnapshot(image_);
  world_.Advance(seconds(60));
  LookOnce();
  EXPECT_EQ(PoolOf(a_).images.at(0).missed_snapshots, 0);
  // A peer that says nothing does not tell what there is.
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(15));
  LookOnce();
  EXPECT_EQ(PoolOf(a_).images.at(0).missed_snapshots, std::nullopt);
}

TEST_F(WatchTest, SeesFencesOfTheClustersOfPools) {
  a_.AddRangeBlocklistEntry("10.0.0.0:0/24", hours(2));
  a_.AddBlocklistEntry("10.0.1.1:0/0", hours(1));
  a_.AddBlocklistEntry("10.0.1.2:0/4711", hours(1));
  NoteBoth();
  world_.ClearCalls();
  LookOnce();
  ASSERT_THAT(seen_()->fences, SizeIs(2));
  const WatchedFences& on_a = seen_()->fences[0];
  EXPECT_EQ(on_a.cluster_id, a_.cluster_id());
  EXPECT_EQ(on_a.unseen, "");
  EXPECT_EQ(on_a.total, 2U);
  EXPECT_EQ(on_a.clients, 1U);
  ASSERT_THAT(on_a.fences, SizeIs(2));
  EXPECT_EQ(on_a.fences[0].range, "10.0.1.1/32");
  EXPECT_EQ(on_a.fences[1].range, "10.0.0.0/24");
  ASSERT_TRUE(on_a.fences[0].until.has_value());
  EXPECT_EQ(*on_a.fences[1].until - *on_a.fences[0].until, 3600);
  EXPECT_EQ(seen_()->fences[1].total, 0U);
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(WatchTest, ACallAboutFencesBringsItsCluster) {
  named_.NoteFences(a_.cluster_id(), a_.user());
  LookOnce();
  ASSERT_THAT(seen_()->fences, SizeIs(1));
  EXPECT_EQ(seen_()->fences[0].unseen, "");
  EXPECT_THAT(seen_()->pools, IsEmpty());
  // What was seen stays, with the reason why it is old.
  a_.AddBlocklistEntry("10.0.1.1:0/0", hours(30));
  LookOnce();
  a_.SetClusterUp(false);
  LookOnce();
  EXPECT_EQ(seen_()->fences[0].total, 1U);
  EXPECT_NE(seen_()->fences[0].unseen, "");
  a_.SetClusterUp(true);
  LookOnce();
  EXPECT_EQ(seen_()->fences[0].unseen, "");
  // Forgotten with its user.
  world_.Advance(hours(25));
  LookOnce();
  EXPECT_THAT(seen_()->fences, IsEmpty());
}

TEST_F(WatchTest, AUserThatIsRefusedIsNotAskedForFencesAgain) {
  const CephUserRef old = a_.user();
  named_.NoteFences(a_.cluster_id(), old);
  a_.SetKey("AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==");
  LookOnce();
  ASSERT_THAT(seen_()->fences, SizeIs(1));
  EXPECT_NE(seen_()->fences[0].unseen, "");
  world_.ClearCalls();
  LookOnce();
  EXPECT_THAT(world_.Calls(), IsEmpty());
  named_.NoteFences(a_.cluster_id(), a_.user());
  LookOnce();
  EXPECT_EQ(seen_()->fences[0].unseen, "");
}

// No verb finds them, and only this site tells.
TEST_F(WatchTest, SecondariesWithoutAnEntryAreCounted) {
  constexpr char kOther[] = "b891b493-7754-470d-b2a0-4ca18f698b29";
  const std::string entry = absl::StrCat("csi.volume.", kOther);
  (void)pair_.AddMirroredVolume(a_, kOther);
  const OmapValues before = b_.Omap(MirroredPair::kPool, "", entry);
  for (FakeSite* const site : {&a_, &b_}) {
    site->SetOmap(MirroredPair::kPool, "", "csi.volumes.default", {});
    site->SetOmap(MirroredPair::kPool, "", entry, {});
  }
  world_.Advance(minutes(1));
  NoteBoth();
  ResolvedVolume other = Volume(b_);
  other.attributes.image_name = ImageName(MirroredPair::ImageOf(kOther));
  environment_.watched.Note(other, b_.ImageId(MirroredPair::ImageOf(kOther)),
                            b_.user());
  LookOnce();
  EXPECT_EQ(PoolOf(a_).without_entry, 0U) << "both are primary";
  EXPECT_EQ(PoolOf(b_).without_entry, 1U) << "one is not in the directory only";
  b_.SetOmap(MirroredPair::kPool, "", entry, before);
  LookOnce();
  EXPECT_EQ(PoolOf(b_).without_entry, 1U) << "it is read every ten minutes";
  world_.Advance(minutes(10));
  LookOnce();
  EXPECT_EQ(PoolOf(b_).without_entry, 0U);
}

// Those of a site that has lost its journal are asked for one part after the
// other.
TEST_F(WatchTest, ACountThatIsNotWholeIsNotPublished) {
  const auto pool =
      *pair_.cluster(b_)->OpenPool(pair_.pool_id(b_), "", Access::kRead);
  std::vector<std::string> images;
  for (size_t i = 0; i < 2 * EntryLooks::kMostAsked + 1; ++i) {
    images.push_back(MirroredPair::ImageOf(
        absl::StrFormat("b891b493-7754-470d-b2a0-%012d", i)));
  }
  TestOperationContext context(world_);
  EntryLooks looks;
  const auto look = [&] {
    looks.Look(context, *pool, "default", images, world_.Now());
    return looks.WithoutEntry();
  };
  EXPECT_EQ(look(), std::nullopt);
  // The directory is not read anew before all have been asked for.
  world_.Advance(EntryLooks::kAgain);
  EXPECT_EQ(look(), std::nullopt);
  EXPECT_EQ(look(), images.size());
  world_.Advance(EntryLooks::kAgain);
  EXPECT_EQ(look(), images.size()) << "what was counted last stands";
  images.pop_back();
  EXPECT_EQ(look(), images.size());
}

// As the journal of the pool has it, which no call names.
TEST_F(WatchTest, AnImageHasTheGroupOfItsVolume) {
  constexpr char kGroup[] = "b891b493-7754-470d-b2a0-4ca18f698b29";
  const auto write = [&](const std::string& name, OmapValues members) {
    members.insert({{"csi.volname", name}, {"csi.groupname", "rbd-group"}});
    a_.SetOmap(MirroredPair::kPool, "", "csi.groups.default",
               {{"csi.volume.group." + name, kGroup}});
    a_.SetOmap(MirroredPair::kPool, "",
               absl::StrCat("csi.volume.group.", kGroup), members);
  };
  const auto group = [&] { return PoolOf(a_).images.front().group; };
  NoteBoth();
  LookOnce();
  EXPECT_EQ(group().name, "");
  write("data", {{id_, ""}});
  LookOnce();
  EXPECT_EQ(group().name, "") << "it is read every ten minutes";
  world_.Advance(minutes(10));
  LookOnce();
  EXPECT_EQ(group().name, "data");
  EXPECT_EQ(group().id, pair_.VolumeId(a_, kGroup));
  // What cannot be read stays as it was seen.
  world_.Advance(minutes(10));
  write("data", {});
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return absl::StrContains(call, "omap") ? EIO : 0;
  });
  LookOnce();
  EXPECT_EQ(group().name, "data");
  world_.SetCallHook(nullptr);
}

TEST_F(WatchTest, GroupsAreForgottenAfterADay) {
  named_.NoteGroup({"group-1", {"v1", "v2"}});
  named_.NoteGroup({"group-2", {}});
  named_.ForgetGroup("group-2");
  LookOnce();
  ASSERT_THAT(seen_()->groups, SizeIs(1));
  EXPECT_EQ(seen_()->groups[0].members.size(), 2U);
  world_.Advance(hours(25));
  LookOnce();
  EXPECT_THAT(seen_()->groups, IsEmpty());
}

TEST_F(WatchTest, ThatTheClientIsOnTheBlocklistIsSaidSinceWhen) {
  NoteBoth();
  int error = ESHUTDOWN;
  world_.SetCallHook([&](absl::string_view site, absl::string_view call, bool) {
    return site == "a" && call == kList ? error : 0;
  });
  LookOnce();
  const auto since = PoolOf(a_).blocklisted_since;
  ASSERT_TRUE(since.has_value());
  EXPECT_THAT(PoolOf(a_).unseen, HasSubstr("on the blocklist: somebody has"));
  EXPECT_EQ(PoolOf(b_).blocklisted_since, std::nullopt);
  // It is since the first look that was told.
  world_.Advance(minutes(5));
  LookOnce();
  EXPECT_EQ(PoolOf(a_).blocklisted_since, since);
  // Another trouble is another one.
  error = ETIMEDOUT;
  LookOnce();
  EXPECT_NE(PoolOf(a_).unseen, "");
  EXPECT_EQ(PoolOf(a_).blocklisted_since, std::nullopt);
  error = ESHUTDOWN;
  LookOnce();
  EXPECT_GT(PoolOf(a_).blocklisted_since, since);
  error = 0;
  LookOnce();
  EXPECT_EQ(PoolOf(a_).unseen, "");
  EXPECT_EQ(PoolOf(a_).blocklisted_since, std::nullopt);
}

TEST_F(WatchTest, WithoutTheManagerTheRestIsSeen) {
  NoteBoth();
  a_.SetMgrUp(false);
  LookOnce();
  const WatchedPool pool = PoolOf(a_);
  EXPECT_EQ(pool.unseen, "");
  EXPECT_NE(pool.schedules_unseen, "");
  EXPECT_EQ(pool.images.at(0).role, WatchedRole::kPrimary);
}

TEST_F(WatchTest, SplitBrainIsSeenOnTheSiteThatHasIt) {
  NoteBoth();
  b_.ForceSplitBrain(image_);
  world_.Advance(seconds(90));
  LookOnce();
  EXPECT_TRUE(PoolOf(b_).images.at(0).split_brain);
  EXPECT_EQ(PoolOf(b_).images.at(0).health, ReplicationHealth::kError);
}

// No report tells of it: calls have seen the image itself.
TEST_F(WatchTest, CopiesThatCannotBeReliedOnAreCounted) {
  NoteBoth();
  LookOnce();
  EXPECT_THAT(PoolOf(b_).broken, ElementsAre(0, 0, 0, 0, 0));
  const ResolvedVolume volume = Volume(b_);
  environment_.watched.Note(volume, b_.ImageId(image_), b_.user(), true);
  environment_.watched.NoteMixture(volume, b_.ImageId(image_), true, false);
  LookOnce();
  WatchedPool pool = PoolOf(b_);
  EXPECT_THAT(pool.broken, ElementsAre(0, 1, 1, 0, 0));
  ASSERT_THAT(pool.images, SizeIs(1));
  EXPECT_EQ(pool.images[0].health, ReplicationHealth::kError);
  EXPECT_THAT(pool.images[0].message,
              AllOf(HasSubstr("waits for a decision"), HasSubstr("parent")));
  // Another call has found it whole; of the rescue only who looks can tell.
  environment_.watched.Note(volume, b_.ImageId(image_), b_.user(), false);
  LookOnce();
  EXPECT_THAT(PoolOf(b_).broken, ElementsAre(0, 0, 1, 0, 0));
  environment_.watched.NoteMixture(volume, b_.ImageId(image_), false, true);
  LookOnce();
  EXPECT_THAT(PoolOf(b_).broken, ElementsAre(0, 0, 0, 0, 1));
  EXPECT_THAT(PoolOf(b_).images[0].message, HasSubstr("start no workload"));
  environment_.watched.NoteMixture(volume, b_.ImageId(image_), false, false);
  LookOnce();
  EXPECT_EQ(PoolOf(b_).images[0].health, ReplicationHealth::kHealthy);
}

TEST_F(WatchTest, ACallTellsThatAVolumeIsAClone) {
  a_.AddImage(MirroredPair::kPool, "", "parent", uint64_t{1} << 20);
  const std::string uuid = "b891b493-7754-470d-b2a0-4ca18f698b29";
  const std::string image = MirroredPair::ImageOf(uuid);
  a_.AddClone("parent", image);
  pair_.AddJournal(a_, uuid);
  a_.EnableMirroring("parent");
  a_.EnableMirroring(image);
  const VolumeTarget target{VolumeHandle(pair_.VolumeId(a_, uuid)), a_.user()};
  GetReplicationInfo(environment_, target, RealClock().Now() + minutes(1))
      .IgnoreError();
  LookOnce();
  EXPECT_THAT(PoolOf(a_).broken, ElementsAre(0, 1, 0, 0, 0));
}

TEST_F(WatchTest, ADeadMirrorDaemonIsNoHealth) {
  NoteBoth();
  LookOnce();
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(3));
  LookOnce();
  EXPECT_EQ(PoolOf(b_).local_mirror_up, false);
  EXPECT_NE(PoolOf(b_).images.at(0).health, ReplicationHealth::kHealthy);
  EXPECT_EQ(PoolOf(a_).peer_mirror_up, false);
}

TEST_F(WatchTest, AClusterThatHangsDelaysNoOther) {
  NoteBoth();
  std::atomic<bool> hold{true};
  std::atomic<int> held{0};
  world_.SetCallHook([&](absl::string_view site, absl::string_view call, bool) {
    if (site != "a" || call != kList) return 0;
    ++held;
    while (hold) {
      RealClock().SleepFor(std::chrono::milliseconds(2), std::stop_token());
    }
    return 0;
  });
  watch_.StartLooks();
  EXPECT_TRUE(Await([&] { return held == 1 && PoolOf(b_).seen_at; }));
  // The next rounds look at b again, and hold no further worker for a.
  for (int round = 0; round < 3; ++round) {
    world_.Advance(seconds(1));
    const auto before = PoolOf(b_).seen_at;
    // What a look has seen is told before the look has ended, and a round
    // leaves out the clusters that are still looked at.
    EXPECT_TRUE(Await([&] {
      watch_.StartLooks();
      return PoolOf(b_).seen_at > before;
    }));
  }
  EXPECT_TRUE(Await([&] { return operations_.List().size() == 1; }));
  EXPECT_EQ(held, 1);
  EXPECT_FALSE(PoolOf(a_).seen_at.has_value());
  EXPECT_NE(PoolOf(a_).unseen, "");
  hold = false;
  EXPECT_TRUE(Await([&] { return PoolOf(a_).seen_at.has_value(); }));
}

TEST_F(WatchTest, WhatACallHasChangedIsLookedAtSoon) {
  NoteBoth();
  LookOnce();
  const auto looks_at_changes = [&] {
    const auto before = PoolOf(a_).seen_at;
    watch_.StartLooksAtChanges();
    EXPECT_TRUE(Await([&] { return !watch_.looking(); }));
    return PoolOf(a_).seen_at > before;
  };
  // The look has seen that the images were new.
  world_.Advance(WatchedPools::kQuiet);
  EXPECT_FALSE(looks_at_changes());
  Note(a_, a_.user(), "another");
  world_.Advance(WatchedPools::kQuiet);
  EXPECT_TRUE(looks_at_changes());
  NoteBoth();
  world_.Advance(WatchedPools::kAtLatest);
  EXPECT_FALSE(looks_at_changes());
  environment_.watched.NoteChange(a_.cluster_id());
  world_.Advance(seconds(1));
  EXPECT_FALSE(looks_at_changes()) << "another one may follow";
  world_.Advance(seconds(1));
  EXPECT_TRUE(looks_at_changes());
  world_.Advance(seconds(1));
  EXPECT_FALSE(looks_at_changes());
  // What cannot be looked at is not tried each second.
  environment_.watched.NoteChange("nowhere");
  world_.Advance(WatchedPools::kQuiet);
  const uint64_t published = seen_()->number;
  EXPECT_FALSE(looks_at_changes());
  EXPECT_EQ(seen_()->number, published);
  EXPECT_TRUE(environment_.watched.ChangesDue().empty());
  // A site that moves is looked at meanwhile.
  int looks = 0;
  for (int second = 0; second < 60; ++second) {
    environment_.watched.NoteChange(a_.cluster_id());
    world_.Advance(seconds(1));
    looks += looks_at_changes() ? 1 : 0;
  }
  EXPECT_EQ(looks, 3);
}

// Who asks right after a call is not told what was so before it.
TEST_F(WatchTest, WhatACallHasChangedIsNotShownAsItWasBefore) {
  ACall(b_);
  b_.ForceSplitBrain(image_);
  world_.Advance(seconds(90));
  ACall(b_);
  LookOnce();
  ASSERT_EQ(OnlyOf(b_).copy, CopyState::kBroken);
  ASSERT_THAT(OnlyOf(b_).message, HasSubstr("resync it by force"));
  const uint64_t number = seen_()->number;
  world_.Advance(seconds(1));
  RequestResync(b_);
  const WatchedImage image = OnlyOf(b_);
  EXPECT_GT(seen_()->number, number);
  EXPECT_EQ(image.copy, CopyState::kUnknown);
  EXPECT_FALSE(image.split_brain);
  EXPECT_EQ(image.role, WatchedRole::kSecondary);
  EXPECT_EQ(image.lag_seconds, std::nullopt);
  EXPECT_EQ(image.volume_name, "pvc-" + std::string(kUuid));
  EXPECT_THAT(image.message, AllOf(Not(HasSubstr("resync it by force")),
                                   HasSubstr("the last look was before that")));
  const WatchedPool pool = PoolOf(b_);
  EXPECT_EQ(pool.broken, (std::array<size_t, kBrokenCopies>{}));
  EXPECT_EQ(pool.by_copy.at(static_cast<size_t>(CopyState::kBroken)), 0U);
  EXPECT_EQ(pool.by_copy.at(static_cast<size_t>(CopyState::kUnknown)), 1U);
  // It is published once, not for whoever asks.
  const uint64_t published = seen_()->number;
  EXPECT_EQ(seen_()->number, published);
}

// Pages of one snapshot are read although a site moves meanwhile.
TEST_F(WatchTest, NotEachChangeIsPublishedByItself) {
  ACall(a_);
  LookOnce();
  const auto turn = [&](SeenAs as) {
    environment_.watched.Note(Volume(a_), a_.ImageId(image_), a_.user(), false,
                              "", SeenRole{as});
  };
  world_.Advance(seconds(1));
  turn(SeenAs::kDemoted);
  const uint64_t number = seen_()->number;
  turn(SeenAs::kPrimary);
  EXPECT_EQ(seen_()->number, number);
  world_.Advance(seconds(1));
  EXPECT_GT(seen_()->number, number);
}

TEST_F(WatchTest, AReportFromBeforeAChangeIsNotBelieved) {
  const auto report = [&](const std::string& text) {
    b_.SetStatus(image_, "", MirrorStatusState::kError, text);
    LookOnce();
  };
  const auto turn = [&](SeenAs as) {
    environment_.watched.Note(
        Volume(b_), b_.ImageId(image_), b_.user(), false, "",
        SeenRole{as, Says::kSplitBrain, LocalReport(b_).last_update});
    world_.Advance(WatchedPools::kQuiet);
    LookOnce();
  };
  ACall(b_);
  report("split-brain");
  ASSERT_EQ(OnlyOf(b_).copy, CopyState::kBroken);
  world_.Advance(seconds(1));
  turn(SeenAs::kDemoted);
  EXPECT_EQ(OnlyOf(b_).copy, CopyState::kUnknown);
  EXPECT_FALSE(OnlyOf(b_).split_brain);
  EXPECT_EQ(OnlyOf(b_).role, WatchedRole::kSecondary);
  EXPECT_EQ(OnlyOf(b_).lag_seconds, std::nullopt);
  EXPECT_THAT(OnlyOf(b_).message, HasSubstr("has not reported since"));
  // The next look comes before the round is over.
  EXPECT_FALSE(environment_.watched.ChangesDue().contains(b_.cluster_id()));
  world_.Advance(WatchedPools::kLookAgain);
  EXPECT_TRUE(environment_.watched.ChangesDue().contains(b_.cluster_id()));
  // A report that says the same once more counts when it cannot be old.
  report("split-brain");
  EXPECT_FALSE(OnlyOf(b_).split_brain);
  world_.Advance(kReportLag);
  report("split-brain");
  EXPECT_TRUE(OnlyOf(b_).split_brain);
  EXPECT_EQ(OnlyOf(b_).copy, CopyState::kBroken);
  // Another one is news at once.
  turn(SeenAs::kSecondary);
  EXPECT_EQ(OnlyOf(b_).copy, CopyState::kUnknown);
  report("failed to start replay");
  EXPECT_EQ(OnlyOf(b_).copy, CopyState::kBroken);
  // Of a copy that is about to be deleted none counts.
  turn(SeenAs::kMadeAnew);
  world_.Advance(kReportLag);
  report("split-brain");
  EXPECT_EQ(OnlyOf(b_).copy, CopyState::kUnknown);
  EXPECT_THAT(OnlyOf(b_).message, HasSubstr("a resync is requested"));
  // One that nobody deletes is as it was.
  world_.Advance(kReportsAwaited);
  report("split-brain");
  EXPECT_TRUE(OnlyOf(b_).split_brain);
  // What does not come is not awaited without end.
  world_.Advance(WatchedPools::kLookAgain);
  EXPECT_FALSE(environment_.watched.ChangesDue().contains(b_.cluster_id()));
}

TEST_F(WatchTest, AfterTheDemotionOfAMoveNoSiteIsPrimary) {
  ACall(a_);
  ACall(b_);
  LookOnce();
  ASSERT_EQ(OnlyOf(a_).role, WatchedRole::kPrimary);
  // Whose rbd-mirror is down while the volume moves.
  a_.SetMirrorDaemon(DaemonState::kDown);
  a_.Demote(image_);
  world_.Advance(seconds(1));
  ACall(a_);
  EXPECT_THAT(OnlyOf(a_).message, HasSubstr("no site is known to be primary"));
  world_.Advance(WatchedPools::kQuiet);
  LookOnce();
  EXPECT_EQ(OnlyOf(a_).role, WatchedRole::kSecondary);
  EXPECT_EQ(OnlyOf(a_).copy, CopyState::kUnknown);
  EXPECT_EQ(OnlyOf(a_).lag_seconds, std::nullopt);
  EXPECT_THAT(OnlyOf(a_).message, HasSubstr("no site is known to be primary"));
  // The other site's rbd-mirror has copied the demotion, and has not told so.
  ASSERT_TRUE(pair_.InSync(b_, image_));
  ACall(b_);
  LookOnce();
  EXPECT_EQ(OnlyOf(b_).copy, CopyState::kUnknown);
  EXPECT_THAT(OnlyOf(b_).message, HasSubstr("no site is known to be primary"));
  // Long after, when each has told what it sees.
  world_.Advance(minutes(4));
  LookOnce();
  for (FakeSite* const site : {&a_, &b_}) {
    EXPECT_NE(OnlyOf(*site).copy, CopyState::kInStep);
    EXPECT_THAT(OnlyOf(*site).message,
                HasSubstr("no site is known to be primary"))
        << site->cluster_id();
  }
}

TEST_F(WatchTest, ASiteWithoutRbdMirrorSeesThatTheOtherOneIsPrimary) {
  ACall(a_);
  LookOnce();
  a_.SetMirrorDaemon(DaemonState::kDown);
  a_.Demote(image_);
  world_.Advance(seconds(1));
  ACall(a_);
  ASSERT_TRUE(world_.AdvanceUntil([&] { return pair_.InSync(b_, image_); },
                                  minutes(2)));
  LookOnce();
  ASSERT_THAT(OnlyOf(a_).message, HasSubstr("no site is known to be primary"));
  b_.Promote(image_, Force::kNo);
  world_.Advance(minutes(1));
  LookOnce();
  EXPECT_THAT(OnlyOf(a_).message,
              AllOf(Not(HasSubstr("no site is known to be primary")),
                    HasSubstr("has not reported since; that takes")));
  world_.Advance(kReportsAwaited);
  LookOnce();
  EXPECT_THAT(OnlyOf(a_).message, Not(HasSubstr("that takes")));
}

// More than are asked in one look, and nobody reports of them.
TEST_F(WatchTest, ATurnCountsAlsoForThoseThatAreNotAsked) {
  std::vector<std::string> images = {image_};
  for (size_t i = 0; i < PoolLook::kMostAsked; ++i) {
    const std::string uuid =
        absl::StrFormat("5ef79ce1-81e8-439b-8405-%012d", i);
    pair_.AddMirroredVolume(a_, uuid, 8 << 10);
    images.push_back(MirroredPair::ImageOf(uuid));
  }
  const auto note_all = [&](SeenAs as) {
    for (const std::string& image : images) {
      ResolvedVolume volume = Volume(a_);
      volume.attributes.image_name = ImageName(image);
      volume.volume_id = VolumeHandle(image);
      environment_.watched.Note(volume, a_.ImageId(image), a_.user(), false, "",
                                SeenRole{as, Says::kUnclear, 0});
    }
  };
  const auto primaries = [&] {
    return PoolOf(a_).by_role.at(static_cast<size_t>(WatchedRole::kPrimary));
  };
  a_.SetMirrorDaemon(DaemonState::kDown);
  note_all(SeenAs::kPrimary);
  world_.Advance(minutes(10));
  for (int look = 0; look < 2; ++look) LookOnce();
  ASSERT_EQ(primaries(), images.size());
  for (const std::string& image : images) a_.Demote(image);
  world_.Advance(seconds(1));
  note_all(SeenAs::kDemoted);
  world_.Advance(seconds(1));
  LookOnce();
  EXPECT_EQ(primaries(), 0U);
}

TEST_F(WatchTest, ADamagedCopyIsCalledSoBeforeItIsPromoted) {
  ACall(b_);
  const auto pool =
      pair_.cluster(b_)->OpenPool(pair_.pool_id(b_), "", Access::kMutate);
  ASSERT_OK(pool);
  ASSERT_OK(WriteProof(**pool, b_.ImageId(image_),
                       {"first", 1796108580, 1796108590, 3, 0}));
  LookOnce();
  ASSERT_EQ(OnlyOf(b_).copy, CopyState::kBroken);
  a_.Demote(image_);
  ASSERT_TRUE(world_.AdvanceUntil([&] { return pair_.InSync(b_, image_); },
                                  minutes(2)));
  ACall(b_);
  EXPECT_THAT(OnlyOf(b_).message, HasSubstr("the copy is damaged"));
  EXPECT_EQ(OnlyOf(b_).copy, CopyState::kBroken);
  EXPECT_EQ(PoolOf(b_).broken.at(static_cast<size_t>(BrokenCopy::kDamaged)),
            1U);
}

TEST_F(WatchTest, AMoveTakesTheAgeOfFormerCopiesAway) {
  ACall(a_);
  ACall(b_);
  LookOnce();
  ASSERT_TRUE(OnlyOf(a_).lag_seconds.has_value());
  const auto move = [&](FakeSite& from, FakeSite& to) {
    from.Demote(image_);
    world_.Advance(minutes(2));
    to.Promote(image_, Force::kNo);
    ACall(from);
    ACall(to);
    world_.Advance(WatchedPools::kQuiet);
    LookOnce();
    EXPECT_EQ(OnlyOf(to).role, WatchedRole::kPrimary);
    EXPECT_EQ(OnlyOf(to).lag_seconds, std::nullopt);
    EXPECT_EQ(OnlyOf(to).copy, CopyState::kUnknown);
    world_.Advance(seconds(90));
    LookOnce();
    EXPECT_TRUE(OnlyOf(to).lag_seconds.has_value());
    EXPECT_EQ(OnlyOf(from).role, WatchedRole::kSecondary);
  };
  move(a_, b_);
  move(b_, a_);
  move(a_, b_);
}

TEST_F(WatchTest, AfterAFailedLookTheLastValuesStayAndSayTheirAge) {
  NoteBoth();
  LookOnce();
  const WatchedPool before = PoolOf(a_);
  world_.SetCallHook([](absl::string_view site, absl::string_view call, bool) {
    return site == "a" && call == kList ? ETIMEDOUT : 0;
  });
  world_.Advance(minutes(1));
  LookOnce();
  const WatchedPool after = PoolOf(a_);
  EXPECT_NE(after.unseen, "");
  EXPECT_EQ(after.failed_looks, 1U);
  EXPECT_EQ(after.seen_at, before.seen_at);
  EXPECT_THAT(after.images, SizeIs(1));
  EXPECT_EQ(PoolOf(b_).unseen, "");
  world_.SetCallHook(nullptr);
  LookOnce();
  EXPECT_EQ(PoolOf(a_).unseen, "");
}

TEST_F(WatchTest, AClusterIsSilentSinceItHasAnsweredLast) {
  const auto on_a = [&] { return seen_()->fences.at(0); };
  NoteBoth();
  // The first look is not answered: nothing is known of before.
  a_.SetClusterUp(false);
  const SteadyTime began = world_.Now();
  LookOnce();
  EXPECT_EQ(on_a().cluster_id, a_.cluster_id());
  ASSERT_TRUE(on_a().silent_since.has_value());
  EXPECT_GE(*on_a().silent_since, began);
  EXPECT_LT(*on_a().silent_since, world_.Now());
  EXPECT_EQ(seen_()->fences.at(1).silent_since, std::nullopt);
  a_.SetClusterUp(true);
  LookOnce();
  EXPECT_EQ(on_a().silent_since, std::nullopt);
  // A silence that goes on does not begin anew.
  const auto answered = on_a().seen_at;
  a_.SetClusterUp(false);
  for (int look = 0; look < 2; ++look) {
    world_.Advance(minutes(1));
    LookOnce();
    EXPECT_EQ(on_a().silent_since, answered);
  }
  // A refusal is an answer.
  a_.SetClusterUp(true);
  world_.SetCallHook([](absl::string_view site, absl::string_view call, bool) {
    return site == "a" && call == "rados_mon_command" ? EPERM : 0;
  });
  LookOnce();
  EXPECT_EQ(on_a().silent_since, std::nullopt);
  EXPECT_NE(on_a().unseen, "");
}

TEST_F(WatchTest, SaysWhenAPeerWasHeardOfLast) {
  NoteBoth();
  LookOnce();
  const SteadyTime before = world_.Now();
  ASSERT_TRUE(PoolOf(a_).peer_heard_at.has_value());
  EXPECT_LE(*PoolOf(a_).peer_heard_at, before);
  EXPECT_GE(*PoolOf(a_).peer_heard_at, before - seconds(60));
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(10));
  LookOnce();
  EXPECT_EQ(PoolOf(a_).peer_mirror_up, false);
  EXPECT_LE(*PoolOf(a_).peer_heard_at, before + seconds(60));
}

TEST_F(WatchTest, TheSpeedOfACopyIsThatOfRbdMirror) {
  const auto report = [&](const char* state, const char* speed) {
    a_.SetStatus(image_, b_.mirror_uuid(), MirrorStatusState::kReplaying,
                 absl::StrCat(R"(replaying, {"bytes_per_second":)", speed,
                              R"(,"bytes_per_snapshot":1048576.0,)"
                              R"("local_snapshot_timestamp":100,)"
                              R"("remote_snapshot_timestamp":160,)"
                              R"("replay_state":")",
                              state, R"(","syncing_percent":75})"));
  };
  NoteBoth();
  report("syncing", "4096.5");
  LookOnce();
  EXPECT_EQ(PoolOf(a_).images.at(0).percent, 75);
  EXPECT_EQ(PoolOf(a_).images.at(0).bytes_per_second, 4096);
  report("syncing", "0.0");
  LookOnce();
  EXPECT_EQ(PoolOf(a_).images.at(0).bytes_per_second, std::nullopt);
  report("idle", "4096.5");
  LookOnce();
  EXPECT_EQ(PoolOf(a_).images.at(0).bytes_per_second, std::nullopt);
}

TEST_F(WatchTest, AUserThatIsRefusedIsNotUsedAgain) {
  NoteBoth();
  LookOnce();
  world_.SetCallHook([](absl::string_view site, absl::string_view call, bool) {
    return site == "a" && call == kList ? EPERM : 0;
  });
  LookOnce();
  EXPECT_THAT(PoolOf(a_).unseen, HasSubstr("refuses the user"));
  EXPECT_THAT(PoolOf(a_).images, SizeIs(1));
  world_.SetCallHook(nullptr);
  world_.ClearCalls();
  LookOnce();
  EXPECT_EQ(world_.CountCalls("a", kList), 0);
  EXPECT_EQ(world_.CountCalls("b", kList), 1);
  // A call brings another one.
  Note(a_, a_.user(), a_.ImageId(image_));
  LookOnce();
  EXPECT_EQ(PoolOf(a_).unseen, "");
}

TEST_F(WatchTest, TheNewestUserIsTheOneThatIsUsed) {
  const auto wrong = MakeCephUser(
      "csi-rbd", Secret("AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg=="));
  Note(a_, a_.user(), a_.ImageId(image_));
  Note(a_, wrong, a_.ImageId(image_));
  LookOnce();
  EXPECT_THAT(PoolOf(a_).unseen, HasSubstr("refuses the user"));
  Note(a_, a_.user(), a_.ImageId(image_));
  LookOnce();
  EXPECT_EQ(PoolOf(a_).unseen, "");
}

TEST_F(WatchTest, WhatNoCallAsksForIsForgottenAfterADay) {
  NoteBoth();
  LookOnce();
  EXPECT_THAT(seen_()->pools, SizeIs(2));
  world_.Advance(hours(23));
  Note(b_, b_.user(), b_.ImageId(image_));
  world_.Advance(hours(2));
  LookOnce();
  ASSERT_THAT(seen_()->pools, SizeIs(1));
  EXPECT_EQ(seen_()->pools[0].cluster_id, b_.cluster_id());
}

TEST_F(WatchTest, NoMorePoolsThanAreWatched) {
  for (size_t i = 0; i < WatchedPools::kMost + 3; ++i) {
    Note(a_, a_.user(), "1", absl::StrCat("ns", i));
  }
  EXPECT_THAT(environment_.watched.All(), SizeIs(WatchedPools::kMost));
  EXPECT_EQ(environment_.watched.left_out(), 3U);
}

TEST_F(WatchTest, ItEndsWhileAClusterHangs) {
  Note(a_, a_.user(), a_.ImageId(image_));
  std::atomic<bool> hold{true};
  std::atomic<int> held{0};
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    if (call != kList) return 0;
    ++held;
    while (hold) {
      RealClock().SleepFor(std::chrono::milliseconds(2), std::stop_token());
    }
    return 0;
  });
  {
    ReplicationWatch watch(operations_, environment_, named_, clusters_,
                           std::chrono::milliseconds(5));
    ASSERT_TRUE(Await([&] { return held > 0; }));
  }
  hold = false;
  EXPECT_TRUE(Await([&] { return !watch_.looking(); }));
}

}  // namespace
}  // namespace addons::testing
