#include "replication/promote_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace addons {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using Kind = MirrorSnapshotKind;
using State = MirrorStatusState;

class SteppedClock final : public Clock {
 public:
  SteadyTime Now() const override { return now_; }
  WallTime WallNow() const override { return {}; }
  bool SleepFor(SteadyDuration duration, std::stop_token) override {
    now_ += duration;
    return true;
  }

 private:
  SteadyTime now_{std::chrono::hours(1000)};
};

constexpr int64_t kArrived = 5000;  // when the newest snapshot's copy began

/// Builds views row by row. The default is a healthy secondary: newest snapshot
/// whole, local rbd-mirror replaying, the peer primary and fresh.
class PromoteDecisionTest : public ::testing::Test {
 protected:
  PromoteDecisionTest() {
    view_.info.state = MirrorImageState::kEnabled;
    view_.info.mode = MirrorMode::kSnapshot;
    view_.size.objects = 64;
    view_.tracker_key = "key";
    SetNewest(Kind::kNonPrimary, true);
    SetLocal(State::kReplaying, R"(replaying, {"replay_state":"idle"})");
    SetPeer(State::kStopped, "local image is primary");
    view_.quiet_for = seconds(10);
  }

  void SetNewest(Kind kind, bool complete, uint64_t copied = 0) {
    MirrorSnapshot snapshot;
    snapshot.id = view_.snapshots.size() + 1;
    snapshot.kind = kind;
    snapshot.complete = complete;
    snapshot.last_copied_object = copied;
    snapshot.primary_mirror_uuid = "uuid-a";
    snapshot.created = std::chrono::system_clock::from_time_t(kArrived);
    view_.snapshots.push_back(snapshot);
  }
  void SetLocal(State state, const char* description,
                int64_t last_update = kArrived + 5) {
    SiteView site;
    site.status = {"", true, state, description, last_update};
    site.role = RoleOf(site.status);
    view_.local = site;
  }
  void SetPeer(State state, const char* description,
               SteadyDuration age = seconds(5),
               int64_t last_update = kArrived - 5) {
    SiteView site;
    site.status = {"uuid-a", true, state, description, last_update};
    site.role = RoleOf(site.status);
    site.age = age;
    view_.peers = {site};
  }
  PromoteDecision Decide(Force force = Force::kNo, bool disturbed = false) {
    return DecidePromote(view_, first_look_, rescue_, force, disturbed,
                         tracker_, options_,
                         [](const std::string& uuid) { return uuid; });
  }

  SteppedClock clock_;
  PeerTracker tracker_{clock_};
  ReplicationOptions options_;
  MirrorView view_;
  const MirrorView* first_look_ = nullptr;
  std::optional<RescueRecord> rescue_;
};

TEST_F(PromoteDecisionTest, OffIsRefusedWithAndWithoutForce) {
  view_.info.state = MirrorImageState::kDisabled;
  EXPECT_EQ(Decide().action, PromoteAction::kRefuseOff);
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kRefuseOff);
}

TEST_F(PromoteDecisionTest, PrimaryIsDoneWithAndWithoutForce) {
  view_.info.primary = true;
  EXPECT_EQ(Decide().action, PromoteAction::kAlreadyPrimary);
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kAlreadyPrimary);
}

TEST_F(PromoteDecisionTest, WholeDemotionIsPromotedWhenThePeerSaysDemoted) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  SetPeer(State::kUnknown, "remote image is not primary");
  EXPECT_EQ(Decide().action, PromoteAction::kPlain);
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kPlain);
}

TEST_F(PromoteDecisionTest, OutdatedClaimOfThePeerDoesNotHoldAMoveUp) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  SetLocal(State::kUnknown, "remote image demoted");
  EXPECT_EQ(Decide().action, PromoteAction::kPlain);
}

TEST_F(PromoteDecisionTest, WaitsWhileOnlyThePeersOldReportIsThere) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  // The local rbd-mirror has not looked at the peer since: nothing outdates it.
  EXPECT_EQ(Decide().action, PromoteAction::kWait);
}

TEST_F(PromoteDecisionTest, NeverPromotesWhenThePeerBecamePrimaryAgain) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  SetLocal(State::kUnknown, "remote image demoted");
  SetPeer(State::kStopped, "local image is primary", seconds(1), kArrived + 3);
  EXPECT_EQ(Decide().action, PromoteAction::kWait);
}

TEST_F(PromoteDecisionTest, WholeDemotionIsPromotedWhenThePeerDiedSince) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  SetPeer(State::kStopped, "local image is primary", seconds(91));
  EXPECT_EQ(Decide().action, PromoteAction::kPlain);
}

TEST_F(PromoteDecisionTest, HalfCopiedDemotionIsNeverPromotedPlainly) {
  SetNewest(Kind::kNonPrimaryDemoted, false, 16);
  SetLocal(State::kUnknown, "remote image demoted");
  const PromoteDecision decision = Decide();
  EXPECT_EQ(decision.action, PromoteAction::kWait);
  EXPECT_THAT(decision.reason, HasSubstr("16 of 64 objects"));
}

TEST_F(PromoteDecisionTest, ForceWaitsForACopyInTheMiddle) {
  SetNewest(Kind::kNonPrimary, false, 16);
  const PromoteDecision decision = Decide(Force::kYes);
  EXPECT_EQ(decision.action, PromoteAction::kWait);
  EXPECT_THAT(decision.reason, HasSubstr("16 of 64 objects"));
  SetNewest(Kind::kNonPrimary, true);
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kForced);
}

TEST_F(PromoteDecisionTest, ForceRescuesWhenTheSourceOfTheCopyIsDead) {
  SetNewest(Kind::kNonPrimary, false, 16);
  SetPeer(State::kStopped, "local image is primary", seconds(200));
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kRescue);
  EXPECT_EQ(Decide(Force::kYes, /*disturbed=*/true).action,
            PromoteAction::kWait);
  view_.quiet_for = seconds(1);  // it arrived just now
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kWait);
}

TEST_F(PromoteDecisionTest,
       ForceRescuesWhenTheCopyStandsStillForTheSettleTime) {
  SetNewest(Kind::kNonPrimary, false, 16);
  view_.quiet_for = options_.settle_time - seconds(1);
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kWait);
  view_.quiet_for = options_.settle_time;
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kRescue);
  EXPECT_NE(Decide().action, PromoteAction::kRescue);
}

TEST_F(PromoteDecisionTest, ForceRescuesHalfADemotion) {
  SetNewest(Kind::kNonPrimaryDemoted, false, 16);
  SetPeer(State::kUnknown, "", seconds(200));
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kRescue);
}

TEST_F(PromoteDecisionTest, AnOrphanIsNoWholeStateToGoBackTo) {
  view_.snapshots.clear();
  SetNewest(Kind::kNonPrimary, false, 16);
  SetNewest(Kind::kNonPrimary, true);
  view_.snapshots.back().primary_mirror_uuid.clear();
  SetPeer(State::kUnknown, "", seconds(200));
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kNothingToForce);
}

TEST_F(PromoteDecisionTest, ARescueThatBeganToPromoteGoesOn) {
  // librbd has removed the incomplete snapshot and died.
  view_.image_id = "10a1";
  SetNewest(Kind::kNonPrimary, true);
  view_.snapshots.back().primary_mirror_uuid.clear();
  rescue_ = RescueRecord{RescueStep::kPromoting, "10a1", 2};
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kRescue);
  EXPECT_NE(Decide().action, PromoteAction::kRescue);
  rescue_->step = RescueStep::kSaved;
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kForced);
}

TEST_F(PromoteDecisionTest, ARescueIsOverWhenSomethingWholeHasArrivedSince) {
  view_.image_id = "10a1";
  rescue_ = RescueRecord{RescueStep::kPromoting, "10a1", 2};
  SetNewest(Kind::kNonPrimary, true);
  ASSERT_EQ(view_.snapshots.back().id, 2U);
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kForced);
  EXPECT_FALSE(RescueIsLive(*rescue_, view_));
  rescue_->snapshot_id = 3;
  EXPECT_TRUE(AwaitsRestore(*rescue_, view_));
  rescue_->image_id = "10a2";  // resynced since
  EXPECT_FALSE(RescueIsLive(*rescue_, view_));
}

TEST_F(PromoteDecisionTest, AnOrphanDoesNotHideAHalfCopy) {
  SetNewest(Kind::kNonPrimary, false, 16);
  SetNewest(Kind::kNonPrimary, true);
  view_.snapshots.back().primary_mirror_uuid.clear();
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kWait);
}

TEST_F(PromoteDecisionTest, PeerPrimaryIsRefusedOnlyAfterTheSettleTime) {
  EXPECT_EQ(Decide().action, PromoteAction::kWait);
  clock_.SleepFor(seconds(50), {});
  EXPECT_EQ(Decide().action, PromoteAction::kWait);
  clock_.SleepFor(seconds(40), {});
  const PromoteDecision decision = Decide();
  EXPECT_EQ(decision.action, PromoteAction::kRefusePeerPrimary);
  EXPECT_THAT(decision.reason, HasSubstr("uuid-a"));
}

TEST_F(PromoteDecisionTest, OrdinarySnapshotsDoNotRestartThePrimaryClock) {
  Decide();
  clock_.SleepFor(seconds(50), {});
  SetNewest(Kind::kNonPrimary, false, 1);
  EXPECT_EQ(Decide().action, PromoteAction::kWait);
  clock_.SleepFor(seconds(41), {});
  SetNewest(Kind::kNonPrimary, true);
  EXPECT_EQ(Decide().action, PromoteAction::kRefusePeerPrimary);
}

TEST_F(PromoteDecisionTest, AnArrivingDemotionRestartsThePrimaryClock) {
  Decide();
  clock_.SleepFor(seconds(50), {});
  SetNewest(Kind::kNonPrimaryDemoted, false, 1);
  Decide();
  clock_.SleepFor(seconds(50), {});
  SetNewest(Kind::kNonPrimary, true);
  EXPECT_EQ(Decide().action, PromoteAction::kWait);
}

TEST_F(PromoteDecisionTest, DeadPeerIsRefusedWithWhatForcingReturnsTo) {
  SetLocal(State::kReplaying,
           R"(replaying, {"local_snapshot_timestamp":1684675261})");
  SetPeer(State::kStopped, "local image is primary", seconds(90));
  const PromoteDecision decision = Decide();
  EXPECT_EQ(decision.action, PromoteAction::kRefuseNoLife);
  EXPECT_THAT(decision.reason, HasSubstr("2023-05-21T13:21:01Z"));
  EXPECT_THAT(decision.reason, HasSubstr("uuid-a"));
}

TEST_F(PromoteDecisionTest, DeadPeerWithAHalfArrivedDemotionCanBeForced) {
  SetNewest(Kind::kNonPrimaryDemoted, false, 16);
  SetPeer(State::kUnknown, "", seconds(200));
  EXPECT_EQ(Decide().action, PromoteAction::kRefuseNoLife);
}

TEST_F(PromoteDecisionTest, DeadPeerIsNotDeadWhileSomethingIsCopied) {
  SetPeer(State::kStopped, "local image is primary", seconds(200));
  view_.quiet_for = seconds(1);
  EXPECT_EQ(Decide().action, PromoteAction::kWait);
}

TEST_F(PromoteDecisionTest, StuckSyncingCountsAsLifeOnlyForTheSettleTime) {
  SetLocal(State::kReplaying, R"(replaying, {"replay_state":"syncing"})");
  SetPeer(State::kStopped, "local image is primary", seconds(200));
  view_.quiet_for = seconds(60);
  EXPECT_EQ(Decide().action, PromoteAction::kWait);
  view_.quiet_for = seconds(90);
  EXPECT_EQ(Decide().action, PromoteAction::kRefuseNoLife);
}

TEST_F(PromoteDecisionTest, NamesTheLocalDaemonWhenItIsDownToo) {
  SetPeer(State::kStopped, "local image is primary", seconds(200));
  view_.local->status.up = false;
  const PromoteDecision decision = Decide();
  EXPECT_EQ(decision.action, PromoteAction::kRefuseNoLife);
  EXPECT_THAT(decision.reason, HasSubstr("rbd-mirror of this site is down"));
}

TEST_F(PromoteDecisionTest, LivingPeerKeepsADeadLocalDaemonFromBeingForced) {
  view_.local->status.up = false;
  SetPeer(State::kUnknown, "remote image is not primary");
  const PromoteDecision decision = Decide();
  EXPECT_EQ(decision.action, PromoteAction::kWait);
  EXPECT_THAT(decision.reason, HasSubstr("rbd-mirror of this site is down"));
}

TEST_F(PromoteDecisionTest, OurOwnDisturbanceIsNoSignOfADeadPeer) {
  SetPeer(State::kStopped, "local image is primary", seconds(200));
  EXPECT_EQ(Decide(Force::kNo, true).action, PromoteAction::kWait);
}

TEST_F(PromoteDecisionTest, OneWayMirroringLivesByTheLocalReport) {
  view_.peers.clear();
  EXPECT_EQ(Decide().action, PromoteAction::kWait);
  view_.local->age = seconds(90);
  EXPECT_EQ(Decide().action, PromoteAction::kRefuseNoLife);
}

TEST_F(PromoteDecisionTest, NoReportAtAllIsBelievedAfterTheSettleTime) {
  view_.peers.clear();
  view_.local.reset();
  EXPECT_EQ(Decide().action, PromoteAction::kWait);
  view_.quiet_for = seconds(90);
  EXPECT_EQ(Decide().action, PromoteAction::kRefuseNoLife);
}

TEST_F(PromoteDecisionTest, ForceNeedsOneWholeSnapshot) {
  view_.snapshots.clear();
  SetNewest(Kind::kNonPrimary, false, 3);
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kNothingToForce);
  view_.snapshots.clear();
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kNothingToForce);
}

TEST_F(PromoteDecisionTest, ForceTakesOverFromALivingPrimary) {
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kForced);
}

TEST_F(PromoteDecisionTest, OwnHalfDoneDemotionIsTakenBack) {
  SetNewest(Kind::kPrimaryDemoted, false);
  SetPeer(State::kReplaying, "replaying");
  const MirrorView first = view_;
  first_look_ = &first;
  SetPeer(State::kReplaying, "replaying", seconds(1), kArrived + 10);
  EXPECT_EQ(Decide().action, PromoteAction::kPlain);
}

TEST_F(PromoteDecisionTest, OwnDemotionIsTakenBackAfterANewReportOfThePeer) {
  SetNewest(Kind::kPrimaryDemoted, true);
  SetPeer(State::kUnknown, "remote image is not primary");
  EXPECT_EQ(Decide().action, PromoteAction::kWait);
  const MirrorView first = view_;
  first_look_ = &first;
  EXPECT_EQ(Decide().action, PromoteAction::kWait);
  SetPeer(State::kUnknown, "remote image is not primary", seconds(1),
          kArrived + 30);
  EXPECT_EQ(Decide().action, PromoteAction::kPlain);
}

TEST_F(PromoteDecisionTest, OwnDemotionStaysWhenThePeerHasTakenOver) {
  SetNewest(Kind::kPrimaryDemoted, true);
  SetPeer(State::kUnknown, "remote image is not primary");
  const MirrorView first = view_;
  first_look_ = &first;
  SetPeer(State::kStopped, "local image is primary", seconds(1), kArrived + 30);
  EXPECT_EQ(Decide().action, PromoteAction::kWait);
}

TEST_F(PromoteDecisionTest, OwnDemotionIsTakenBackWhenThePeerIsSilent) {
  SetNewest(Kind::kPrimaryDemoted, true);
  SetPeer(State::kUnknown, "remote image is not primary", seconds(100));
  EXPECT_EQ(Decide().action, PromoteAction::kPlain);
}

TEST_F(PromoteDecisionTest, OwnHalfDoneDemotionStaysWhenThePeerTookOver) {
  SetNewest(Kind::kPrimaryDemoted, false);
  EXPECT_EQ(Decide().action, PromoteAction::kWait);
}

TEST_F(PromoteDecisionTest, JournalModeWaitsForSomebodyToSayNotPrimary) {
  view_.info.mode = MirrorMode::kJournal;
  view_.snapshots.clear();
  EXPECT_EQ(Decide().action, PromoteAction::kWait);
  SetPeer(State::kUnknown, "remote image is not primary");
  EXPECT_EQ(Decide().action, PromoteAction::kPlain);
}

TEST_F(PromoteDecisionTest, JournalModeCanBeForcedWithoutSnapshots) {
  view_.info.mode = MirrorMode::kJournal;
  view_.snapshots.clear();
  EXPECT_EQ(Decide(Force::kYes).action, PromoteAction::kForced);
}

TEST_F(PromoteDecisionTest, AnImageBeingDisabledIsWaitedFor) {
  view_.info.state = MirrorImageState::kDisabling;
  EXPECT_EQ(Decide().action, PromoteAction::kWait);
}

}  // namespace
}  // namespace addons
