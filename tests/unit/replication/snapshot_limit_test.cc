// Images that may have so many snapshots and no more, where a mirror snapshot
// is one: librbd answers 0 there to what has left an image in no role.

#include <chrono>
#include <string>

#include "inspection/explain.h"
#include "replication/look/move_marks.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

constexpr char kSetLimit[] = "rbd snap limit set --limit ";
constexpr char kWorkload[] = "10.0.0.7:0/77";

class SnapshotLimitTest : public VerbsTest {
 protected:
  SnapshotLimitTest() { AddMirrored(); }

  /// It has as many as it may, and none of them can go.
  void Fill(FakeSite& site) {
    site.AddSnapshot(image_, "restore-point", SnapshotKind::kUser);
    site.SetSnapshotLimit(image_, site.Snapshots(image_).size() + 1);
  }
  /// As many as it may, one of which every peer has copied past.
  void FillWithASpareOne() {
    a_.CreateMirrorSnapshot(image_);
    world_.Advance(minutes(1));
    a_.CreateMirrorSnapshot(image_);
    world_.Advance(minutes(1));
    ASSERT_EQ(a_.Snapshots(image_).size(), 2);
    ASSERT_TRUE(a_.Snapshots(image_).front().unsynced_peer_uuids.empty());
    a_.SetSnapshotLimit(image_, 2);
  }
  int Calls(const std::string& site, const std::string& call) {
    return world_.CountCalls(site, call);
  }
  Forecast Explained(Daemon& daemon, const std::string& verb, Force force) {
    Forecast found;
    EXPECT_OK(Run([&](OperationContext& context) -> absl::Status {
      const auto explained = ExplainVolume(context, daemon.environment(),
                                           daemon.Target(id_), std::nullopt);
      if (!explained.ok()) return explained.status();
      for (const VerbForecast& one : explained->forecasts) {
        if (one.verb == verb && one.force == force) found = one.forecast;
      }
      return absl::OkStatus();
    }));
    return found;
  }
};

TEST_F(VerbsTest, AnImageWithoutRoomForMirrorSnapshotsIsNotEnabled) {
  AddPlain();
  a_.AddSnapshot(image_, "restore-point", SnapshotKind::kUser);
  a_.SetSnapshotLimit(image_, 2);
  world_.ClearCalls();
  EXPECT_THAT(Enable(on_a_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("1 of the 2 snapshots"),
                             HasSubstr(kSetLimit), HasSubstr(image_))));
  EXPECT_EQ(world_.CountCalls("a", "rbd_open"), 0);
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kDisabled);
  a_.SetSnapshotLimit(image_, 3);
  EXPECT_OK(Enable(on_a_));
}

TEST_F(SnapshotLimitTest, APrimaryWithoutRoomIsNotDemoted) {
  Fill(a_);
  world_.ClearCalls();
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("2 of the 2 snapshots"),
                             HasSubstr(kSetLimit), HasSubstr(image_))));
  EXPECT_EQ(Calls("a", "rbd_mirror_image_demote"), 0);
  EXPECT_EQ(Calls("a", "rbd.metadata_set"), 0);
  EXPECT_TRUE(a_.Info(image_).primary);
  EXPECT_OK(a_.Write(image_, 7));
  a_.SetSnapshotLimit(image_, std::nullopt);
  EXPECT_OK(Demote(on_a_));
}

TEST_F(SnapshotLimitTest, ASpareMirrorSnapshotGivesWayToADemotion) {
  FillWithASpareOne();
  world_.ClearCalls();
  EXPECT_OK(Demote(on_a_));
  EXPECT_EQ(Calls("a", "rbd_mirror_image_demote"), 1);
  EXPECT_EQ(Calls("a", "rbd_snap_remove_by_id"), 1);
  EXPECT_FALSE(a_.Info(image_).primary);
  EXPECT_EQ(Newest(a_).kind, MirrorSnapshotKind::kPrimaryDemoted);
}

// `rbd mirror image demote` at the limit leaves one.
TEST_F(SnapshotLimitTest, APrimaryThatRefusesWritesAndHasNoRoomTakesThemAgain) {
  Fill(a_);
  a_.RefuseWrites(image_);
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr(kSetLimit)));
  EXPECT_TRUE(a_.Info(image_).primary);
  EXPECT_OK(a_.Write(image_, 7));
}

TEST_F(SnapshotLimitTest, WhatIsDisabledTakesWritesAgain) {
  a_.RefuseWrites(image_);
  EXPECT_OK(Disable(on_a_));
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kDisabled);
  EXPECT_OK(a_.Write(image_, 7));
}

TEST_F(SnapshotLimitTest, TheNoteOfARefusalTravelsInPlaceOfASpareSnapshot) {
  FillWithASpareOne();
  a_.AddWatcher(image_, kWorkload, 4711);
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr(kWorkload)));
  world_.Advance(minutes(1));
  EXPECT_THAT(b_.ImageMetadata(image_), Contains(Key(kRefusedDemotionKey)));
}

TEST_F(SnapshotLimitTest, ACopyWithoutRoomIsNotPromoted) {
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  Fill(b_);
  world_.ClearCalls();
  for (const Force force : {Force::kNo, Force::kYes}) {
    EXPECT_THAT(
        Promote(on_b_, force),
        StatusIs(kUnavailable, AllOf(HasSubstr("2 of the 2 snapshots"),
                                     HasSubstr(" rmomapkey rbd_header."),
                                     HasSubstr(" snap_limit`"))));
  }
  EXPECT_EQ(Calls("b", "rbd_mirror_image_promote"), 0);
  EXPECT_EQ(Calls("b", "rbd_open"), 0);
  EXPECT_EQ(Explained(on_b_, "promote", Force::kNo).verdict, Verdict::kRefuses);
  b_.SetSnapshotLimit(image_, std::nullopt);
  EXPECT_EQ(Explained(on_b_, "promote", Force::kNo).verdict, Verdict::kWorks);
  EXPECT_OK(Promote(on_b_));
}

TEST_F(SnapshotLimitTest, ACopyOfADeadSiteWithoutRoomIsNotPromotedByForce) {
  Fill(b_);
  LoseA();
  world_.ClearCalls();
  EXPECT_THAT(Promote(on_b_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("2 of the 2 snapshots")));
  EXPECT_EQ(Calls("b", "rbd_mirror_image_promote"), 0);
  EXPECT_EQ(Calls("b", "rados_mon_command"), 0) << "rbd-mirror was evicted";
  b_.SetSnapshotLimit(image_, 3);
  EXPECT_OK(Promote(on_b_, Force::kYes));
}

TEST_F(SnapshotLimitTest, InfoAndExplainNameIt) {
  ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "1h"}}));
  world_.Advance(minutes(1));
  auto info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_THAT(info->message, Not(HasSubstr(kSetLimit)));
  EXPECT_EQ(Explained(on_a_, "demote", Force::kNo).verdict, Verdict::kWorks);
  Fill(a_);
  info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_EQ(info->health, ReplicationHealth::kDegraded);
  EXPECT_THAT(info->message, HasSubstr(kSetLimit));
  const Forecast demote = Explained(on_a_, "demote", Force::kNo);
  EXPECT_EQ(demote.verdict, Verdict::kRefuses);
  EXPECT_THAT(demote.reason, HasSubstr(kSetLimit));
}

}  // namespace
}  // namespace addons::testing
