// In which state a copy is, by what was seen of it.

#include "watch/copy_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace addons {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::ElementsAre;

constexpr char kIdle[] =
    R"(replaying, {"local_snapshot_timestamp":100,)"
    R"("remote_snapshot_timestamp":100,"replay_state":"idle"})";

/// A primary whose one peer follows, with a copy of a minute ago of a schedule
/// of five.
class CopyStateTest : public ::testing::Test {
 protected:
  CopyStateTest() {
    peers_ = {{"p", "site-b", "mirror-b", true}};
    seen_.role = WatchedRole::kPrimary;
    seen_.last_sync = 100;
    seen_.lag_seconds = 60;
    seen_.interval_seconds = 300;
    view_.info.state = MirrorImageState::kEnabled;
    view_.info.primary = true;
    view_.peers = {Site(Says::kSecondary, kIdle)};
  }
  static SiteView Site(Says says, const std::string& description) {
    SiteView site;
    site.says = says;
    site.status.up = true;
    site.status.state = MirrorStatusState::kReplaying;
    site.status.description = description;
    return site;
  }
  void BeSecondary() {
    seen_.role = WatchedRole::kSecondary;
    view_.info.primary = false;
    seen_.interval_seconds.reset();
    view_.local = Site(Says::kSecondary, kIdle);
    view_.peers = {Site(Says::kPrimary, "local image is primary")};
  }
  CopyState Judge() const {
    return JudgeCopy(view_, peers_, schedule_known_, seconds(90), seen_);
  }

  MirrorView view_;
  std::vector<MirrorPeer> peers_;
  WatchedImage seen_;
  bool schedule_known_ = true;
};

TEST_F(CopyStateTest, ACopyThatFollowsItsScheduleIsInStep) {
  EXPECT_EQ(Judge(), CopyState::kInStep);
  seen_.lag_seconds = 600;
  EXPECT_EQ(Judge(), CopyState::kInStep);
}

TEST_F(CopyStateTest, OneThatIsOlderThanTwoIntervalsIsLate) {
  seen_.lag_seconds = 601;
  EXPECT_EQ(Judge(), CopyState::kLate);
  // Also where nobody says that it goes on.
  view_.peers[0].age = hours(1);
  EXPECT_EQ(Judge(), CopyState::kLate);
}

TEST_F(CopyStateTest, OneThatNothingRenewsIsLate) {
  seen_.interval_seconds.reset();
  EXPECT_EQ(Judge(), CopyState::kLate) << "no schedule";
  seen_.interval_seconds = 300;
  view_.peers.clear();
  EXPECT_EQ(Judge(), CopyState::kUnknown) << "a peer that has not reported";
  peers_.clear();
  EXPECT_EQ(Judge(), CopyState::kLate) << "no peer";
}

TEST_F(CopyStateTest, WhatIsNotSeenIsNotInStep) {
  schedule_known_ = false;
  seen_.interval_seconds.reset();
  EXPECT_EQ(Judge(), CopyState::kUnknown) << "the manager is silent";
  schedule_known_ = true;
  seen_.interval_seconds = 300;
  view_.peers[0].age = seconds(90);
  EXPECT_EQ(Judge(), CopyState::kUnknown) << "the peer is silent";
  view_.peers[0].age = seconds(0);
  view_.peers[0].status.up = false;
  EXPECT_EQ(Judge(), CopyState::kUnknown) << "its daemon is down";
  view_.peers[0].status.up = true;
  view_.primary_for = seconds(5);
  EXPECT_EQ(Judge(), CopyState::kUnknown) << "a report from before";
  view_.peers[0].rewrites = 1;
  EXPECT_EQ(Judge(), CopyState::kInStep);
  for (const Says says : {Says::kPrimary, Says::kNotPrimary, Says::kUnclear}) {
    view_.peers[0].says = says;
    EXPECT_EQ(Judge(), CopyState::kUnknown) << static_cast<int>(says);
  }
  view_.peers = {Site(Says::kSecondary, "replaying, {not JSON")};
  EXPECT_EQ(Judge(), CopyState::kUnknown) << "a report in another form";
  view_.peers = {Site(Says::kSecondary, kIdle)};
  view_.info.state = MirrorImageState::kDisabling;
  EXPECT_EQ(Judge(), CopyState::kUnknown) << "it is being disabled";
  view_.info.state = MirrorImageState::kEnabled;
  seen_.role = WatchedRole::kUnclear;
  EXPECT_EQ(Judge(), CopyState::kUnknown) << "no role";
}

TEST_F(CopyStateTest, TheFirstCopyIsCopying) {
  seen_.last_sync.reset();
  seen_.lag_seconds.reset();
  view_.peers = {Site(Says::kSecondary,
                      R"(replaying, {"replay_state":"syncing",)"
                      R"("syncing_percent":3})")};
  EXPECT_EQ(Judge(), CopyState::kCopying);
  view_.peers = {Site(Says::kSecondary, "replaying")};
  EXPECT_EQ(Judge(), CopyState::kUnknown) << "no copy is known to be whole";
}

TEST_F(CopyStateTest, JournalModeHasNoAge) {
  seen_.last_sync.reset();
  seen_.lag_seconds.reset();
  seen_.interval_seconds.reset();
  view_.peers = {Site(
      Says::kSecondary,
      R"(replaying, {"bytes_per_second":0.0,"entries_behind_primary":0,)"
      R"("entries_per_second":0.0,"non_primary_position":{"entry_tid":3,)"
      R"("object_number":3,"tag_tid":2},"primary_position":{"entry_tid":3,)"
      R"("object_number":3,"tag_tid":2}})")};
  EXPECT_EQ(Judge(), CopyState::kInStep);
}

TEST_F(CopyStateTest, DamageIsBrokenWhateverTheReportsSay) {
  seen_.split_brain = true;
  EXPECT_EQ(Judge(), CopyState::kBroken);
  seen_.split_brain = false;
  seen_.health = ReplicationHealth::kError;
  EXPECT_EQ(Judge(), CopyState::kBroken);
  seen_.health = ReplicationHealth::kDegraded;
  view_.peers[0].says = Says::kError;
  EXPECT_EQ(Judge(), CopyState::kBroken);
}

TEST_F(CopyStateTest, TheWorstOfSeveralPeersCounts) {
  view_.peers.push_back(Site(Says::kSplitBrain, "split-brain"));
  view_.peers.push_back(Site(Says::kSecondary, kIdle));
  EXPECT_EQ(Judge(), CopyState::kBroken);
}

TEST_F(CopyStateTest, ASecondaryGoesByThisSiteAndByAWordOfThePrimarys) {
  BeSecondary();
  EXPECT_EQ(Judge(), CopyState::kInStep);
  view_.peers.clear();  // one-way mirroring
  EXPECT_EQ(Judge(), CopyState::kInStep);
  BeSecondary();
  view_.peers[0].age = hours(1);
  EXPECT_EQ(Judge(), CopyState::kUnknown) << "the primary's site is silent";
  BeSecondary();
  view_.local.reset();
  EXPECT_EQ(Judge(), CopyState::kUnknown) << "no rbd-mirror here";
  BeSecondary();
  seen_.interval_seconds = 10;
  EXPECT_EQ(Judge(), CopyState::kLate) << "where an interval is known";
}

class CopyStateLaterTest : public ::testing::Test {
 protected:
  CopyStateLaterTest() {
    pool_.seen_at = seen_at_;
    for (const CopyState state :
         {CopyState::kInStep, CopyState::kCopying, CopyState::kLate,
          CopyState::kBroken, CopyState::kUnknown}) {
      WatchedImage image;
      image.copy = state;
      image.lag_seconds = 100;
      image.interval_seconds = 300;
      pool_.images.push_back(image);
    }
    pool_.total = 7;
    pool_.by_copy = {3, 1, 1, 1, 1};
  }

  const SteadyTime seen_at_{hours(10)};
  WatchedPool pool_;
};

TEST_F(CopyStateLaterTest, ThePoolThatIsSeenCountsAllOfIt) {
  EXPECT_THAT(CountStatesAt(pool_, seen_at_ + hours(1)),
              ElementsAre(3, 1, 1, 1, 1));
}

TEST_F(CopyStateLaterTest, APoolThatIsNotSeenHasNothingInStep) {
  pool_.unseen = "no monitor answers";
  // The two that are not kept are unknown, too.
  EXPECT_THAT(CountStatesAt(pool_, seen_at_ + seconds(30)),
              ElementsAre(0, 0, 5, 1, 1));
  // What cannot be seen turns late by the clock.
  EXPECT_THAT(CountStatesAt(pool_, seen_at_ + seconds(501)),
              ElementsAre(0, 0, 2, 4, 1));
}

TEST_F(CopyStateLaterTest, AgesRun) {
  EXPECT_EQ(CopyAgeAt(pool_, pool_.images[0], seen_at_ + seconds(30)), 130);
  pool_.images[0].lag_seconds = -5;
  EXPECT_EQ(CopyAgeAt(pool_, pool_.images[0], seen_at_), 0);
  pool_.images[0].lag_seconds.reset();
  EXPECT_EQ(CopyAgeAt(pool_, pool_.images[0], seen_at_), std::nullopt);
}

}  // namespace
}  // namespace addons
