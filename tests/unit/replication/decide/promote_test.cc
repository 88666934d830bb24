#include "replication/decide/promote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "replication/decide/wait_clock.h"
#include "replication/look/peers.h"
#include "replication/look/report_watch.h"
#include "replication/look/signs_of_life.h"

namespace addons {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Kind = MirrorSnapshotKind;
using State = MirrorStatusState;

/// FAILED_PRECONDITION because nobody on the other side shows a sign of life.
MATCHER(RefusesForDeath, "") {
  return arg.row == "no-sign-of-life" || arg.row == "out-of-step-dead";
}
/// By force: nothing has arrived completely, or not safely.
MATCHER(HasNothingToForce, "") {
  return arg.row == "first-copy" || arg.row == "nothing-complete" ||
         arg.row == "user-snapshot-in-mid-copy";
}

constexpr int64_t kArrived = 5000;  // when the newest snapshot's copy began

/// Builds views row by row. The default is a healthy secondary: newest snapshot
/// whole, local rbd-mirror replaying, the peer primary and fresh.
class PromoteDecisionTest : public ::testing::Test {
 protected:
  PromoteDecisionTest() {
    view_.info.state = MirrorImageState::kEnabled;
    view_.info.mode = MirrorMode::kSnapshot;
    view_.size.objects = 64;
    view_.timeline_key = "key";
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
    site.says = SaysOf(site.status);
    site.rewritten = true;
    view_.local = site;
  }
  void SetPeer(State state, const char* description,
               SteadyDuration age = seconds(5),
               int64_t last_update = kArrived - 5) {
    SiteView site;
    site.status = {"uuid-a", true, state, description, last_update};
    site.says = SaysOf(site.status);
    site.age = age;
    view_.peers = {site};
  }
  /// An entry of this process's own making: it is `age` old.
  void AgeLocal(SteadyDuration age) {
    view_.local->age = age;
    view_.local->rewritten = age < kJustReported;
  }
  /// Calls have been waiting for so long, and nothing has arrived meanwhile.
  void WaitedFor(SteadyDuration time) {
    clocks_.looked_for = time;
    clocks_.quiet_for = time;
    if (PrimaryPeer(view_, options_.settle_time).has_value()) {
      clocks_.peer_primary_for = time;
      clocks_.image_primary_for = time;
    }
  }
  void SetJournalMode() {
    view_.info.mode = MirrorMode::kJournal;
    view_.snapshots.clear();
  }
  /// The call looks first, at the present view.
  void KeepFirstLook() {
    reports_ = ReportWatch();
    reports_.Note(&view_);
    looked_ = true;
  }
  Next Decide(Force force = Force::kNo, bool disturbed = false) {
    if (looked_) reports_.Note(&view_);
    return DecidePromote(Seen(force, disturbed));
  }
  PromoteSeen Seen(Force force = Force::kNo, bool disturbed = false) {
    PromoteSeen seen{.view = view_,
                     .rescue = rescue_,
                     .options = options_,
                     .site_name = names_,
                     .force = force};
    seen.clocks = clocks_;
    seen.disturbed = disturbed;
    seen.interval = interval_;
    return seen;
  }

  ReplicationOptions options_;
  SiteNameFn names_ = [](const std::string& uuid) { return uuid; };
  SeriesClocks clocks_;
  std::optional<std::chrono::minutes> interval_;
  MirrorView view_;
  std::optional<RescueRecord> rescue_;
  ReportWatch reports_;  // of the call, once it has looked_
  bool looked_ = false;
};

TEST_F(PromoteDecisionTest, OffIsRefusedWithAndWithoutForce) {
  view_.info.state = MirrorImageState::kDisabled;
  EXPECT_EQ(Decide().row, "off");
  EXPECT_EQ(Decide(Force::kYes).row, "off");
}

TEST_F(PromoteDecisionTest, AnUnknownReportKeepsAWholeDemotionWaiting) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  SetPeer(State::kUnrecognized, "something new");
  EXPECT_EQ(Decide().step, Step::kWait);
  EXPECT_THAT(Decide().reason, HasSubstr("does not know"));
  SetPeer(State::kUnrecognized, "something new", options_.settle_time);
  EXPECT_EQ(Decide().step, Step::kPromote);
  SetPeer(State::kUnknown, "remote image is not primary");
  SetLocal(State::kUnrecognized, "something new");
  EXPECT_EQ(Decide().step, Step::kWait);
}

TEST_F(PromoteDecisionTest, PrimaryIsDoneWithAndWithoutForce) {
  view_.info.primary = true;
  EXPECT_EQ(Decide().step, Step::kKeepSchedule);
  EXPECT_EQ(Decide(Force::kYes).step, Step::kKeepSchedule);
}

TEST_F(PromoteDecisionTest, WholeDemotionIsPromotedWhenThePeerSaysDemoted) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  SetPeer(State::kUnknown, "remote image is not primary");
  EXPECT_EQ(Decide().step, Step::kPromote);
  EXPECT_EQ(Decide(Force::kYes).step, Step::kPromote);
}

TEST_F(PromoteDecisionTest, OutdatedClaimOfThePeerDoesNotHoldAMoveUp) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  SetLocal(State::kUnknown, "remote image demoted");
  EXPECT_EQ(Decide().step, Step::kPromote);
}

TEST_F(PromoteDecisionTest, WaitsWhileOnlyThePeersOldReportIsThere) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  // The local rbd-mirror has not looked at the peer since: nothing outdates it.
  EXPECT_EQ(Decide().step, Step::kWait);
}

TEST_F(PromoteDecisionTest, NeverPromotesWhenThePeerBecamePrimaryAgain) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  SetLocal(State::kUnknown, "remote image demoted");
  SetPeer(State::kStopped, "local image is primary", seconds(1), kArrived + 3);
  EXPECT_EQ(Decide().step, Step::kWait);
}

TEST_F(PromoteDecisionTest, HalfCopiedDemotionIsNeverPromotedPlainly) {
  SetNewest(Kind::kNonPrimaryDemoted, false, 16);
  SetLocal(State::kUnknown, "remote image demoted");
  const Next decision = Decide();
  EXPECT_EQ(decision.step, Step::kWait);
  EXPECT_THAT(decision.reason, HasSubstr("16 of 64 objects"));
}

TEST_F(PromoteDecisionTest, ForceRescuesWhenTheSourceOfTheCopyIsDead) {
  SetNewest(Kind::kNonPrimary, false, 16);
  SetPeer(State::kStopped, "local image is primary", seconds(200));
  EXPECT_EQ(Decide(Force::kYes).step, Step::kRescue);
  EXPECT_EQ(Decide(Force::kYes, /*disturbed=*/true).step, Step::kRescue);
}

TEST_F(PromoteDecisionTest, ForceNeverWaitsForACopy) {
  SetNewest(Kind::kNonPrimary, false, 16);
  view_.quiet_for = seconds(0);  // it goes on
  EXPECT_EQ(Decide(Force::kYes).step, Step::kRescue);
  EXPECT_NE(Decide().step, Step::kRescue);
}

TEST_F(PromoteDecisionTest, AUserSnapshotThatCameWithHalfACopyLosesMore) {
  const uint64_t whole = view_.snapshots.back().id;
  SetNewest(Kind::kNonPrimary, false, 16);
  view_.snapshots.back().id = whole + 2;
  view_.other_snapshots = {{whole + 1, "backup", SnapshotKind::kUser}};
  Next decision = Decide(Force::kYes);
  EXPECT_EQ(decision.step, Step::kRescue);
  EXPECT_THAT(decision.reason, HasSubstr("before its last complete copy"));
  EXPECT_EQ(view_.RestoreTime(), std::nullopt);
  // What the state before had of a parent is not known.
  view_.parent = ImageParent();
  decision = Decide(Force::kYes);
  EXPECT_THAT(decision, HasNothingToForce());
  EXPECT_THAT(decision.reason, HasSubstr("'backup'"));
  // One that came with an earlier copy does no harm.
  view_.parent.reset();
  view_.other_snapshots.front().id = whole - 1;
  decision = Decide(Force::kYes);
  EXPECT_EQ(decision.step, Step::kRescue);
  EXPECT_THAT(decision.reason, Not(HasSubstr("before its last")));
}

// A person is told what it is, and no report tells when that was.
TEST_F(PromoteDecisionTest, TheOwnDemotionIsCalledSo) {
  SetNewest(Kind::kPrimaryDemoted, true);
  MirrorSnapshot& demotion = view_.snapshots.back();
  demotion.created = std::chrono::system_clock::from_time_t(11560);
  EXPECT_EQ(view_.RestorePoint(), "its own demotion of 1970-01-01T03:12:40Z");
  EXPECT_EQ(view_.RestoreTime(), 11560);
}

TEST_F(PromoteDecisionTest, WhatWentOnFromAMarkedCopyIsNeverPromoted) {
  SetNewest(Kind::kNonPrimary, true, 16);
  MirrorSnapshot& marked = view_.snapshots.back();
  const uint64_t id = marked.id;
  rescue_ = RescueRecord{RescueStep::kMarked, view_.image_id, id};
  rescue_->marked_objects = 16;
  ShowMarked(rescue_, &view_);
  EXPECT_FALSE(view_.snapshots.back().complete);
  EXPECT_EQ(Decide(Force::kYes).step, Step::kRescue);

  SetNewest(Kind::kNonPrimaryDemoted, true);
  view_.snapshots.back().id = id + 2;
  for (const Force force : {Force::kNo, Force::kYes}) {
    EXPECT_EQ(Decide(force).row, "marked-copy-went-on");
    EXPECT_EQ(Decide(force).code, absl::StatusCode::kUnavailable);
    EXPECT_THAT(Decide(force).reason, HasSubstr("resync the image here"));
  }
  EXPECT_TRUE(RescueIsLive(*rescue_, view_)) << "it alone tells of that";
  // It was noted as incomplete again, and became complete.
  MirrorSnapshot& before = view_.snapshots[view_.snapshots.size() - 2];
  before.last_copied_object = 64;
  before.complete = true;
  ShowMarked(rescue_, &view_);
  EXPECT_TRUE(before.complete);
  EXPECT_THAT(Decide(Force::kYes).reason, Not(HasSubstr("resync the image")));
}

TEST_F(PromoteDecisionTest, ForceRescuesHalfADemotion) {
  SetNewest(Kind::kNonPrimaryDemoted, false, 16);
  SetPeer(State::kUnknown, "", seconds(200));
  EXPECT_EQ(Decide(Force::kYes).step, Step::kRescue);
}

TEST_F(PromoteDecisionTest, AnOrphanIsNoWholeStateToGoBackTo) {
  view_.snapshots.clear();
  SetNewest(Kind::kNonPrimary, false, 16);
  SetNewest(Kind::kNonPrimary, true);
  view_.snapshots.back().primary_mirror_uuid.clear();
  SetPeer(State::kUnknown, "", seconds(200));
  EXPECT_THAT(Decide(Force::kYes), HasNothingToForce());
}

TEST_F(PromoteDecisionTest, ARescueThatBeganToPromoteGoesOn) {
  // librbd has removed the incomplete snapshot and died.
  view_.image_id = "10a1";
  SetNewest(Kind::kNonPrimary, true);
  view_.snapshots.back().primary_mirror_uuid.clear();
  rescue_ = RescueRecord{RescueStep::kPromoting, "10a1", 2};
  EXPECT_EQ(Decide(Force::kYes).step, Step::kRescue);
  EXPECT_NE(Decide().step, Step::kRescue);
  rescue_->step = RescueStep::kSaved;
  EXPECT_EQ(Decide(Force::kYes).step, Step::kPromoteByForce);
}

TEST_F(PromoteDecisionTest, ARescueIsOverWhenSomethingWholeHasArrivedSince) {
  view_.image_id = "10a1";
  rescue_ = RescueRecord{RescueStep::kPromoting, "10a1", 2};
  SetNewest(Kind::kNonPrimary, true);
  ASSERT_EQ(view_.snapshots.back().id, 2U);
  EXPECT_EQ(Decide(Force::kYes).step, Step::kPromoteByForce);
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
  EXPECT_EQ(Decide(Force::kYes).step, Step::kRescue);
}

TEST_F(PromoteDecisionTest, ForceNeedsOneWholeSnapshot) {
  view_.snapshots.clear();
  SetNewest(Kind::kNonPrimary, false, 3);
  EXPECT_THAT(Decide(Force::kYes), HasNothingToForce());
  view_.snapshots.clear();
  EXPECT_THAT(Decide(Force::kYes), HasNothingToForce());
}

TEST_F(PromoteDecisionTest, ForceTakesOverFromALivingPrimary) {
  EXPECT_EQ(Decide(Force::kYes).step, Step::kPromoteByForce);
}

TEST_F(PromoteDecisionTest, OwnHalfDoneDemotionIsTakenBack) {
  SetNewest(Kind::kPrimaryDemoted, false);
  SetPeer(State::kReplaying, "replaying");
  KeepFirstLook();
  SetPeer(State::kReplaying, "replaying", seconds(1), kArrived + 10);
  EXPECT_EQ(Decide().step, Step::kPromote);
}

// A silent peer may have been promoted since: that is for force to decide.
TEST_F(PromoteDecisionTest, OwnDemotionIsNotTakenBackInSilence) {
  SetNewest(Kind::kPrimaryDemoted, true);
  SetPeer(State::kUnknown, "remote image is not primary", seconds(100));
  // It may be this site that was away.
  EXPECT_EQ(Decide().step, Step::kWait);
  EXPECT_EQ(Decide(Force::kYes).step, Step::kPromote);
  WaitedFor(options_.settle_time);
  EXPECT_THAT(Decide(), RefusesForDeath());
  EXPECT_THAT(Decide().reason,
              HasSubstr("nobody tells whether the other side was promoted"));
}

TEST_F(PromoteDecisionTest, ANoteOfANewerVersionIsNotTakenForAnOrdinaryOne) {
  SetNewest(Kind::kPrimaryDemoted, true);
  SetPeer(State::kUnknown, "remote image is not primary");
  KeepFirstLook();
  SetPeer(State::kUnknown, "remote image is not primary", seconds(1),
          kArrived + 30);
  view_.own.demotion = OwnDemotionMark{};
  EXPECT_EQ(Decide().step, Step::kPromote);
  view_.own.demotion->unclear = true;
  EXPECT_EQ(Decide().step, Step::kWait);
  EXPECT_THAT(Decide().reason, HasSubstr("newer version"));
  EXPECT_EQ(Decide(Force::kYes).step, Step::kPromote);
}

// Any rbd-mirror that starts removes the reports of those that are down.
TEST_F(PromoteDecisionTest, AReportThatWasRemovedIsAwaited) {
  SetNewest(Kind::kPrimaryDemoted, true);
  view_.peers.clear();
  view_.silent_peer_age = seconds(5);
  KeepFirstLook();
  EXPECT_EQ(Decide().step, Step::kWait);
  EXPECT_THAT(Decide().reason, HasSubstr("waiting for the peer's next report"));
  view_.silent_peer_age = options_.settle_time;
  EXPECT_EQ(Decide().step, Step::kWait) << "nobody has listened";
  WaitedFor(options_.settle_time);
  EXPECT_THAT(Decide(), RefusesForDeath());
  EXPECT_EQ(Decide(Force::kYes).step, Step::kPromote);
  // The new one says nothing before the role is known.
  view_.silent_peer_age.reset();
  SetPeer(State::kStartingReplay, "starting replay", seconds(1), kArrived + 30);
  EXPECT_EQ(Decide().step, Step::kWait);
  EXPECT_EQ(Decide(Force::kYes).step, Step::kWait);
  SetPeer(State::kUnknown, "remote image is not primary", seconds(1),
          kArrived + 31);
  EXPECT_EQ(Decide().step, Step::kPromote);
}

// The peer may have taken its demotion back, and this site's rbd-mirror would
// know.
TEST_F(PromoteDecisionTest, ADemotionCountsWhileTheLocalMirrorWorks) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  SetPeer(State::kUnknown, "remote image is not primary");
  EXPECT_EQ(Decide().step, Step::kPromote);
  view_.local->status.up = false;
  AgeLocal(seconds(44));
  EXPECT_EQ(Decide().step, Step::kPromote);
  AgeLocal(seconds(45));
  EXPECT_EQ(Decide().step, Step::kWait);
  EXPECT_THAT(Decide().reason, HasSubstr("the demotion has arrived"));
  AgeLocal(options_.settle_time);
  EXPECT_EQ(Decide().row, "local-mirror-down");
  EXPECT_EQ(Decide(Force::kYes).step, Step::kPromote);
  // What was known when we sent it away ourselves counts.
  clocks_.evicted_for = seconds(50);
  EXPECT_EQ(Decide().step, Step::kPromote);
  clocks_.evicted_for.reset();
  view_.local.reset();
  EXPECT_EQ(Decide().step, Step::kWait);
  // One that was ended by SIGTERM a moment ago.
  SetLocal(State::kStopped, "stopped", kArrived + 5);
  view_.local->status.up = false;
  EXPECT_EQ(Decide().step, Step::kWait);
}

// That nobody is primary tells nothing of what the peer has written before.
TEST_F(PromoteDecisionTest, OwnDemotionIsTakenBackWhereThePeerKeptInStep) {
  SetNewest(Kind::kPrimary, true);
  view_.snapshots.back().unsynced_peer_uuids = {"peer"};
  SetNewest(Kind::kPrimaryDemoted, true);
  SetPeer(State::kUnknown, "remote image is not primary");
  KeepFirstLook();
  SetPeer(State::kUnknown, "remote image is not primary", seconds(1),
          kArrived + 10);
  EXPECT_EQ(Decide().step, Step::kWait);
  EXPECT_THAT(Decide().reason, HasSubstr("may have been promoted there"));
  EXPECT_EQ(Decide(Force::kYes).step, Step::kPromoteByForce);

  // Nor does it where the peer has no report at all.
  const std::vector<SiteView> peers = std::exchange(view_.peers, {});
  EXPECT_EQ(Decide().step, Step::kWait);
  EXPECT_THAT(Decide().reason, HasSubstr("no report of the peer site"));
  view_.peers = peers;

  // It had reported just before; longer ago it may have been promoted since.
  view_.own.demotion = {OwnDemotionStep::kDemoted, kArrived - 60};
  EXPECT_EQ(Decide().step, Step::kPromote);
  view_.own.demotion = {OwnDemotionStep::kDemoted, kArrived - 61};
  EXPECT_EQ(Decide().step, Step::kWait);
  // Or it copies from here, and does not only try to.
  SetPeer(State::kReplaying, "replaying", seconds(1), kArrived + 10);
  EXPECT_EQ(Decide().step, Step::kWait);
  SetPeer(State::kReplaying, R"(replaying, {"local_snapshot_timestamp":4000})",
          seconds(1), kArrived + 10);
  EXPECT_EQ(Decide().step, Step::kPromote);
  // Or it has copied the demotion.
  SetPeer(State::kUnknown, "remote image is not primary", seconds(1),
          kArrived + 10);
  view_.snapshots[view_.snapshots.size() - 2].unsynced_peer_uuids.clear();
  EXPECT_EQ(Decide().step, Step::kPromote);
}

TEST_F(PromoteDecisionTest, OwnDemotionOutOfStepIsForcedWhereThePeerIsDead) {
  SetNewest(Kind::kPrimary, true);
  view_.snapshots.back().unsynced_peer_uuids = {"peer"};
  SetNewest(Kind::kPrimaryDemoted, true);
  // What it said then counts no more.
  SetPeer(State::kReplaying, R"(replaying, {"local_snapshot_timestamp":4000})",
          seconds(200), kArrived - 200);
  EXPECT_EQ(Decide().step, Step::kWait);
  WaitedFor(options_.settle_time);
  EXPECT_THAT(Decide(), RefusesForDeath());
  EXPECT_THAT(Decide().reason, AllOf(HasSubstr("may have been promoted there"),
                                     HasSubstr("forcing returns to its own"),
                                     HasSubstr("loses only what another site "
                                               "has written since")));
}

TEST_F(PromoteDecisionTest, OwnHalfDoneDemotionStaysWhenThePeerTookOver) {
  SetNewest(Kind::kPrimaryDemoted, false);
  EXPECT_EQ(Decide().step, Step::kWait);
  // Also when it has fallen silent since.
  SetPeer(State::kStopped, "local image is primary", seconds(200),
          kArrived + 30);
  EXPECT_EQ(Decide().step, Step::kWait);
}

TEST_F(PromoteDecisionTest, JournalModeCanBeForcedWithoutSnapshots) {
  view_.info.mode = MirrorMode::kJournal;
  view_.snapshots.clear();
  EXPECT_EQ(Decide(Force::kYes).step, Step::kPromoteByForce);
}

TEST_F(PromoteDecisionTest, AFirstCopyInJournalModeIsNotForced) {
  SetJournalMode();
  view_.first_copy_pending = true;
  SetLocal(State::kSyncing, "bootstrapping, IMAGE_SYNC/COPY_IMAGE 39%");
  // Nor when rbd-mirror was restarted since, and has found nobody to copy from.
  for (const bool reported : {true, false}) {
    if (!reported) view_.local.reset();
    for (const int age : {5, 200}) {
      SetPeer(State::kStopped, "local image is primary", seconds(age));
      const Next decision = Decide(Force::kYes);
      EXPECT_THAT(decision, HasNothingToForce());
      EXPECT_THAT(decision.reason, HasSubstr("first copy"));
      EXPECT_EQ(decision.reason.find("39%") != std::string::npos, reported);
    }
  }
}

TEST_F(PromoteDecisionTest, AFirstCopyInJournalModeIsNoArrivedDemotion) {
  SetJournalMode();
  view_.first_copy_pending = true;
  SetLocal(State::kUnknown, "remote image demoted");
  SetPeer(State::kUnknown, "remote image is not primary");
  KeepFirstLook();
  SetPeer(State::kUnknown, "remote image is not primary", seconds(1),
          kArrived + 30);
  EXPECT_EQ(Decide().step, Step::kWait);
  view_.first_copy_pending = false;
  EXPECT_EQ(Decide().step, Step::kPromote);
}

TEST_F(PromoteDecisionTest, AnImageBeingDisabledIsWaitedFor) {
  view_.info.state = MirrorImageState::kDisabling;
  EXPECT_EQ(Decide().step, Step::kWait);
}

TEST_F(PromoteDecisionTest, AStateThatIsNotKnownIsNotTakenForOff) {
  view_.info.state = MirrorImageState::kUnknown;
  EXPECT_EQ(Decide().step, Step::kWait);
  EXPECT_EQ(Decide(Force::kYes).step, Step::kWait);
}

TEST_F(PromoteDecisionTest, AReportThatIsNotKnownIsNotTakenForNotPrimary) {
  SetJournalMode();
  SetPeer(State::kUnrecognized, "");
  KeepFirstLook();
  SetPeer(State::kUnrecognized, "", seconds(1), kArrived + 30);
  EXPECT_EQ(Decide().step, Step::kWait);
}

// --- the demotion is here

TEST_F(PromoteDecisionTest, AnOldClaimOfADeadPeerDoesNotHoldItsDemotionUp) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  SetPeer(State::kStopped, "local image is primary", seconds(91),
          kArrived - 15);
  EXPECT_EQ(Decide().step, Step::kPromote);
}

TEST_F(PromoteDecisionTest, StampsOfSeveralOsdsAreComparedWithAMargin) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  SetPeer(State::kStopped, "local image is primary", seconds(5), kArrived - 14);
  EXPECT_EQ(Decide().step, Step::kWait);
  SetPeer(State::kStopped, "local image is primary", seconds(5), kArrived - 15);
  EXPECT_EQ(Decide().step, Step::kPromote);
}

TEST_F(PromoteDecisionTest, APeerThatTookTheRoleBackAndFellSilentTakesForce) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  SetPeer(State::kStopped, "local image is primary", seconds(200),
          kArrived + 40);
  SetLocal(State::kReplaying, "replaying", kArrived + 100);
  WaitedFor(seconds(89));
  EXPECT_EQ(Decide().step, Step::kWait);
  WaitedFor(seconds(90));
  const Next decision = Decide();
  EXPECT_EQ(decision.row, "peer-took-role-back");
  EXPECT_THAT(decision.reason, HasSubstr("forcing returns to"));
}

TEST_F(PromoteDecisionTest, ALastClaimNearTheDemotionAwaitsTheLocalReport) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  WaitedFor(seconds(90));
  // rbd-mirror of the peer wrote it just before the demotion, and was stopped.
  SetPeer(State::kStopped, "local image is primary", seconds(200),
          kArrived - 2);
  SetLocal(State::kReplaying, "replaying", kArrived + 59);
  EXPECT_EQ(Decide().step, Step::kWait);
  EXPECT_THAT(Decide().reason, HasSubstr("about to tell"));
  SetLocal(State::kUnknown, "remote image is not primary", kArrived + 59);
  EXPECT_EQ(Decide().step, Step::kPromote);
  // Or out of date, just after it.
  SetPeer(State::kStopped, "local image is primary", seconds(200),
          kArrived + 20);
  SetLocal(State::kUnknown, "remote image is not primary", kArrived + 79);
  EXPECT_EQ(Decide().step, Step::kWait);
  SetLocal(State::kUnknown, "remote image is not primary", kArrived + 80);
  EXPECT_EQ(Decide().step, Step::kPromote);
  SetLocal(State::kReplaying, "replaying", kArrived + 80);
  EXPECT_EQ(Decide().row, "peer-took-role-back");
}

TEST_F(PromoteDecisionTest, OwnDemotionIsTakenBackAfterANewReportOfThePeer) {
  SetNewest(Kind::kPrimaryDemoted, true);
  SetPeer(State::kUnknown, "remote image is not primary");
  for (const Force force : {Force::kNo, Force::kYes}) {
    SetPeer(State::kUnknown, "remote image is not primary");
    KeepFirstLook();
    EXPECT_EQ(Decide(force).step, Step::kWait);
    SetPeer(State::kUnknown, "remote image is not primary", seconds(1),
            kArrived + 30);
    EXPECT_EQ(Decide(force).step, Step::kPromote);
  }
}

TEST_F(PromoteDecisionTest, OwnDemotionStaysWhenThePeerHasTakenOver) {
  SetNewest(Kind::kPrimaryDemoted, true);
  SetPeer(State::kUnknown, "remote image is not primary");
  KeepFirstLook();
  SetPeer(State::kStopped, "local image is primary", seconds(1), kArrived + 30);
  EXPECT_EQ(Decide().step, Step::kWait);
  // The peer stays primary: this is a takeover like any other.
  WaitedFor(seconds(180));
  EXPECT_EQ(Decide().row, "peer-primary");
}

TEST_F(PromoteDecisionTest, OwnDemotionIsNotTakenBackFromASilentSuccessor) {
  SetNewest(Kind::kPrimaryDemoted, true);
  SetPeer(State::kStopped, "local image is primary", seconds(200),
          kArrived + 30);
  SetLocal(State::kReplaying, "replaying", kArrived + 90);
  EXPECT_EQ(Decide().step, Step::kWait);
  WaitedFor(seconds(90));
  EXPECT_EQ(Decide().row, "peer-took-role-back");
}

TEST_F(PromoteDecisionTest, OwnDemotionOutdatesNoClaim) {
  // The peer claimed to be primary before this site gave the role back to it.
  SetNewest(Kind::kPrimaryDemoted, true);
  SetPeer(State::kStopped, "local image is primary", seconds(200),
          kArrived - 60);
  EXPECT_EQ(Decide().step, Step::kWait);
  // Only that its image was found not primary later does.
  SetLocal(State::kUnknown, "remote image is not primary", kArrived - 1);
  EXPECT_EQ(Decide().step, Step::kWait);
  SetLocal(State::kUnknown, "remote image is not primary", kArrived);
  EXPECT_EQ(ClaimingPeer(view_), nullptr);
  WaitedFor(options_.settle_time);
  EXPECT_THAT(Decide(), RefusesForDeath());
}

// --- the peer is primary

TEST_F(PromoteDecisionTest, PeerPrimaryIsRefusedOnlyAfterTheTakeoverTime) {
  EXPECT_EQ(Decide().step, Step::kWait);
  WaitedFor(seconds(179));
  EXPECT_EQ(Decide().step, Step::kWait);
  WaitedFor(seconds(180));
  const Next decision = Decide();
  EXPECT_EQ(decision.row, "peer-primary");
  EXPECT_THAT(decision.reason, HasSubstr("uuid-a has been primary for 180 s"));
  EXPECT_THAT(decision.reason, HasSubstr("forc"));
}

TEST_F(PromoteDecisionTest, TheTakeoverTimeRunsForThePoolButEachImageSettles) {
  WaitedFor(seconds(200));
  clocks_.image_primary_for = seconds(89);
  EXPECT_EQ(Decide().step, Step::kWait);
  clocks_.image_primary_for = seconds(90);
  EXPECT_EQ(Decide().row, "peer-primary");
}

// What is on its way may tell that the demotion is wanted there.
TEST_F(PromoteDecisionTest, ALivingPrimaryIsNotForcedAsideByWhatHasNotArrived) {
  SetNewest(Kind::kNonPrimary, false, 1);
  WaitedFor(seconds(1000));
  EXPECT_EQ(Decide().step, Step::kWait);
  SetNewest(Kind::kNonPrimary, true);
  EXPECT_EQ(Decide().row, "peer-primary");
}

TEST_F(PromoteDecisionTest, NorByAnEntryOfTheJournalThatWasNotReplayed) {
  SetJournalMode();
  SetLocal(State::kReplaying, R"(replaying, {"entries_behind_primary":1})");
  WaitedFor(seconds(1000));
  EXPECT_EQ(Decide().step, Step::kWait);
  SetLocal(State::kReplaying, R"(replaying, {"entries_behind_primary":0})");
  EXPECT_EQ(Decide().row, "peer-primary");
}

TEST_F(PromoteDecisionTest, AnArrivingDemotionIsNoLivingPrimary) {
  WaitedFor(seconds(200));
  SetNewest(Kind::kNonPrimaryDemoted, false, 1);
  EXPECT_FALSE(PrimaryPeer(view_, options_.settle_time).has_value());
  EXPECT_EQ(Decide().step, Step::kWait);
}

// What the peer says cannot be seen to be about now: it may have been demoted.
TEST_F(PromoteDecisionTest, ALivingPrimaryStaysWithoutALocalMirror) {
  WaitedFor(seconds(1000));
  view_.local->status.up = false;
  AgeLocal(seconds(45));
  EXPECT_EQ(Decide().step, Step::kWait);
  AgeLocal(seconds(90));
  EXPECT_EQ(Decide().row, "local-mirror-down");
  // One that was ended by SIGTERM.
  SetLocal(State::kStopped, "stopped");
  view_.local->status.up = false;
  EXPECT_EQ(Decide().step, Step::kWait);
  // One that has just been started: its report was removed, or says nothing.
  SetLocal(State::kStartingReplay, "starting replay");
  EXPECT_EQ(Decide().step, Step::kWait);
  view_.local.reset();
  EXPECT_EQ(Decide().row, "local-mirror-down");
  // One that we have sent away: what it said before counts.
  SetLocal(State::kReplaying, "replaying");
  view_.local->status.up = false;
  AgeLocal(seconds(100));
  clocks_.evicted_for = seconds(20);
  EXPECT_EQ(Decide().row, "peer-primary");
  // One that was stopped on purpose.
  clocks_.evicted_for.reset();
  options_.force_without_local_mirror = true;
  EXPECT_EQ(Decide().row, "peer-primary");
}

// Time alone makes no wrong copy right.
TEST_F(PromoteDecisionTest, ACopyThatDoesNotFollowIsNotPromotedForTime) {
  WaitedFor(seconds(1000));
  SetLocal(State::kError, "split-brain");
  Next decision = Decide();
  EXPECT_EQ(decision.step, Step::kWait);
  EXPECT_THAT(decision.reason,
              AllOf(HasSubstr("split brain"), HasSubstr("resync this image")));
  SetLocal(State::kError, "failed to copy snapshots");
  decision = Decide();
  EXPECT_EQ(decision.step, Step::kWait);
  EXPECT_THAT(decision.reason, HasSubstr("'failed to copy snapshots'"));
  // The role was given back.
  SetLocal(State::kReplaying, "replaying", kArrived + 100);
  SetNewest(Kind::kPrimaryDemoted, true);
  view_.own.demotion = {OwnDemotionStep::kGivenBack};
  decision = Decide();
  EXPECT_EQ(decision.step, Step::kWait);
  EXPECT_THAT(decision.reason, HasSubstr("gave the role back"));
  // Nobody is there to resync from.
  SetPeer(State::kStopped, "local image is primary", seconds(200));
  EXPECT_EQ(Decide().row, "peer-took-role-back");
}

TEST_F(PromoteDecisionTest, ACopyThatIsKnownToBeDamagedIsNotPromotedPlanned) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  SetPeer(State::kUnknown, "remote image is not primary");
  ASSERT_EQ(Decide().row, "demotion-here");
  view_.proof = {"first", 1, 2, 3, 0};
  EXPECT_EQ(Decide().row, "copy-damaged");
  EXPECT_EQ(Decide().step, Step::kWait);
  EXPECT_THAT(Decide().reason,
              AllOf(HasSubstr("damaged at point 'first': 3 objects differ"),
                    HasSubstr("or force by hand")));
  EXPECT_EQ(Decide(Force::kYes).row, "demotion-here");
  view_.proof.damaged = 0;
  EXPECT_EQ(Decide().row, "demotion-here");
}

TEST_F(PromoteDecisionTest, APeerThatIsToBeDemotedIsNotForcedAside) {
  WaitedFor(seconds(200));
  view_.refused_demotion =
      RefusedDemotion{"client.7 at 10.0.0.5:0/1", "2026-11-20T03:00:00Z", 5000};
  view_.refused_demotion_age = seconds(599);
  const Next decision = Decide();
  EXPECT_EQ(decision.row, "workload-on-peer");
  EXPECT_THAT(decision.reason, HasSubstr("client.7 at 10.0.0.5:0/1"));
  // Also when its rbd-mirror is down and nothing else arrives: the workload
  // writes on.
  SetPeer(State::kStopped, "local image is primary", seconds(200), 500);
  EXPECT_EQ(Decide().row, "workload-on-peer");
  // But not for ever.
  view_.refused_demotion_age = seconds(600);
  EXPECT_THAT(Decide(), RefusesForDeath());
  SetPeer(State::kStopped, "local image is primary");
  EXPECT_EQ(Decide().row, "peer-primary");
}

// A note of long ago is known anew to a daemon that has just begun.
TEST_F(PromoteDecisionTest, ANoteThatIsOlderThanTheCopyIsNoneOfToday) {
  WaitedFor(seconds(200));
  view_.refused_demotion =
      RefusedDemotion{"client.7 at 10.0.0.5:0/1", "2026-11-20T03:00:00Z", 1000};
  SetLocal(State::kReplaying,
           R"(replaying, {"remote_snapshot_timestamp":1660})");
  SetPeer(State::kStopped, "local image is primary", seconds(5), 1660);
  EXPECT_EQ(Decide().row, "workload-on-peer");
  SetLocal(State::kReplaying,
           R"(replaying, {"remote_snapshot_timestamp":1661})");
  EXPECT_EQ(Decide().row, "peer-primary");
  // Or than that site's last report: it is dead now.
  SetLocal(State::kReplaying, "replaying");
  SetPeer(State::kStopped, "local image is primary", seconds(200), 1660);
  EXPECT_EQ(Decide().row, "workload-on-peer");
  SetPeer(State::kStopped, "local image is primary", seconds(200), 1661);
  EXPECT_THAT(Decide(), RefusesForDeath());
  // Another version's note has no time.
  view_.refused_demotion->told = 0;
  EXPECT_EQ(Decide().row, "workload-on-peer");
}

TEST_F(PromoteDecisionTest, ANoteOfAWorkloadDoesNotHoldAWholeDemotionUp) {
  SetNewest(Kind::kNonPrimaryDemoted, true);
  SetLocal(State::kUnknown, "remote image demoted");
  view_.refused_demotion = RefusedDemotion{"client.7", "", 1};
  EXPECT_EQ(Decide().step, Step::kPromote);
}

// --- no sign of life

TEST_F(PromoteDecisionTest, SilenceAloneIsNoDeath) {
  // As after a restart of the daemon, long after the peer's last report.
  SetPeer(State::kStopped, "local image is primary", seconds(3600));
  view_.quiet_for = seconds(3600);
  EXPECT_EQ(Decide().step, Step::kWait);
  clocks_.looked_for = seconds(3600);
  clocks_.quiet_for = seconds(89);  // something arrived in the pool
  EXPECT_EQ(Decide().step, Step::kWait);
}

TEST_F(PromoteDecisionTest, DeadPeerIsRefusedWithWhatForcingReturnsTo) {
  SetLocal(State::kReplaying,
           R"(replaying, {"local_snapshot_timestamp":1684675261})");
  SetPeer(State::kStopped, "local image is primary", seconds(90));
  WaitedFor(seconds(90));
  const Next decision = Decide();
  EXPECT_THAT(decision, RefusesForDeath());
  EXPECT_THAT(decision.reason, HasSubstr("2023-05-21T13:21:01Z"));
  EXPECT_THAT(decision.reason, HasSubstr("uuid-a"));
}

TEST_F(PromoteDecisionTest, APeerThatReportsIsNotDead) {
  SetPeer(State::kUnknown, "remote image is not primary", seconds(89));
  WaitedFor(seconds(1000));
  EXPECT_EQ(Decide().step, Step::kWait);
}

TEST_F(PromoteDecisionTest, DeadPeerWithAHalfArrivedDemotionCanBeForced) {
  SetNewest(Kind::kNonPrimaryDemoted, false, 16);
  SetPeer(State::kUnknown, "", seconds(200));
  EXPECT_EQ(Decide().step, Step::kWait);
  WaitedFor(seconds(90));
  EXPECT_THAT(Decide(), RefusesForDeath());
}

TEST_F(PromoteDecisionTest, OurOwnDisturbanceIsNoSignOfADeadPeer) {
  SetPeer(State::kStopped, "local image is primary", seconds(200));
  WaitedFor(seconds(200));
  EXPECT_EQ(Decide(Force::kNo, true).step, Step::kWait);
}

// --- this site's own rbd-mirror

TEST_F(PromoteDecisionTest, ADeadLocalMirrorExplainsTheSilence) {
  SetPeer(State::kStopped, "local image is primary", seconds(200));
  view_.local->status.up = false;
  AgeLocal(seconds(89));
  WaitedFor(seconds(200));
  EXPECT_EQ(Decide().step, Step::kWait);
  AgeLocal(seconds(90));
  const Next decision = Decide();
  EXPECT_EQ(decision.row, "local-mirror-down");
  EXPECT_THAT(decision.reason, HasSubstr("start rbd-mirror here"));
  EXPECT_THAT(decision.reason, HasSubstr("force by hand"));
  EXPECT_THAT(decision.reason, Not(HasSubstr("manager")));
  EXPECT_THAT(decision.reason, Not(HasSubstr("is alive")));
  // Then it is the wrong thing to do.
  SetPeer(State::kStopped, "local image is primary", seconds(20));
  EXPECT_THAT(Decide().reason,
              HasSubstr("start rbd-mirror here: uuid-a is alive, and "
                        "what was written there arrives then; or force"));
}

// What nobody could be asked is said to be unclear, and forces nothing.
TEST_F(PromoteDecisionTest, ADeadLocalMirrorMayBeOneThatCouldNotBeAskedFor) {
  SetPeer(State::kStopped, "local image is primary", seconds(200));
  view_.local->status.up = false;
  AgeLocal(seconds(90));
  WaitedFor(seconds(200));
  clocks_.daemons_unread = "the manager refused";
  const Next decision = Decide();
  EXPECT_EQ(decision.row, "local-mirror-down");
  EXPECT_THAT(decision.reason, HasSubstr("or it lives and cannot reach"));
  EXPECT_THAT(decision.reason, HasSubstr("the manager refused"));
}

TEST_F(PromoteDecisionTest, AReportThatIsRewrittenIsNoDeadLocalMirror) {
  SetPeer(State::kStopped, "local image is primary", seconds(200));
  view_.local->status.up = false;
  WaitedFor(seconds(200));
  AgeLocal(seconds(44));
  EXPECT_THAT(Decide(), RefusesForDeath());
  AgeLocal(seconds(45));
  EXPECT_EQ(Decide().step, Step::kWait);
  // A process that has just begun does not know how old it is.
  AgeLocal(seconds(0));
  view_.local->rewritten = false;
  EXPECT_EQ(Decide().step, Step::kWait);
}

TEST_F(PromoteDecisionTest, ALocalMirrorThatNeverReportedIsDown) {
  view_.local.reset();
  SetPeer(State::kStopped, "local image is primary", seconds(200));
  WaitedFor(seconds(89));
  EXPECT_EQ(Decide().step, Step::kWait);
  WaitedFor(seconds(90));
  EXPECT_EQ(Decide().row, "local-mirror-down");
}

TEST_F(PromoteDecisionTest, ALocalMirrorMayBeStoppedOnPurpose) {
  options_.force_without_local_mirror = true;
  SetPeer(State::kStopped, "local image is primary", seconds(200));
  view_.local->status.up = false;
  AgeLocal(seconds(200));
  WaitedFor(seconds(89));
  EXPECT_EQ(Decide().step, Step::kWait);
  WaitedFor(seconds(90));
  const Next decision = Decide();
  EXPECT_THAT(decision, RefusesForDeath());
  EXPECT_THAT(decision.reason, HasSubstr("rbd-mirror of this site is down"));
}

TEST_F(PromoteDecisionTest, LivingPeerKeepsADeadLocalDaemonFromBeingForced) {
  view_.local->status.up = false;
  SetPeer(State::kUnknown, "remote image is not primary");
  WaitedFor(seconds(80));
  const Next decision = Decide();
  EXPECT_EQ(decision.step, Step::kWait);
  EXPECT_THAT(decision.reason, HasSubstr("rbd-mirror of this site is down"));
}

TEST_F(PromoteDecisionTest, ALocalMirrorThatWeSilencedIsNoReasonToWait) {
  // Another volume of the pool was promoted by force; the peer is dead, so
  // rbd-mirror of this site does not come back.
  SetPeer(State::kStopped, "local image is primary", seconds(300));
  view_.local->status.up = false;
  AgeLocal(seconds(130));
  WaitedFor(seconds(130));
  EXPECT_EQ(Decide().row, "local-mirror-down");
  clocks_.evicted_for = seconds(119);
  EXPECT_EQ(Decide().step, Step::kWait);
  clocks_.evicted_for = seconds(120);
  EXPECT_THAT(Decide(), RefusesForDeath());
  clocks_.quiet_for = seconds(89);
  EXPECT_EQ(Decide().step, Step::kWait);
}

// Volumes of a dead site are forced one after the other: the first of them ends
// the copying of all.
TEST_F(PromoteDecisionTest, WhoWasDeadBeforeTheCopyingEndedIsDeadAtOnce) {
  SetJournalMode();
  SetPeer(State::kStopped, "local image is primary", seconds(100));
  SetLocal(State::kReplaying, R"(replaying, {"entries_behind_primary":7})");
  WaitedFor(seconds(95));
  EXPECT_EQ(Decide().step, Step::kWait);
  clocks_.evicted_for = clocks_.first_evicted_for = seconds(5);
  clocks_.quiet_before_eviction = seconds(90);
  EXPECT_THAT(Decide(), RefusesForDeath());
  // Also when this site's rbd-mirror is seen to be gone.
  view_.local->status.up = false;
  AgeLocal(seconds(91));
  EXPECT_THAT(Decide(), RefusesForDeath());
  // Not known to have been dead by then: the peer was sent away, too.
  clocks_.quiet_before_eviction = seconds(89);
  EXPECT_EQ(Decide().step, Step::kWait);
  clocks_.quiet_before_eviction = seconds(90);
  view_.peers[0].age = seconds(94);
  EXPECT_EQ(Decide().step, Step::kWait);
  view_.peers[0].age = seconds(100);
  view_.silent_peer_age = seconds(200);
  EXPECT_EQ(Decide().step, Step::kWait);
  view_.silent_peer_age.reset();
  EXPECT_THAT(Decide(), RefusesForDeath());
  // Nothing is known of a peer whose report was removed.
  view_.peers.clear();
  view_.silent_peer_age = seconds(300);
  EXPECT_EQ(Decide().step, Step::kWait);
}

TEST_F(PromoteDecisionTest,
       ALocalMirrorThatCannotReachThePeerIsNoReasonToWait) {
  // It was started after the death of the other site, and reports on no image.
  SetPeer(State::kStopped, "local image is primary", seconds(300));
  view_.local->status.up = false;
  AgeLocal(seconds(130));
  WaitedFor(seconds(130));
  EXPECT_EQ(Decide().row, "local-mirror-down");
  clocks_.cut_off = true;
  const Next decision = Decide();
  EXPECT_THAT(decision, RefusesForDeath());
  EXPECT_THAT(
      decision.reason,
      AllOf(HasSubstr("rbd-mirror of this site lives and cannot connect"),
            Not(HasSubstr("rbd-mirror of this site is down"))));
  // Not before it was so for the settle time, and not while the peer lives.
  clocks_.quiet_for = seconds(89);
  EXPECT_EQ(Decide().step, Step::kWait);
  clocks_.quiet_for = seconds(130);
  SetPeer(State::kStopped, "local image is primary", seconds(80));
  EXPECT_THAT(Decide(), Not(RefusesForDeath()));
}

TEST_F(PromoteDecisionTest, ALocalMirrorThatHangsIsToBeRestarted) {
  SetPeer(State::kStopped, "local image is primary", seconds(300));
  AgeLocal(seconds(130));
  WaitedFor(seconds(130));
  EXPECT_THAT(Decide().reason, HasSubstr("is down"));
  clocks_.hangs = true;
  const Next decision = Decide();
  EXPECT_EQ(decision.row, "local-mirror-down");
  EXPECT_THAT(decision.reason, AllOf(HasSubstr("lives and hangs"),
                                     HasSubstr("restart rbd-mirror here")));
}

TEST_F(PromoteDecisionTest, WithOneWayMirroringThatIsNoSignOfDeath) {
  view_.peers.clear();
  view_.local->status.up = false;
  AgeLocal(seconds(130));
  interval_ = std::chrono::minutes(1);
  WaitedFor(std::chrono::hours(1));
  clocks_.cut_off = true;
  EXPECT_EQ(Decide().row, "local-mirror-down");
}

// --- one-way mirroring

TEST_F(PromoteDecisionTest, OneWayMirroringWithoutAnIntervalIsForPeople) {
  view_.peers.clear();
  WaitedFor(std::chrono::hours(10));
  const Next decision = Decide();
  EXPECT_EQ(decision.step, Step::kWait);
  EXPECT_THAT(decision.reason, HasSubstr("rbd-addons promote ID --force"));
}

TEST_F(PromoteDecisionTest, OneWayMirroringIsDeadAfterThreeIntervals) {
  view_.peers.clear();
  interval_ = std::chrono::minutes(5);
  WaitedFor(seconds(90));
  // Stamps of two OSDs: with the margin.
  view_.local->status.last_update = kArrived + 900 + 14;
  EXPECT_EQ(Decide().step, Step::kWait);
  view_.local->status.last_update = kArrived + 900 + 15;
  EXPECT_THAT(Decide(), RefusesForDeath());
  clocks_.quiet_for = seconds(89);
  EXPECT_EQ(Decide().step, Step::kWait);
}

TEST_F(PromoteDecisionTest, OneWayMirroringHasTheSettleTimeAtLeast) {
  view_.peers.clear();
  interval_ = std::chrono::minutes(1);
  WaitedFor(seconds(179));
  EXPECT_EQ(Decide().step, Step::kWait);
  WaitedFor(seconds(180));
  EXPECT_THAT(Decide(), RefusesForDeath());
  options_.settle_time = seconds(240);
  EXPECT_EQ(Decide().step, Step::kWait);
}

TEST_F(PromoteDecisionTest, APeerThatHasCalledIsNoOneWayMirroring) {
  view_.peers.clear();
  view_.silent_peer_age = seconds(89);
  WaitedFor(seconds(90));
  EXPECT_EQ(Decide().step, Step::kWait);
  view_.silent_peer_age = seconds(90);
  EXPECT_THAT(Decide(), RefusesForDeath());
}

// --- journal mode

TEST_F(PromoteDecisionTest, JournalModeWaitsForSomebodyToSayNotPrimary) {
  SetJournalMode();
  EXPECT_EQ(Decide().step, Step::kWait);
  SetPeer(State::kUnknown, "remote image is not primary");
  KeepFirstLook();
  // That was written before the call.
  EXPECT_EQ(Decide().step, Step::kWait);
  SetPeer(State::kUnknown, "remote image is not primary", seconds(1),
          kArrived + 30);
  EXPECT_EQ(Decide().step, Step::kPromote);
}

TEST_F(PromoteDecisionTest, JournalModeReplaysWhatIsBehindFirst) {
  SetJournalMode();
  SetPeer(State::kUnknown, "remote image is not primary");
  KeepFirstLook();
  SetPeer(State::kUnknown, "remote image is not primary", seconds(1),
          kArrived + 30);
  SetLocal(State::kReplaying, R"(replaying, {"entries_behind_primary":3})");
  EXPECT_EQ(Decide().step, Step::kWait);
}

TEST_F(PromoteDecisionTest, JournalModeDoesNotTakeTheRoleOfASilentSuccessor) {
  SetJournalMode();
  SetLocal(State::kUnknown, "remote image is not primary", 10030);
  SetPeer(State::kStopped, "local image is primary", seconds(200), 10000);
  // This site's text may be older than the claim.
  EXPECT_EQ(Decide().step, Step::kWait);
  WaitedFor(seconds(90));
  EXPECT_THAT(Decide(), RefusesForDeath());
  SetLocal(State::kUnknown, "remote image is not primary", 10060);
  EXPECT_EQ(ClaimingPeer(view_), nullptr);
  EXPECT_THAT(Decide(), RefusesForDeath());
}

TEST_F(PromoteDecisionTest, JournalModeTellsWhatForcingReturnsTo) {
  SetJournalMode();
  SetPeer(State::kStopped, "local image is primary", seconds(200));
  WaitedFor(seconds(90));
  EXPECT_THAT(Decide().reason, HasSubstr("the last entry replayed"));
  SetLocal(State::kReplaying, R"(replaying, {"entries_behind_primary":7})");
  // What is known and not replayed is on its way ...
  EXPECT_EQ(Decide().step, Step::kWait);
  WaitedFor(seconds(179));
  EXPECT_EQ(Decide().step, Step::kWait);
  // ... but a dead primary leaves it so for ever.
  WaitedFor(seconds(180));
  const Next decision = Decide();
  EXPECT_THAT(decision, RefusesForDeath());
  EXPECT_THAT(decision.reason, HasSubstr("7 behind"));
  // A report that is rewritten tells, whatever the flag "up" says.
  view_.local->status.up = false;
  WaitedFor(seconds(179));
  EXPECT_EQ(Decide().step, Step::kWait);
}

// --- a move that is given up

class FollowersTest : public PromoteDecisionTest {
 protected:
  FollowersTest() {
    view_.snapshots.clear();
    SetNewest(Kind::kPrimaryDemoted, true);
    view_.snapshots.back().created =
        std::chrono::system_clock::from_time_t(kArrived - 100);
    SetNewest(Kind::kPrimary, true);
    view_.info.primary = true;
    view_.own.demotion = {OwnDemotionStep::kTakenBack};
  }
  FollowerState Judge(int rewrites) {
    for (SiteView& peer : view_.peers) peer.rewrites = rewrites;
    return JudgeFollowers(view_, options_.settle_time).state;
  }
};

TEST_F(FollowersTest, APeerFollowsOnceItHasTheNewSnapshot) {
  SetPeer(State::kReplaying, R"(replaying, {"local_snapshot_timestamp":4900})",
          seconds(1), kArrived + 60);
  EXPECT_EQ(Judge(5), FollowerState::kUnknown);
  SetPeer(State::kReplaying, R"(replaying, {"local_snapshot_timestamp":5000})",
          seconds(1), kArrived + 60);
  EXPECT_EQ(Judge(0), FollowerState::kFollow);
}

// In a split brain rbd-mirror says that, too, each time that it looks.
TEST_F(FollowersTest, AReportWithoutNumbersIsNoWordThatAPeerFollows) {
  SetPeer(State::kReplaying, "replaying", seconds(1), kArrived + 60);
  EXPECT_EQ(Judge(9), FollowerState::kUnknown);
}

TEST_F(FollowersTest, APeerInSplitBrainHasParted) {
  SetPeer(State::kError, "split-brain", seconds(1), kArrived - 1);
  EXPECT_EQ(Judge(0), FollowerState::kUnknown) << "of before";
  SetPeer(State::kError, "split-brain", seconds(1), kArrived);
  EXPECT_EQ(Judge(0), FollowerState::kParted);
  SetPeer(State::kError, "split-brain", seconds(200), kArrived);
  EXPECT_EQ(Judge(0), FollowerState::kParted) << "its last word";
}

TEST_F(FollowersTest, APeerThatHasNotNoticedIsAwaited) {
  SetPeer(State::kUnknown, "remote image is not primary", seconds(1),
          kArrived + 60);
  EXPECT_EQ(Judge(9), FollowerState::kUnknown);
  SetPeer(State::kStartingReplay, "starting replay", seconds(1), kArrived + 60);
  EXPECT_EQ(Judge(9), FollowerState::kUnknown);
  SetPeer(State::kError, "timeout", seconds(1), kArrived + 60);
  EXPECT_EQ(Judge(9), FollowerState::kUnknown);
}

TEST_F(FollowersTest, APrimaryPeerHasTakenTheRole) {
  SetPeer(State::kStopped, "local image is primary", seconds(1), kArrived - 1);
  EXPECT_EQ(Judge(0), FollowerState::kUnknown) << "an old claim";
  SetPeer(State::kStopped, "local image is primary", seconds(1), kArrived);
  EXPECT_EQ(Judge(0), FollowerState::kTaken);
}

// Silence is no word that it has the new state: it may have been promoted.
TEST_F(FollowersTest, ASilentPeerIsNotAwaitedAndDoesNotFollow) {
  SetPeer(State::kUnknown, "remote image is not primary", seconds(90));
  EXPECT_EQ(Judge(0), FollowerState::kSilent);
  SetPeer(State::kReplaying, R"(replaying, {"local_snapshot_timestamp":5000})",
          seconds(90), kArrived + 60);
  EXPECT_EQ(Judge(0), FollowerState::kSilent);
  view_.peers.clear();
  view_.silent_peer_age = seconds(89);
  EXPECT_EQ(Judge(0), FollowerState::kUnknown);
  view_.silent_peer_age = seconds(90);
  EXPECT_EQ(Judge(0), FollowerState::kSilent);
  view_.silent_peer_age.reset();
  EXPECT_EQ(Judge(0), FollowerState::kFollow) << "there is none";
}

TEST_F(FollowersTest, APeerThatWasPromotedAndFellSilentHasTakenTheRole) {
  SetPeer(State::kStopped, "local image is primary", seconds(200), kArrived);
  EXPECT_EQ(Judge(0), FollowerState::kTaken);
  SetPeer(State::kStopped, "local image is primary", seconds(200),
          kArrived - 1);
  EXPECT_EQ(Judge(0), FollowerState::kSilent);
}

TEST_F(FollowersTest, InJournalModeOnlyReportsTell) {
  SetJournalMode();
  SetPeer(State::kStopped, "local image is primary");
  EXPECT_EQ(Judge(0), FollowerState::kUnknown);
  EXPECT_EQ(Judge(1), FollowerState::kTaken);
  SetPeer(State::kReplaying, R"(replaying, {"entries_behind_primary":0})");
  EXPECT_EQ(Judge(1), FollowerState::kUnknown);
  EXPECT_EQ(Judge(2), FollowerState::kFollow);
}

/// When a call that waits may be forced.
std::optional<seconds> ForcibleIn(const PromoteSeen& seen,
                                  std::optional<seconds> known = std::nullopt) {
  const auto clock = WaitClockOf(seen, known);
  const bool forced = !clock.has_value() || clock->force == Force::kYes;
  return forced ? std::nullopt : clock->over_in;
}

/// Seconds; -1: not as far as is seen.
int64_t Until(const std::optional<seconds>& forcible) {
  return forcible.has_value() ? forcible->count() : -1;
}

TEST_F(PromoteDecisionTest, TellsWhenASilentSiteMayBeForced) {
  EXPECT_EQ(Until(ForcibleIn(Seen())), -1) << "it reports";
  // It has been silent for 60 s of 90, and calls have looked for 20 s of them.
  SetPeer(State::kStopped, "local image is primary", seconds(60));
  WaitedFor(seconds(20));
  clocks_.peer_primary_for = seconds(0);
  clocks_.image_primary_for = seconds(0);
  EXPECT_EQ(Until(ForcibleIn(Seen())), 70);
  clocks_.quiet_for = seconds(50);
  EXPECT_EQ(Until(ForcibleIn(Seen())), 40);
  clocks_.quiet_for = seconds(80);
  EXPECT_EQ(Until(ForcibleIn(Seen())), 30);
  EXPECT_EQ(Until(ForcibleIn(Seen(), seconds(33))), 33) << "holds as it was";
  EXPECT_EQ(Until(ForcibleIn(Seen(), seconds(40))), 30) << "is sooner now";
  EXPECT_EQ(Until(ForcibleIn(Seen(), seconds(20))), 30) << "is later now";
  EXPECT_EQ(Until(ForcibleIn(Seen(Force::kYes))), -1);
  // Nobody is there who could hear of it.
  AgeLocal(seconds(60));
  view_.local->status.up = false;
  EXPECT_EQ(Until(ForcibleIn(Seen())), -1);
}

TEST_F(PromoteDecisionTest, TellsWhenALivingPrimaryMayBeForcedAside) {
  WaitedFor(seconds(100));
  EXPECT_EQ(Until(ForcibleIn(Seen())), 80);
  clocks_.image_primary_for = seconds(0);
  EXPECT_EQ(Until(ForcibleIn(Seen())), -1) << "this image has just appeared";
  // A workload keeps its demotion from going on.
  WaitedFor(seconds(100));
  view_.refused_demotion = RefusedDemotion{"client.4711", "", 0};
  EXPECT_EQ(Until(ForcibleIn(Seen())), -1);
}

/// What a call that waits tells of time, at noon.
std::string ClockText(const PromoteSeen& seen) {
  const auto clock = WaitClockOf(seen);
  return clock.has_value() ? DescribeWaitClock(*clock, "at noon") : "none";
}

TEST_F(PromoteDecisionTest, TellsWhenTheNoteOfADeadSiteIsOver) {
  SetPeer(State::kStopped, "local image is primary", seconds(200));
  WaitedFor(seconds(200));
  view_.refused_demotion = RefusedDemotion{"client.4711", "today", 0};
  view_.refused_demotion_age = seconds(250);
  EXPECT_EQ(Until(ForcibleIn(Seen())), 350);
  EXPECT_EQ(ClockText(Seen()),
            "that uuid-a is to be demoted is known for 250 s of 600 s while "
            "calls wait (last report 200 s ago); forcing is offered at noon if "
            "nothing changes");
  EXPECT_THAT(Decide().reason,
              HasSubstr("; where that site is dead, force by hand with"));
  // One that lives is to stop its workload.
  SetPeer(State::kStopped, "local image is primary");
  EXPECT_THAT(Decide().reason, EndsWith("; stop it there"));
}

TEST_F(PromoteDecisionTest, TellsForHowLongASilentSiteIsAwaited) {
  SetPeer(State::kStopped, "local image is primary", seconds(48));
  WaitedFor(seconds(41));
  clocks_.peer_primary_for = seconds(0);
  clocks_.image_primary_for = seconds(0);
  EXPECT_EQ(ClockText(Seen()),
            "no sign of uuid-a for 41 s of 90 s while calls wait (last report "
            "48 s ago); forcing is offered at noon if nothing changes");
  EXPECT_THAT(Decide().reason,
              AllOf(HasSubstr("uuid-a reported its image as primary, and is "
                              "silent since"),
                    Not(HasSubstr("still"))));
  // What arrives is a sign, too, and so is a report.
  clocks_.looked_for = seconds(200);
  EXPECT_THAT(ClockText(Seen()), StartsWith("the last report of uuid-a is 48"));
  clocks_.looked_for = seconds(41);
  SetPeer(State::kStopped, "local image is primary", seconds(30));
  EXPECT_THAT(ClockText(Seen()), StartsWith("the last report of uuid-a is 30"))
      << "it goes on to report";
  EXPECT_THAT(Decide().reason, HasSubstr("uuid-a still reports its image"));
}

TEST_F(PromoteDecisionTest, TellsForHowLongALivingPrimaryIsAwaited) {
  WaitedFor(seconds(100));
  EXPECT_EQ(ClockText(Seen()),
            "uuid-a is primary for 100 s of 180 s while calls wait (last "
            "report 5 s ago); forcing is offered at noon if nothing changes");
  // This image has appeared later than others of its pool.
  clocks_.peer_primary_for = seconds(175);
  clocks_.image_primary_for = seconds(20);
  EXPECT_THAT(ClockText(Seen()), StartsWith("uuid-a is primary for 20 s of 90 "
                                            "s while calls wait"));
}

TEST_F(PromoteDecisionTest, TellsForHowLongAnUnknownSiteIsAwaited) {
  view_.peers.clear();
  view_.silent_peer_age = seconds(70);
  WaitedFor(seconds(60));
  EXPECT_THAT(ClockText(Seen()),
              StartsWith("no sign of  for 60 s of 90 s while calls wait (no "
                         "report of it is here)"));
  AgeLocal(seconds(100));
  view_.local->status.up = false;
  EXPECT_EQ(ClockText(Seen()), "") << "it is not seen to end";
}

// Twice the time, as long as there is something to replay.
TEST_F(PromoteDecisionTest, TellsThatABacklogIsAwaitedForLonger) {
  SetJournalMode();
  SetPeer(State::kStopped, "local image is primary", seconds(100));
  SetLocal(State::kReplaying, R"(replaying, {"entries_behind_primary":5})");
  WaitedFor(seconds(60));
  EXPECT_THAT(ClockText(Seen()), StartsWith("no sign of uuid-a for 60 s of 180 "
                                            "s while calls wait"));
}

// It rests on reports alone.
TEST_F(PromoteDecisionTest, TellsForHowLongAForcedOneAwaitsAReport) {
  SetNewest(Kind::kPrimaryDemoted, true);
  SetPeer(State::kUnknown, "remote image is not primary", seconds(50));
  KeepFirstLook();
  ASSERT_EQ(Decide(Force::kYes).row, "demotion-here-unconfirmed");
  EXPECT_EQ(ClockText(Seen(Force::kYes)),
            "no sign of uuid-a for 50 s of 90 s (last report 50 s ago); the "
            "promotion goes on at noon if nothing changes");
  EXPECT_FALSE(ForcibleIn(Seen(Force::kYes)).has_value());
}

TEST_F(PromoteDecisionTest, APrimaryAwaitsNoSite) {
  view_.info.primary = true;
  EXPECT_EQ(ClockText(Seen()), "none");
}

TEST_F(PromoteDecisionTest, TellsTheMomentAsATimeOfDayInUtc) {
  EXPECT_EQ(MomentOf(std::chrono::system_clock::from_time_t(11560)),
            "at about 03:12:40 UTC");
  EXPECT_EQ(MomentAfterWait(seconds(90)),
            "about 90 s after a call begins to wait");
}

// A slow copy of the demotion: each object begins the time anew.
TEST_F(PromoteDecisionTest, TellsNoMomentWhileSomethingArrives) {
  SetPeer(State::kStopped, "local image is primary", seconds(60));
  WaitedFor(seconds(40));
  ASSERT_NE(Until(ForcibleIn(Seen())), -1);
  clocks_.quiet_for = seconds(5);
  EXPECT_EQ(Until(ForcibleIn(Seen())), -1);
  clocks_.looked_for = seconds(90);
  clocks_.quiet_for = kJustReported;
  EXPECT_EQ(Until(ForcibleIn(Seen())), 45) << "it has stopped";
}

// First it is a living primary, and then one whose last word that was.
TEST_F(PromoteDecisionTest, TellsTheFirstOfTwoMoments) {
  SetPeer(State::kStopped, "local image is primary", seconds(50));
  WaitedFor(seconds(170));
  clocks_.looked_for = seconds(5);
  clocks_.quiet_for = seconds(0);
  EXPECT_EQ(Until(ForcibleIn(Seen())), 10);
}

// No search by steps would come to an end.
TEST_F(PromoteDecisionTest, TellsTheMomentAlsoOfAVeryLongTakeoverTime) {
  options_.takeover_time = std::chrono::hours(100000);
  WaitedFor(seconds(100));
  EXPECT_EQ(Until(ForcibleIn(Seen())), 100000LL * 3600 - 100);
}

// What is told is what comes.
TEST_F(PromoteDecisionTest, AtThatMomentItIsForcible) {
  SetPeer(State::kStopped, "local image is primary", seconds(60));
  WaitedFor(seconds(20));
  clocks_.peer_primary_for = seconds(0);
  const auto in = ForcibleIn(Seen());
  ASSERT_TRUE(in.has_value());
  view_.peers.front().age += *in - kForcibleStep;
  clocks_.quiet_for += *in - kForcibleStep;
  EXPECT_EQ(Decide().step, Step::kWait);
  view_.peers.front().age += kForcibleStep;
  clocks_.quiet_for += kForcibleStep;
  EXPECT_THAT(Decide(), RefusesForDeath());
}

}  // namespace
}  // namespace addons
