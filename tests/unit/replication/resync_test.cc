// Resync: it deletes a copy, so it is requested rarely, once, and only from a
// living primary.

#include "replication/steps/resync.h"

#include <cerrno>

#include "ceph/mirror.h"
#include "replication/look/move_marks.h"
#include "tests/fakes/local_notes.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

MATCHER(IsReady, "is ready") {
  *result_listener << ToStatus(arg) << " " << (arg.ok() ? arg->message : "");
  return arg.ok() && arg->ready;
}
MATCHER(IsNotReady, "is OK, not ready") {
  *result_listener << ToStatus(arg) << " " << (arg.ok() ? arg->message : "");
  return arg.ok() && !arg->ready;
}

class ResyncTest : public VerbsTest {
 protected:
  ResyncTest() { AddMirrored(); }

  int Requests() {
    return world_.CountCalls("a", "rbd_mirror_image_resync") +
           world_.CountCalls("b", "rbd_mirror_image_resync");
  }
  /// a was primary while b was promoted by force, and has been demoted since.
  void SplitAndDemoteA() {
    a_.SetClusterUp(false);
    world_.Advance(minutes(3));
    b_.Promote(image_, Force::kYes);
    a_.SetClusterUp(true);
    world_.Advance(minutes(1));
    ASSERT_OK(Demote(on_a_));
    ASSERT_TRUE(world_.AdvanceUntil(
        [&] {
          return a_.Status(image_).front().state == MirrorStatusState::kError;
        },
        minutes(2)));
    world_.Advance(minutes(1));  // both sites have reported since
    world_.ClearCalls();
  }
  /// Calls as the operator does, until an answer is not UNAVAILABLE.
  absl::StatusOr<ResyncResult> ResyncUntilDecided(Daemon& daemon, Force force) {
    for (int call = 0; call < 20; ++call) {
      auto answer = Resync(daemon, force);
      if (!absl::IsUnavailable(answer.status())) return answer;
      world_.Advance(seconds(30));
      keep_();
    }
    return absl::DeadlineExceededError("never decided");
  }
  std::function<void()> keep_ = [] {};  // before each call but the first
};

TEST_F(VerbsTest, ResyncIsRefusedWhileReplicationIsOff) {
  AddPlain();
  EXPECT_THAT(Resync(on_a_, Force::kYes), StatusIs(kFailedPrecondition));
}

TEST_F(ResyncTest, PrimaryIsRefused) {
  EXPECT_THAT(Resync(on_a_, Force::kYes),
              StatusIs(kFailedPrecondition, HasSubstr("primary on this site")));
  EXPECT_EQ(Requests(), 0);
}

TEST_F(ResyncTest, CopyThatFollowsALivingPrimaryIsReady) {
  world_.Advance(minutes(1));
  EXPECT_THAT(Resync(on_b_), IsReady());
  EXPECT_THAT(Resync(on_b_, Force::kYes), IsReady());
  EXPECT_EQ(Requests(), 0);
  EXPECT_EQ(world_.CountCalls("b", "rbd_open"), 0);
}

TEST_F(ResyncTest, BothSitesDemotedAndInStepIsReady) {
  a_.Demote(image_);
  world_.Advance(minutes(2));
  EXPECT_THAT(Resync(on_b_, Force::kYes), IsReady());
  EXPECT_THAT(Resync(on_a_, Force::kYes), IsReady());
  EXPECT_EQ(Requests(), 0);
}

// A demotion that was given back is older than what the peer has written since.
TEST_F(ResyncTest, BothSitesDemotedIsNotInStepWhereTheRoleWasGivenBack) {
  a_.Demote(image_);
  NoteDemotion(a_, image_, {OwnDemotionStep::kGivenBack});
  world_.Advance(minutes(2));
  EXPECT_THAT(Resync(on_a_, Force::kYes).status(),
              StatusIs(kUnavailable, HasSubstr("promote site 'site-b'")));
  EXPECT_EQ(Requests(), 0);
  OwnDemotionMark untold{OwnDemotionStep::kGivenBack};
  untold.told_nobody = true;
  NoteDemotion(a_, image_, untold);
  EXPECT_THAT(Resync(on_a_, Force::kYes).status(),
              StatusIs(kUnavailable, HasSubstr("'site-b' (by force, if it")));
}

// On a busy machine rbd-mirror said so for seconds before it found the split
// brain (16.2.15), and an orchestrator that heard "ready" deleted the resource.
TEST_F(ResyncTest, OwnDemotionUnderALivingPrimaryIsNotInStep) {
  SplitAndDemoteA();
  a_.SetStatus(image_, "", MirrorStatusState::kReplaying,
               R"(replaying, {"replay_state":"idle"})");
  deadline_ = seconds(4);  // not until the next report
  const std::string told = absl::StrCat(
      "waiting for both sites to report, since ", In(seconds(0)),
      "; the call is answered at about ", In(deadline_), " if nothing changes");
  EXPECT_THAT(Resync(on_a_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("waiting for both sites")));
  EXPECT_EQ(clock_text_, told);
  EXPECT_EQ(Requests(), 0);
}

// What b has written since is on b alone: chaos found a planned move that made
// the old content of a primary, and the resync that followed deleted b's.
class AfterADisasterTest : public ResyncTest {
 protected:
  AfterADisasterTest() {
    SplitAndDemoteA();
    EXPECT_OK(b_.Write(image_, 9));
  }
  void ExpectAKeepsItsDemotion(const std::string& because) {
    for (int call = 0; call < 5; ++call) {
      EXPECT_THAT(Promote(on_a_), StatusIs(kUnavailable, HasSubstr(because)));
    }
    EXPECT_FALSE(a_.Info(image_).primary);
    EXPECT_EQ(b_.Data(image_), 9U);
  }
};

TEST_F(AfterADisasterTest, ThePrimaryIsNotDemotedWhileThePeerHasASplitBrain) {
  for (int call = 0; call < 3; ++call) {
    EXPECT_THAT(Demote(on_b_),
                StatusIs(kUnavailable, HasSubstr("reports a split brain")));
  }
  EXPECT_TRUE(b_.Info(image_).primary);
}

TEST_F(AfterADisasterTest, ThePrimaryIsNotDemotedBeforeTheResyncHasCopied) {
  ASSERT_THAT(ResyncUntilDecided(on_a_, Force::kYes), IsNotReady());
  a_.SetMirrorDaemon(DaemonState::kDown);
  a_.SetStatus(image_, "", MirrorStatusState::kStartingReplay,
               "starting replay");
  EXPECT_THAT(Demote(on_b_), StatusIs(kUnavailable));
  EXPECT_TRUE(b_.Info(image_).primary);
}

// It says that each 30 s, before it finds the split brain once more, and has
// the image open then. Nothing on b shows any more how it became primary.
TEST_F(AfterADisasterTest, ThePrimaryIsNotDemotedForOneThatOnlyBeginsToReplay) {
  b_.CreateMirrorSnapshot(image_);
  a_.SetMirrorDaemon(DaemonState::kDown);
  for (int call = 0; call < 5; ++call) {
    world_.Advance(seconds(30));
    b_.SetStatus(image_, a_.mirror_uuid(), MirrorStatusState::kReplaying,
                 R"(replaying, {"local_snapshot_timestamp":1,)"
                 R"("replay_state":"idle"})");
    EXPECT_THAT(Demote(on_b_),
                StatusIs(kUnavailable, HasSubstr("has copied something")));
  }
  EXPECT_TRUE(b_.Info(image_).primary);
}

TEST_F(AfterADisasterTest, WhatAwaitsItsResyncIsNotPromoted) {
  world_.SetCallHook([this](absl::string_view, absl::string_view call, bool) {
    if (call == "rbd_mirror_image_resync") {
      a_.SetMirrorDaemon(DaemonState::kDown);
    }
    return 0;
  });
  ASSERT_THAT(ResyncUntilDecided(on_a_, Force::kYes), IsNotReady());
  NoteDemotion(a_, image_, {OwnDemotionStep::kDemoted});
  b_.Demote(image_);
  world_.Advance(minutes(2));
  ExpectAKeepsItsDemotion("a resync of this image was requested");
}

TEST_F(AfterADisasterTest, AnImageInSplitBrainIsNotPromoted) {
  NoteDemotion(a_, image_, {OwnDemotionStep::kDemoted});
  // Its rbd-mirror has not looked since.
  a_.SetMirrorDaemon(DaemonState::kFrozen);
  b_.Demote(image_);
  world_.Advance(seconds(40));
  ExpectAKeepsItsDemotion("reports a split brain");
}

TEST_F(AfterADisasterTest, ADemotionForAnotherPrimaryIsNotTakenBack) {
  b_.Demote(image_);  // by the rbd command
  world_.Advance(minutes(2));
  ExpectAKeepsItsDemotion("another site was primary");
  // Here nothing tells either which content is the right one.
  EXPECT_THAT(
      Promote(on_b_),
      StatusIs(kUnavailable, HasSubstr("may have been promoted there before")));
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_EQ(b_.Data(image_), 9U);
}

TEST_F(AfterADisasterTest, ThePlannedMoveBackTakesAllAlong) {
  ASSERT_THAT(ResyncUntilDecided(on_a_, Force::kYes), IsNotReady());
  ASSERT_THAT(ResyncUntilDecided(on_a_, Force::kYes), IsNotReady());
  absl::Status demoted = Demote(on_b_);
  for (int call = 0; call < 10 && absl::IsUnavailable(demoted); ++call) {
    demoted = Demote(on_b_);
  }
  ASSERT_OK(demoted);
  EXPECT_OK(Promote(on_a_));
  EXPECT_EQ(a_.Data(image_), 9U);
}

TEST_F(ResyncTest, CopyUnderWayIsNotReadyWithProgress) {
  StopMidCopy(MirrorSnapshotKind::kNonPrimary, DaemonState::kRunning);
  const auto answer = Resync(on_b_, Force::kYes);
  EXPECT_THAT(answer, IsNotReady());
  EXPECT_THAT(answer->message, HasSubstr("of 64 objects copied"));
  EXPECT_EQ(Requests(), 0);
}

TEST_F(ResyncTest, SplitBrainWithoutForceIsAPersonsDecision) {
  SplitAndDemoteA();
  EXPECT_THAT(Resync(on_a_), StatusIs(kFailedPrecondition,
                                      AllOf(HasSubstr("split brain"),
                                            HasSubstr("autoResync: true"))));
  EXPECT_EQ(Requests(), 0);
}

// Each answer that is not OK is Degraded=True/Error in the resource.
TEST_F(ResyncTest, AHealthyMoveIsNoErrorWhileReportsAreAwaited) {
  ASSERT_OK(Demote(on_a_));
  ASSERT_OK(Promote(on_b_));
  ASSERT_OK(b_.Write(image_, 7));
  deadline_ = minutes(3);
  bool ready = false;
  for (int call = 0; call < 10 && !ready; ++call) {
    const auto answer = Resync(on_a_);
    ASSERT_OK(answer);
    ready = answer->ready;
    world_.Advance(seconds(30));
  }
  EXPECT_TRUE(ready);
  EXPECT_EQ(held_worker_, SteadyDuration::zero());
}

TEST_F(ResyncTest, WhatNobodyReportsIsAnsweredAfterTheSettleTime) {
  a_.SetClusterUp(false);
  world_.Advance(minutes(3));
  b_.Promote(image_, Force::kYes);
  a_.SetClusterUp(true);
  a_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(1));
  deadline_ = minutes(10);
  a_.SetStatus(image_, "", MirrorStatusState::kReplaying,
               R"(replaying, {"replay_state":"idle"})");
  ASSERT_OK(Demote(on_a_));
  EXPECT_FALSE(Resync(on_a_).ok());
  EXPECT_LE(took_, seconds(95));
}

TEST_F(ResyncTest, ReportsFromBeforeTheDemotionSayNothing) {
  a_.SetClusterUp(false);
  world_.Advance(minutes(3));
  b_.Promote(image_, Force::kYes);
  a_.SetClusterUp(true);
  world_.Advance(minutes(1));
  ASSERT_OK(Demote(on_a_));
  deadline_ = seconds(4);  // not until the next report
  EXPECT_THAT(Resync(on_a_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("waiting for both sites")));
  EXPECT_EQ(Requests(), 0);
}

TEST_F(ResyncTest, OwnDemotionThatThePeerIsStillCopyingIsNotReady) {
  b_.SetCopySpeed(0.3);
  ASSERT_OK(a_.Write(image_, 2));
  a_.Demote(image_);
  world_.Advance(minutes(2));
  ASSERT_FALSE(Newest(b_).complete);
  const auto answer = Resync(on_a_, Force::kYes);
  EXPECT_THAT(answer, IsNotReady());
  EXPECT_THAT(answer->message, HasSubstr("still copying the demotion"));
  EXPECT_EQ(Requests(), 0);
}

TEST_F(ResyncTest, SplitBrainIsResyncedByForceFromALivingPrimary) {
  ASSERT_OK(a_.Write(image_, 66));
  SplitAndDemoteA();
  ASSERT_OK(b_.Write(image_, 77));
  b_.CreateMirrorSnapshot(image_);
  EXPECT_THAT(Resync(on_a_, Force::kYes), IsNotReady());
  EXPECT_EQ(Requests(), 1);
  for (int call = 0; call < 10; ++call) {
    world_.Advance(seconds(30));
    if (const auto answer = Resync(on_a_, Force::kYes);
        answer.ok() && answer->ready) {
      break;
    }
  }
  EXPECT_THAT(Resync(on_a_, Force::kYes), IsReady());
  EXPECT_EQ(a_.Data(image_), 77U);
}

/// What librbd answers differs between releases.
class ResyncOfDisabledTest : public ResyncTest,
                             public ::testing::WithParamInterface<int> {};

TEST_P(ResyncOfDisabledTest, DisabledInTheSameMomentIsUnavailable) {
  SplitAndDemoteA();
  world_.SetCallHook([&](absl::string_view site, absl::string_view call, bool) {
    if (site != "a" || call != "rbd_mirror_image_resync") return 0;
    a_.SetMirrorImageState(image_, MirrorImageState::kDisabled);
    return GetParam();
  });
  EXPECT_THAT(Resync(on_a_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("was disabled")));
  world_.SetCallHook(nullptr);
  EXPECT_THAT(Resync(on_a_, Force::kYes),
              StatusIs(kFailedPrecondition, HasSubstr("not enabled")));
}

INSTANTIATE_TEST_SUITE_P(Releases, ResyncOfDisabledTest,
                         ::testing::Values(ENOENT, EINVAL));

TEST_F(ResyncTest, NeverASecondRequestUntilTheCopyIsReady) {
  SplitAndDemoteA();
  a_.SetResyncAbsence(seconds(20));
  a_.SetCopySpeed(2);
  ASSERT_THAT(Resync(on_a_, Force::kYes), IsNotReady());
  bool ready = false;
  bool begun = false;
  for (int call = 0; call < 60 && !ready; ++call) {
    world_.Advance(seconds(3));
    const auto answer = Resync(on_a_, Force::kYes);
    if (!answer.ok()) {
      // Whole, and the peer has not reported on the new image yet.
      ASSERT_THAT(answer,
                  StatusIs(kUnavailable, HasSubstr("waiting for both sites")));
      ASSERT_TRUE(Newest(a_).complete);
      continue;
    }
    begun |= !answer->ready;
    ready = answer->ready;
  }
  EXPECT_TRUE(begun);
  EXPECT_TRUE(ready);
  EXPECT_EQ(Requests(), 1);
}

TEST_F(ResyncTest, AbsentImageIsNotReady) {
  SplitAndDemoteA();
  a_.SetResyncAbsence(minutes(5));
  ASSERT_THAT(Resync(on_a_, Force::kYes), IsNotReady());
  ASSERT_TRUE(
      world_.AdvanceUntil([&] { return !a_.HasImage(image_); }, minutes(2)));
  const auto answer = Resync(on_a_, Force::kYes);
  EXPECT_THAT(answer, IsNotReady());
  EXPECT_THAT(answer->message, HasSubstr("absent"));
  EXPECT_EQ(Requests(), 1);
  // It does not come back, and nobody is known to be there to copy from.
  b_.SetClusterUp(false);
  world_.Advance(minutes(2));
  EXPECT_THAT(Resync(on_a_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("absent")));
}

TEST_F(ResyncTest, AbsentImageOfWhichNothingIsKnownIsNoResync) {
  b_.RemoveImage(image_);
  a_.SetClusterUp(false);
  EXPECT_THAT(Resync(on_b_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("absent")));
}

// That the peer is primary cannot be read while the image is away.
TEST_F(ResyncTest, AbsentImageIsUnavailableAfterARestart) {
  SplitAndDemoteA();
  a_.SetResyncAbsence(minutes(5));
  ASSERT_THAT(Resync(on_a_, Force::kYes), IsNotReady());
  ASSERT_TRUE(
      world_.AdvanceUntil([&] { return !a_.HasImage(image_); }, minutes(2)));
  Daemon restarted(world_, pair_, a_);
  for (const Force force : {Force::kNo, Force::kYes}) {
    EXPECT_THAT(Resync(restarted, force),
                StatusIs(kUnavailable, HasSubstr("absent")));
  }
  EXPECT_EQ(Requests(), 1);
  // The copy that is being made then tells.
  a_.SetCopySpeed(1);
  ASSERT_TRUE(
      world_.AdvanceUntil([&] { return a_.HasImage(image_); }, minutes(6)));
  for (int call = 0; call < 60; ++call) {
    const auto answer = Resync(restarted, Force::kYes);
    if (answer.ok() && answer->ready) break;
    if (!answer.ok()) {
      ASSERT_THAT(answer.status(), StatusIs(kUnavailable));
    }
    world_.Advance(seconds(10));
  }
  EXPECT_THAT(Resync(restarted, Force::kYes), IsReady());
  EXPECT_EQ(Requests(), 1);
}

TEST_F(ResyncTest, OwnDemotionInJournalModeThatThePeerStillReplaysIsNotReady) {
  a_.RemoveImage(image_);
  a_.AddImage(MirroredPair::kPool, "", image_);
  a_.EnableMirroring(image_, MirrorMode::kJournal);
  a_.SetImageMetadata(image_, ".rbd-addons.own-demotion", "demoted");
  a_.Demote(image_);
  world_.Advance(minutes(1));
  const auto report = [&](const std::string& peer, MirrorStatusState state,
                          const std::string& text) {
    a_.SetStatus(image_, peer, state, text);
  };
  report("", MirrorStatusState::kUnknown, "remote image is not primary");
  report(b_.mirror_uuid(), MirrorStatusState::kReplaying,
         R"(replaying, {"entries_behind_primary":7})");
  const auto answer = Resync(on_a_, Force::kYes);
  EXPECT_THAT(answer, IsNotReady());
  EXPECT_THAT(answer->message, HasSubstr("still copying the demotion"));
  // It has met the demotion.
  report(b_.mirror_uuid(), MirrorStatusState::kUnknown, "remote image demoted");
  EXPECT_THAT(Resync(on_a_, Force::kYes), IsReady());
  // It does not live.
  report(b_.mirror_uuid(), MirrorStatusState::kReplaying,
         R"(replaying, {"entries_behind_primary":7})");
  Resync(on_a_).IgnoreError();
  world_.Advance(minutes(2));
  EXPECT_THAT(Resync(on_a_), StatusIs(kUnavailable));
  EXPECT_EQ(Requests(), 0);
}

TEST_F(ResyncTest, ImageIdOfTheNewCopyIsWrittenIntoTheJournal) {
  SplitAndDemoteA();
  const std::string before = a_.ImageId(image_);
  ASSERT_THAT(Resync(on_a_, Force::kYes), IsNotReady());
  for (int call = 0; call < 20; ++call) {
    world_.Advance(seconds(30));
    const auto answer = Resync(on_a_, Force::kYes);
    if (answer.ok() && answer->ready) break;
  }
  ASSERT_NE(a_.ImageId(image_), before);
  EXPECT_EQ(Journal(a_)["csi.imageid"], a_.ImageId(image_));
  world_.ClearCalls();
  EXPECT_THAT(Resync(on_a_), IsReady());
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(ResyncTest, DeadSourceIsUnavailableAndTheCopyStays) {
  SplitAndDemoteA();
  b_.SetClusterUp(false);
  world_.Advance(minutes(3));
  EXPECT_THAT(Resync(on_a_, Force::kYes), StatusIs(kUnavailable));
  EXPECT_EQ(Requests(), 0);
  EXPECT_TRUE(a_.HasImage(image_));
}

TEST_F(ResyncTest, SourceThatIsNotPrimaryIsUnavailableAndTheCopyStays) {
  a_.ForceSplitBrain(image_);
  world_.Advance(minutes(1));
  a_.SetMirrorDaemon(DaemonState::kRunning);
  b_.SetMirrorDaemon(DaemonState::kDown);
  a_.SetStatus(image_, b_.mirror_uuid(), MirrorStatusState::kUnknown,
               "remote image is not primary");
  const auto answer = Resync(on_a_, Force::kYes);
  EXPECT_THAT(answer, StatusIs(kUnavailable, HasSubstr("primary")));
  EXPECT_EQ(Requests(), 0);
}

TEST_F(ResyncTest, PendingRequestWhoseSourceDiedIsUnavailable) {
  SplitAndDemoteA();
  a_.SetMirrorDaemon(DaemonState::kDown);  // the request stays
  ASSERT_THAT(Resync(on_a_, Force::kYes), IsNotReady());
  b_.SetClusterUp(false);
  world_.Advance(minutes(3));
  Resync(on_a_, Force::kYes).IgnoreError();
  world_.Advance(minutes(2));
  EXPECT_THAT(Resync(on_a_, Force::kYes), StatusIs(kUnavailable));
  EXPECT_EQ(Requests(), 1);
}

class StandingErrorTest : public ResyncTest {
 protected:
  bool keep_set_ = false;
  /// a was demoted, b promoted by force, and a's rbd-mirror reports `text`
  /// again and again.
  void KeepReporting(const std::string& text) {
    ASSERT_OK(Demote(on_a_));
    b_.Promote(image_, Force::kYes);
    world_.Advance(minutes(1));
    keep_ = [this, text] {
      a_.SetStatus(image_, "", MirrorStatusState::kError, text);
    };
    keep_();
    world_.ClearCalls();
  }
};

TEST_F(StandingErrorTest, OfTheVeryImageThatWasDemotedHereIsResyncedInTheEnd) {
  KeepReporting("failed to do something");
  EXPECT_THAT(Resync(on_a_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("failed to do something")));
  const SteadyTime begin = world_.Now();
  EXPECT_THAT(ResyncUntilDecided(on_a_, Force::kYes), IsNotReady());
  EXPECT_GE(world_.Now() - begin, on_a_.options().settle_time);
  EXPECT_EQ(Requests(), 1);
}

TEST_F(StandingErrorTest, IsAPersonsDecisionWithoutForce) {
  KeepReporting("failed to do something");
  EXPECT_THAT(
      ResyncUntilDecided(on_a_, Force::kNo),
      StatusIs(kFailedPrecondition, AllOf(HasSubstr("failed to do something"),
                                          HasSubstr("autoResync: true"))));
  EXPECT_EQ(Requests(), 0);
}

TEST_F(StandingErrorTest, ReportThatIsNotRewrittenProvesNothing) {
  KeepReporting("failed to do something");
  a_.SetMirrorDaemon(DaemonState::kFrozen);
  keep_ = [] {};
  for (int call = 0; call < 10; ++call) {
    EXPECT_THAT(Resync(on_a_, Force::kYes), StatusIs(kUnavailable));
    world_.Advance(seconds(20));
  }
  EXPECT_EQ(Requests(), 0);
}

TEST_F(StandingErrorTest, ThatPassesByItselfNeverDeletesACopy) {
  for (const std::string text :
       {"failed to open image: (110) Connection timed out",
        "error: No space left on device", "disk quota exceeded",
        "failed to copy snapshot: client is blocklisted"}) {
    SCOPED_TRACE(text);
    if (!keep_set_) KeepReporting(text);
    keep_set_ = true;
    keep_ = [this, text] {
      a_.SetStatus(image_, "", MirrorStatusState::kError, text);
    };
    for (int call = 0; call < 12; ++call) {
      keep_();
      EXPECT_THAT(Resync(on_a_, Force::kYes), StatusIs(kUnavailable));
      world_.Advance(seconds(30));
    }
    EXPECT_EQ(Requests(), 0);
  }
}

TEST_F(ResyncTest, ErrorOfAnotherIncarnationIsReported) {
  world_.Advance(minutes(1));
  b_.SetStatus(image_, "", MirrorStatusState::kError, "failed to do something");
  EXPECT_THAT(Resync(on_b_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("failed to do something")));
  EXPECT_EQ(Requests(), 0);
}

TEST_F(ResyncTest, LocalDaemonThatIsDownIsUnavailable) {
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(1));
  EXPECT_THAT(Resync(on_b_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("rbd-mirror of this site")));
  EXPECT_EQ(Requests(), 0);
}

TEST_F(ResyncTest, DeadPrimaryIsNotReady) {
  a_.SetClusterUp(false);
  world_.Advance(seconds(30));
  Resync(on_b_).IgnoreError();
  world_.Advance(minutes(3));
  const auto answer = Resync(on_b_, Force::kYes);
  EXPECT_FALSE(answer.ok() && answer->ready);
  EXPECT_EQ(Requests(), 0);
}

}  // namespace
}  // namespace addons::testing
