#include "replication/look/promote_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>

#include "ceph/pool.h"
#include "replication/look/move_marks.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr char kVolume[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";
constexpr char kThird[] = "7a9c1f60-3d52-4c0f-8b1e-6d1f0f6c2a33";
constexpr char kOther[] = "0d2b7d5e-4f60-4c8e-9a36-ad5dbd9b7a11";

/// Looks at images of one pool of site b, as calls do that wait.
class PromoteSeriesTest : public ::testing::Test {
 protected:
  PromoteSeriesTest() {
    pair_.AddMirroredVolume(pair_.a(), kVolume);
    pair_.AddMirroredVolume(pair_.a(), kOther);
    // Nothing is left to be told of these copies.
    world_.Advance(minutes(2));
    pool_ = OpenPool(Access::kRead);
  }
  std::unique_ptr<Pool> OpenPool(Access access,
                                 const std::string& rados_namespace = "") {
    return *pair_.cluster(pair_.b())->OpenPool(pair_.pool_id(pair_.b()),
                                               rados_namespace, access);
  }
  void Evict() {
    pair_.b().SetMirrorDaemon(DaemonState::kDown);
    const auto pool = OpenPool(Access::kMutate);
    EXPECT_OK(series_.NoteEviction({*pool}, "pool"));
  }
  SeriesClocks Look(const std::string& image = "image 1",
                    const std::string& progress = "1", bool receiving = true) {
    EXPECT_OK(series_.List(*cluster_, *pool_, "pool"));
    return series_.Note({"pool", image, progress, receiving, primary_,
                         pool_->rados_namespace()});
  }
  /// Looks as a call does that waits for `time`; the last one.
  SeriesClocks LookFor(SteadyDuration time,
                       const std::string& image = "image 1",
                       const std::string& progress = "1") {
    SeriesClocks clocks = Look(image, progress);
    for (SteadyDuration passed{0}; passed < time; passed += seconds(2)) {
      world_.Advance(seconds(2));
      clocks = Look(image, progress);
    }
    return clocks;
  }

  FakeWorld world_;
  MirroredPair pair_{world_};
  PromoteSeries series_{world_};
  const std::shared_ptr<Cluster> cluster_ = pair_.cluster(pair_.b());
  std::unique_ptr<Pool> pool_;
  std::optional<std::string> primary_;
};

TEST_F(PromoteSeriesTest, IsQuietForAsLongAsItWasLookedAt) {
  EXPECT_EQ(Look().quiet_for, seconds(0));
  const SeriesClocks clocks = LookFor(seconds(50));
  EXPECT_EQ(clocks.looked_for, seconds(50));
  EXPECT_EQ(clocks.quiet_for, seconds(50));
}

TEST_F(PromoteSeriesTest, ASeriesEndsWhenNobodyAsksForAMinute) {
  LookFor(seconds(50));
  world_.Advance(seconds(59));
  EXPECT_EQ(Look().looked_for, seconds(109));
  world_.Advance(seconds(61));
  const SeriesClocks clocks = Look();
  EXPECT_EQ(clocks.looked_for, seconds(0));
  EXPECT_EQ(clocks.quiet_for, seconds(0));
}

TEST_F(PromoteSeriesTest, CallsForOtherImagesKeepTheSeries) {
  Look("image 2");
  LookFor(seconds(100), "image 1");
  // Image 2 was not asked for meanwhile, the pool was.
  EXPECT_EQ(Look("image 2").looked_for, seconds(100));
  EXPECT_EQ(Look("image 3").looked_for, seconds(0));
}

// Volumes of a dead site that are failed over one after the other by hand.
TEST_F(PromoteSeriesTest, ThePoolsSilenceIsListenedToOnce) {
  LookFor(seconds(100), "image 1");
  EXPECT_EQ(Look("image 2").quiet_for, seconds(100));
  // Not past the end of the series.
  world_.Advance(seconds(61));
  EXPECT_EQ(Look("image 3").quiet_for, seconds(0));
}

TEST_F(PromoteSeriesTest, HowQuietItWasBeforeAnEvictionIsKnown) {
  LookFor(seconds(100), "image 1");
  EXPECT_FALSE(Look().first_evicted_for.has_value());
  Evict();
  world_.Advance(seconds(7));
  Evict();
  const SeriesClocks clocks = Look("image 2");
  EXPECT_EQ(clocks.evicted_for, seconds(0));
  EXPECT_EQ(clocks.first_evicted_for, seconds(7));
  EXPECT_EQ(clocks.quiet_before_eviction, seconds(100));
  // Of that the next series knows nothing.
  world_.Advance(seconds(61));
  EXPECT_FALSE(Look("image 2").first_evicted_for.has_value());
}

TEST_F(PromoteSeriesTest, BeforeAnEvictionWhatCouldNotArriveWasNotQuiet) {
  LookFor(seconds(100), "image 1");
  Look("image 1", "1", /*receiving=*/false);
  LookFor(seconds(20), "image 1");
  Evict();
  EXPECT_EQ(Look("image 1").quiet_before_eviction, seconds(20));
}

TEST_F(PromoteSeriesTest, WhileNothingCouldArriveThePoolWasNotQuiet) {
  LookFor(seconds(100), "image 1");
  Look("image 1", "1", /*receiving=*/false);
  LookFor(seconds(20), "image 1");
  EXPECT_EQ(Look("image 2").quiet_for, seconds(20));
}

TEST_F(PromoteSeriesTest, WhatArrivesForAnotherImageOfThePoolCounts) {
  LookFor(seconds(30));
  pair_.a().CreateMirrorSnapshot(MirroredPair::ImageOf(kOther));
  // rbd-mirror tells it with its next report.
  EXPECT_LT(LookFor(seconds(40)).quiet_for, seconds(40));
}

TEST_F(PromoteSeriesTest, ReportsThatOnlyAreRewrittenAreNoArrival) {
  EXPECT_EQ(LookFor(minutes(5)).quiet_for, minutes(5));
}

TEST_F(PromoteSeriesTest, AReportWithoutNumbersTakesNothingBack) {
  LookFor(seconds(10));
  const std::string image = MirroredPair::ImageOf(kOther);
  pair_.b().SetMirrorDaemon(DaemonState::kDown);
  std::string description;
  for (const SiteStatus& site : pair_.b().Status(image)) {
    if (site.local()) description = site.description;
  }
  pair_.b().SetStatus(image, "", MirrorStatusState::kStartingReplay,
                      "starting replay");
  LookFor(seconds(10));
  pair_.b().SetStatus(image, "", MirrorStatusState::kReplaying, description);
  EXPECT_EQ(LookFor(seconds(10)).quiet_for, seconds(30));
}

// What was written last before a site died was told with the report before.
TEST_F(PromoteSeriesTest, ASpeedThatFallsToZeroIsNoArrival) {
  pair_.b().SetMirrorDaemon(DaemonState::kDown);
  const auto says = [this](const std::string& speed) {
    pair_.b().SetStatus(MirroredPair::ImageOf(kOther), "",
                        MirrorStatusState::kReplaying,
                        R"(replaying, {"bytes_per_second":)" + speed +
                            R"(,"entries_behind_primary":0,)"
                            R"("non_primary_position":{"entry_tid":3}})");
  };
  says("0.0");
  LookFor(seconds(20));
  says("17.5");
  LookFor(seconds(20));
  says("0.0");
  // It is listed once in a second.
  EXPECT_GE(LookFor(seconds(20)).quiet_for, seconds(38));
}

TEST_F(PromoteSeriesTest, ProgressOfAnyImageCounts) {
  LookFor(seconds(40), "image 1");
  LookFor(seconds(20), "image 2", "0/16");
  LookFor(seconds(2), "image 2", "0/32");
  world_.Advance(seconds(2));
  EXPECT_LE(Look("image 1").quiet_for, seconds(4));
}

TEST_F(PromoteSeriesTest, AnImageThatCannotReceiveIsNotQuiet) {
  LookFor(seconds(100), "image 1");
  LookFor(seconds(50), "image 2");
  Look("image 1", "1", /*receiving=*/false);
  world_.Advance(seconds(10));
  EXPECT_EQ(Look("image 1").quiet_for, seconds(10));
  // It was looked at before image 1 could receive nothing.
  EXPECT_EQ(Look("image 2").quiet_for, seconds(160));
}

TEST_F(PromoteSeriesTest, SilenceOfOurOwnMakingIsToldUntilRbdMirrorIsBack) {
  LookFor(seconds(40));
  EXPECT_FALSE(Look().evicted_for.has_value());
  Evict();
  world_.Advance(seconds(50));
  const SeriesClocks silent = Look("image 1", "1", /*receiving=*/false);
  EXPECT_EQ(silent.evicted_for, seconds(50));
  EXPECT_EQ(silent.quiet_for, seconds(90));
  pair_.b().SetMirrorDaemon(DaemonState::kRunning);
  world_.Advance(seconds(40));
  const SeriesClocks back = Look();
  EXPECT_FALSE(back.evicted_for.has_value());
  EXPECT_EQ(back.quiet_for, seconds(0));
}

TEST_F(PromoteSeriesTest, AnRbdMirrorThatHangsIsToldFromOneThatIsDown) {
  Look();
  const auto deaf = [&] {
    SeriesClocks clocks;
    for (int looks = 0; looks < 60; ++looks) {
      world_.Advance(seconds(2));
      clocks = Look("image 1", "1", /*receiving=*/false);
    }
    return clocks;
  };
  pair_.b().SetMirrorDaemon(DaemonState::kHung);
  EXPECT_TRUE(deaf().hangs);
  EXPECT_FALSE(deaf().cut_off);
  pair_.b().SetMirrorDaemon(DaemonState::kDown);
  EXPECT_FALSE(deaf().hangs);
  pair_.b().SetMirrorDaemon(DaemonState::kHung);
  EXPECT_TRUE(deaf().hangs);
  pair_.b().SetMirrorDaemon(DaemonState::kCutOff);
  EXPECT_FALSE(deaf().hangs);
  pair_.b().SetMirrorDaemon(DaemonState::kRunning);
  world_.Advance(seconds(40));
  EXPECT_FALSE(Look().hangs);
}

TEST_F(PromoteSeriesTest, AnRbdMirrorThatCannotReachThePeerSaysSo) {
  Look();
  pair_.b().SetMirrorDaemon(DaemonState::kCutOff);
  const auto deaf_for = [&](SteadyDuration time) {
    SeriesClocks clocks;
    for (SteadyDuration passed{0}; passed < time; passed += seconds(2)) {
      world_.Advance(seconds(2));
      clocks = Look("image 1", "1", /*receiving=*/false);
    }
    return clocks;
  };
  // Nobody is asked while a report may still come.
  world_.ClearCalls();
  EXPECT_FALSE(deaf_for(seconds(40)).cut_off);
  EXPECT_EQ(world_.CountCalls("b", "rados_mgr_command"), 0);
  // Seen to live between two answers; what it says counts from then on.
  const SeriesClocks seen = deaf_for(seconds(40));
  EXPECT_TRUE(seen.cut_off);
  EXPECT_LT(seen.quiet_for, seconds(30));
  EXPECT_GE(deaf_for(seconds(90)).quiet_for, seconds(90));
  EXPECT_LE(world_.CountCalls("b", "rados_mgr_command"), 14);
  // It dies: its last word does not count for ever.
  pair_.b().SetMirrorDaemon(DaemonState::kDown);
  const SeriesClocks dead = deaf_for(seconds(20));
  EXPECT_FALSE(dead.cut_off);
  EXPECT_EQ(dead.quiet_for, seconds(0));
  // It reaches the peer, and gets its time before its silence says anything.
  pair_.b().SetMirrorDaemon(DaemonState::kCutOff);
  EXPECT_TRUE(deaf_for(seconds(60)).cut_off);
  pair_.b().SetMirrorDaemon(DaemonState::kRunning);
  world_.Advance(seconds(40));
  const SeriesClocks back = Look();
  EXPECT_FALSE(back.cut_off);
  EXPECT_EQ(back.quiet_for, seconds(0));
}

TEST_F(PromoteSeriesTest, AManagerThatDoesNotAnswerProvesNothing) {
  pair_.b().SetMirrorDaemon(DaemonState::kCutOff);
  pair_.b().SetMgrUp(false);
  for (int i = 0; i < 90; ++i) {
    world_.Advance(seconds(2));
    EXPECT_FALSE(Look("image 1", "1", /*receiving=*/false).cut_off);
  }
  pair_.b().SetMgrUp(true);
  for (int i = 0; i < 15; ++i) {
    world_.Advance(seconds(2));
    Look("image 1", "1", /*receiving=*/false);
  }
  EXPECT_TRUE(Look("image 1", "1", /*receiving=*/false).cut_off);
  // What it said before does not count for longer than a minute.
  pair_.b().SetMgrUp(false);
  for (int i = 0; i < 31; ++i) {
    world_.Advance(seconds(2));
    Look("image 1", "1", /*receiving=*/false);
  }
  EXPECT_FALSE(Look("image 1", "1", /*receiving=*/false).cut_off);
}

TEST_F(PromoteSeriesTest, AUserWhoMayNotAskTheManagerLearnsNothing) {
  pair_.b().SetMirrorDaemon(DaemonState::kCutOff);
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_mgr_command" ? EACCES : 0;
  });
  SeriesClocks clocks = Look();
  EXPECT_EQ(clocks.daemons_unread, "") << "nobody was asked yet";
  for (int i = 0; i < 90; ++i) {
    world_.Advance(seconds(2));
    clocks = Look("image 1", "1", /*receiving=*/false);
    EXPECT_FALSE(clocks.cut_off);
  }
  EXPECT_EQ(clocks.quiet_for, seconds(0));
  EXPECT_THAT(clocks.daemons_unread,
              HasSubstr("allow command \"service status\""));
  // Whoever may knows it some time later.
  world_.SetCallHook(nullptr);
  for (int i = 0; i < 15; ++i) {
    world_.Advance(seconds(2));
    clocks = Look("image 1", "1", /*receiving=*/false);
  }
  EXPECT_TRUE(clocks.cut_off);
  EXPECT_EQ(clocks.daemons_unread, "");
}

TEST_F(PromoteSeriesTest, ADaemonThatStartsLaterKnowsOfIt) {
  Look();
  Evict();
  PromoteSeries later(world_);
  const auto look = [&] {
    EXPECT_OK(later.List(*cluster_, *pool_, "pool"));
    return later.Note({"pool", "image 1", "1", /*receiving=*/false, primary_});
  };
  EXPECT_EQ(look().evicted_for, seconds(0)) << "since it has learnt of it";
  for (int i = 0; i < 45; ++i) {
    world_.Advance(seconds(2));
    look();
  }
  EXPECT_EQ(look().evicted_for, seconds(90));
  EXPECT_EQ(look().quiet_for, seconds(90));
  // What was written long ago says nothing of an rbd-mirror that came back.
  pair_.b().SetMirrorDaemon(DaemonState::kRunning);
  world_.Advance(seconds(40));
  EXPECT_FALSE(look().evicted_for.has_value());
  pair_.b().SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(10));
  EXPECT_FALSE(look().evicted_for.has_value());
}

// An rbd-mirror that starts removes the reports of one that is down.
TEST_F(PromoteSeriesTest, ANoteDoesNotExplainThatThereIsNoReport) {
  Look();
  Evict();
  for (const char* const uuid : {kVolume, kOther}) {
    pair_.b().RemoveStatuses(MirroredPair::ImageOf(uuid));
  }
  PromoteSeries later(world_);
  EXPECT_OK(later.List(*cluster_, *pool_, "pool"));
  EXPECT_FALSE(later.Note({"pool", "image 1", "1", false, primary_})
                   .evicted_for.has_value());
  // Nor for whoever has seen one from before the eviction: an rbd-mirror has
  // come back since, and has removed it.
  world_.Advance(seconds(2));
  EXPECT_FALSE(Look("image 1", "1", false).evicted_for.has_value());
}

TEST_F(PromoteSeriesTest, ANoteCountsForAnHour) {
  Evict();
  world_.Advance(minutes(59));
  PromoteSeries later(world_);
  EXPECT_OK(later.List(*cluster_, *pool_, "pool"));
  EXPECT_TRUE(later.Note({"pool", "image 1", "1", false, primary_})
                  .evicted_for.has_value());
  world_.Advance(minutes(2));
  EXPECT_OK(later.List(*cluster_, *pool_, "pool"));
  EXPECT_FALSE(later.Note({"pool", "image 1", "1", false, primary_})
                   .evicted_for.has_value());
  // Another daemon's eviction begins it anew.
  const auto cluster = pair_.cluster(pair_.b());
  const auto pool =
      cluster->OpenPool(pair_.pool_id(pair_.b()), "", Access::kMutate);
  ASSERT_OK(pool.status());
  ASSERT_OK(PromoteSeries(world_).NoteEviction({**pool}, "pool"));
  world_.Advance(minutes(31));
  Evict();
  world_.Advance(minutes(31));
  PromoteSeries last(world_);
  EXPECT_OK(last.List(*cluster_, *pool_, "pool"));
  EXPECT_TRUE(last.Note({"pool", "image 1", "1", false, primary_})
                  .evicted_for.has_value());
}

// What a copy that does not follow says of the peer may be long past.
TEST_F(PromoteSeriesTest, APeerIsPrimaryForAsLongAsACopyFollowsIt) {
  using Copy = PromoteSeries::Copy;
  primary_ = "uuid-a";
  const auto look = [&](Copy copy) {
    EXPECT_OK(series_.List(*cluster_, *pool_, "pool"));
    return series_.Note({"pool", "image 1", "1", true, primary_,
                         pool_->rados_namespace(), copy});
  };
  look(Copy::kFollows);
  world_.Advance(seconds(30));
  EXPECT_EQ(look(Copy::kFollows).image_primary_for, seconds(30));
  // Its rbd-mirror was started anew: nothing is known that speaks against it.
  world_.Advance(seconds(30));
  EXPECT_EQ(look(Copy::kStarts).image_primary_for, seconds(60));
  for (const Copy other : {Copy::kParted, Copy::kFollowed}) {
    world_.Advance(seconds(30));
    EXPECT_EQ(look(other).image_primary_for, seconds(0));
    world_.Advance(seconds(30));
    EXPECT_EQ(look(Copy::kFollows).image_primary_for, seconds(0));
  }
  // Sent away by a forced promotion of ours.
  Evict();
  world_.Advance(seconds(30));
  EXPECT_EQ(look(Copy::kFollowed).image_primary_for, seconds(30));
}

TEST_F(PromoteSeriesTest, AnotherNamespaceOfThePoolKnowsOfIt) {
  const auto whole = OpenPool(Access::kMutate);
  const auto tenant = OpenPool(Access::kMutate, "tenant1");
  const auto other = OpenPool(Access::kRead, "tenant2");
  EXPECT_OK(series_.List(*cluster_, *tenant, "pool"));
  EXPECT_OK(series_.NoteEviction({*tenant, whole.get()}, "pool"));
  PromoteSeries elsewhere(world_);  // of a daemon that has done nothing
  EXPECT_OK(elsewhere.List(*cluster_, *other, "pool"));
  EXPECT_TRUE(
      elsewhere.Note({"pool", "image 3", "1", false, primary_, "tenant2"})
          .evicted_for.has_value());

  // A user that is limited to its namespace.
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_write_op_omap_set2" ? EPERM : 0;
  });
  EXPECT_FALSE(series_.NoteEviction({*tenant, whole.get()}, "tenant1").ok());
  int calls = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rados_write_op_omap_set2" && ++calls > 1 ? EPERM : 0;
  });
  EXPECT_OK(series_.NoteEviction({*tenant, whole.get()}, "tenant1"));
  EXPECT_EQ(calls, 2);
}

TEST_F(PromoteSeriesTest, ANoteThatCannotBeWrittenIsNoSilenceOfOurMaking) {
  Look();
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_write_op_omap_set2" ? ENOSPC : 0;
  });
  const auto pool = OpenPool(Access::kMutate);
  EXPECT_FALSE(series_.NoteEviction({*pool}, "pool").ok());
  world_.SetCallHook(nullptr);
  world_.Advance(seconds(2));
  EXPECT_FALSE(Look().evicted_for.has_value());
}

TEST_F(PromoteSeriesTest, WhatWasNotListedIsNotKnownToBeQuiet) {
  LookFor(seconds(20));
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_mirror_image_global_status_list" ? EIO : 0;
  });
  world_.Advance(seconds(30));
  EXPECT_FALSE(series_.List(*cluster_, *pool_, "pool").ok());
  EXPECT_EQ(series_.Note({"pool", "image 1", "1", true, primary_}).quiet_for,
            seconds(20));
  world_.SetCallHook(nullptr);
  EXPECT_EQ(Look().quiet_for, seconds(50));
}

TEST_F(PromoteSeriesTest, OneListingServesAllCallsOfASecond) {
  world_.ClearCalls();
  for (int i = 0; i < 10; ++i) Look("image " + std::to_string(i));
  // For each of the two namespaces that are mirrored.
  EXPECT_EQ(world_.CountCalls("b", "rbd_mirror_image_global_status_list"), 2);
  world_.Advance(seconds(1));
  for (int i = 0; i < 10; ++i) Look("image " + std::to_string(i));
  EXPECT_EQ(world_.CountCalls("b", "rbd_mirror_image_global_status_list"), 4);
  EXPECT_EQ(world_.CountCalls("b", "rbd_namespace_list"), 1);
}

TEST_F(PromoteSeriesTest, OneListingServesCallsOfAllNamespaces) {
  world_.ClearCalls();
  Look("image 1");
  pool_ = OpenPool(Access::kRead, MirroredPair::kNamespace);
  Look("image 2");
  // What the first call has read a moment ago is not read again, but for the
  // own namespace.
  EXPECT_EQ(world_.CountCalls("b", "rbd_mirror_image_global_status_list"), 3);
}

// rbd-mirror copies five images of a pool at a time, in whatever namespaces
// they are.
TEST_F(PromoteSeriesTest, WhatArrivesInAnotherNamespaceCounts) {
  pair_.AddMirroredVolume(pair_.a(), kThird, uint64_t{4} << 20,
                          MirroredPair::kNamespace);
  world_.Advance(minutes(2));
  LookFor(seconds(30));
  pair_.a().CreateMirrorSnapshot(MirroredPair::ImageOf(kThird));
  EXPECT_LT(LookFor(seconds(40)).quiet_for, seconds(40));
  // And the other way round.
  pool_ = OpenPool(Access::kRead, MirroredPair::kNamespace);
  LookFor(seconds(60));
  pair_.a().CreateMirrorSnapshot(MirroredPair::ImageOf(kOther));
  EXPECT_LT(LookFor(seconds(40)).quiet_for, seconds(40));
}

TEST_F(PromoteSeriesTest, ANamespaceThatMayNotBeReadIsLeftOut) {
  for (const std::string refused :
       {"rbd_namespace_list", "rbd_mirror_mode_get"}) {
    SCOPED_TRACE(refused);
    world_.SetCallHook([refused](absl::string_view, absl::string_view call,
                                 bool) { return call == refused ? EPERM : 0; });
    world_.Advance(minutes(2));
    world_.ClearCalls();
    EXPECT_EQ(LookFor(seconds(50)).quiet_for, seconds(50));
    EXPECT_EQ(world_.CountCalls("b", "rbd_mirror_image_global_status_list"),
              26);
  }
}

TEST_F(PromoteSeriesTest, ANamespaceThatDoesNotAnswerIsNotKnownToBeQuiet) {
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_mirror_mode_get" ? EIO : 0;
  });
  EXPECT_FALSE(series_.List(*cluster_, *pool_, "pool").ok());
  EXPECT_EQ(series_.Note({"pool", "image 1", "1", true, primary_}).quiet_for,
            seconds(0));
}

TEST_F(PromoteSeriesTest, ThePrimaryClockRunsForThePool) {
  primary_ = "uuid-a";
  LookFor(seconds(120), "image 1");
  const SeriesClocks clocks = Look("image 2");
  EXPECT_EQ(clocks.peer_primary_for, seconds(120));
  EXPECT_EQ(clocks.image_primary_for, seconds(0));
}

TEST_F(PromoteSeriesTest, AnotherPrimaryHasAClockOfItsOwn) {
  primary_ = "uuid-a";
  LookFor(seconds(120));
  primary_ = "uuid-c";
  EXPECT_EQ(Look().peer_primary_for, seconds(0));
  EXPECT_EQ(Look().image_primary_for, seconds(0));
}

TEST_F(PromoteSeriesTest, AClaimThatEndedForAMinuteBeginsAnew) {
  primary_ = "uuid-a";
  LookFor(seconds(120));
  primary_.reset();
  LookFor(seconds(62));
  primary_ = "uuid-a";
  EXPECT_EQ(Look().peer_primary_for, seconds(0));
}

TEST_F(PromoteSeriesTest, AnImageThatLooksOtherwiseOnceBeginsAnew) {
  primary_ = "uuid-a";
  LookFor(seconds(120), "image 2");
  LookFor(seconds(20), "image 1");
  primary_.reset();
  Look("image 1");
  primary_ = "uuid-a";
  Look("image 2");
  EXPECT_EQ(Look("image 1").image_primary_for, seconds(0));
  EXPECT_EQ(Look("image 1").peer_primary_for, seconds(140));
}

TEST_F(PromoteSeriesTest, AMutationRestartsTheClockOfItsImageAlone) {
  primary_ = "uuid-a";
  Look("image 2");
  LookFor(seconds(120), "image 1");
  series_.ForgetPrimary("image 1");
  EXPECT_EQ(Look("image 1").image_primary_for, seconds(0));
  EXPECT_EQ(Look("image 2").image_primary_for, seconds(120));
}

TEST_F(PromoteSeriesTest, TheFirstCallIsToldFromLaterOnes) {
  EXPECT_TRUE(series_.IsFirstCall("volume"));
  EXPECT_FALSE(series_.IsFirstCall("volume"));
  EXPECT_TRUE(series_.IsFirstCall("other"));
  world_.Advance(minutes(17));  // an operator that retries ever later
  EXPECT_FALSE(series_.IsFirstCall("volume"));
  series_.EndCalls("volume");
  EXPECT_TRUE(series_.IsFirstCall("volume"));
  world_.Advance(minutes(21));
  EXPECT_TRUE(series_.IsFirstCall("volume"));
}

TEST(MoveMarksTest, ANoteIsReadAsItWasWritten) {
  const RefusedDemotion note = ParseRefusedDemotion(FormatRefusedDemotion(
      {"client.7 at 10.0.0.5:0/1", "2026-11-20T03:00:00Z", 17}));
  EXPECT_EQ(note.workload, "client.7 at 10.0.0.5:0/1");
  EXPECT_EQ(note.since, "2026-11-20T03:00:00Z");
  EXPECT_EQ(note.told, 17);
  EXPECT_FALSE(note.unclear);
}

TEST(MoveMarksTest, ANoteThatCannotBeReadStillIsOne) {
  for (const char* text : {"", "{", "[]", R"({"workload": 7})"}) {
    EXPECT_EQ(ParseRefusedDemotion(text).workload, "an unknown client") << text;
  }
  for (const char* text :
       {"", "[]", R"({"workload": "w", "since": "s"})",
        R"({"workload": "w", "since": "s", "told": "noon"})",
        R"({"workload": "w", "told": 17})", R"({"since": "s", "told": 17})"}) {
    EXPECT_TRUE(ParseRefusedDemotion(text).unclear) << text;
  }
}

}  // namespace
}  // namespace addons::testing
