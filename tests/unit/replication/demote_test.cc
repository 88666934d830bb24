// Demotions: refused while in use, repaired when half-done, read back.

#include "replication/steps/demote.h"

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "replication/look/move_marks.h"
#include "replication/look/nvmeof_export.h"
#include "replication/look/record.h"
#include "tests/fakes/local_notes.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

constexpr char kClient[] = "10.1.2.3:0/77";

class DemoteTest : public VerbsTest {
 protected:
  DemoteTest() { AddMirrored(); }

  std::string Metadata(FakeSite& site, const std::string& key) {
    auto pool =
        pair_.cluster(site)->OpenPool(pair_.pool_id(site), "", Access::kRead);
    return (*(*pool)->OpenImageReadOnly(ImageName(image_)))
        ->Metadata(key)
        ->value_or("absent");
  }
  /// Nobody knows what it is, and from second 40 of the minute to its end no
  /// mirror snapshot is made that could tell of it.
  void AClientComesThatMayPass() {
    b_.SetMirrorDaemon(DaemonState::kDown);
    world_.Advance(seconds(35));
    a_.AddWatcher(image_, kClient, 4464);
    world_.AdvanceToSecond(22);
    deadline_ = seconds(55);
  }
  int Demotions(const std::string& site) {
    return world_.CountCalls(site, "rbd_mirror_image_demote");
  }
};

TEST_F(VerbsTest, DemoteIsRefusedWhileReplicationIsOff) {
  AddPlain();
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition,
                                      HasSubstr("replication is not enabled")));
}

TEST_F(DemoteTest, WorkloadThatOpensTheImageInTheLastMomentIsNotDemoted) {
  world_.SetCallHook([this](absl::string_view, absl::string_view call, bool) {
    if (call == "rbd.metadata_set") {
      a_.AddWatcher(image_, "10.0.0.7:0/77", 4711);
    }
    return 0;
  });
  EXPECT_THAT(Demote(on_a_), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      HasSubstr("10.0.0.7:0/77")));
  EXPECT_TRUE(a_.Info(image_).primary);
  EXPECT_EQ(world_.CountCalls("a", "rbd_mirror_image_demote"), 0);
  // It may be gone in a moment: the next call sees.
  EXPECT_EQ(Metadata(a_, kRefusedDemotionKey), "absent");
}

TEST_F(DemoteTest, PrimaryIsDemotedWithAWholeSnapshot) {
  EXPECT_OK(Demote(on_a_));
  EXPECT_FALSE(a_.Info(image_).primary);
  EXPECT_EQ(Newest(a_).kind, MirrorSnapshotKind::kPrimaryDemoted);
  EXPECT_TRUE(Newest(a_).complete);
}

TEST_F(DemoteTest, WhoHasTheLockIsNamed) {
  world_.SetCallHook([this](absl::string_view, absl::string_view call, bool) {
    if (call != "rbd_mirror_image_demote") return 0;
    a_.AddLocker(image_, "10.0.0.9:0/99", 99, FakeSite::LockKind::kExplicit);
    return EROFS;
  });
  EXPECT_THAT(Demote(on_a_),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("client.99 at 10.0.0.9:0/99 has its lock")));
}

TEST_F(DemoteTest, RepeatChangesNothing) {
  ASSERT_OK(Demote(on_a_));
  world_.ClearCalls();
  EXPECT_OK(Demote(on_a_));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_EQ(world_.CountCalls("a", "rbd_open"), 0);
}

TEST_F(DemoteTest, SecondaryIsLeftAlone) {
  world_.ClearCalls();
  EXPECT_OK(Demote(on_b_));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_EQ(world_.CountCalls("b", "rbd_open"), 0);
}

TEST_F(DemoteTest, CreationTimeIsWrittenAsCephCsiWritesIt) {
  ASSERT_OK(Demote(on_a_));
  EXPECT_THAT(Metadata(a_, ".rbd.image.creation_time"),
              ::testing::MatchesRegex("seconds:[0-9]+ nanos:[0-9]+"));
}

TEST_F(DemoteTest, DemotionIsPromotableOnThePeer) {
  ASSERT_OK(a_.Write(image_, 6));
  ASSERT_OK(Demote(on_a_));
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(b_.Data(image_), 6U);
}

// Both sides demoted copy nothing any more: what was written here meanwhile
// would never reach a peer that has not noticed.
TEST_F(DemoteTest, WaitsUntilThePeerFollows) {
  ASSERT_OK(Demote(on_a_));
  a_.SetMirrorDaemon(DaemonState::kDown);
  ASSERT_OK(Promote(on_b_));
  ASSERT_OK(b_.Write(image_, 7));
  EXPECT_THAT(Demote(on_b_),
              StatusIs(kUnavailable, HasSubstr("no peer has noticed")));
  EXPECT_TRUE(b_.Info(image_).primary);

  a_.SetMirrorDaemon(DaemonState::kRunning);
  ASSERT_OK(Demote(on_b_));
  EXPECT_OK(Promote(on_a_));
  EXPECT_EQ(a_.Data(image_), 7U);
}

// An operator walk found it: the peer has handed its role over, and was then
// promoted by force while this site could not be reached. In the split brain
// its rbd-mirror has the image open each 30 s, and says that it replays.
TEST_F(DemoteTest, APeerThatTookItsDemotionBackDoesNotFollow) {
  ASSERT_OK(Demote(on_a_));
  ASSERT_OK(Promote(on_b_));
  world_.SetLinkUp(false);
  ASSERT_OK(b_.Write(image_, 7));
  world_.Advance(minutes(3));
  ASSERT_OK(Promote(on_a_, Force::kYes));
  world_.SetLinkUp(true);
  world_.Advance(minutes(3));
  ASSERT_OK(Demote(on_a_));
  ASSERT_TRUE(world_.AdvanceUntil(
      [this] {
        return a_.Status(image_).front().state == MirrorStatusState::kError;
      },
      minutes(2)));
  for (int call = 0; call < 5; ++call) {
    EXPECT_THAT(Demote(on_b_), StatusIs(kUnavailable));
  }
  EXPECT_TRUE(b_.Info(image_).primary);
  // What is written there is copied once its image was made anew.
  EXPECT_THAT(Resync(on_a_, Force::kYes).status(), IsOk());
  world_.Advance(minutes(2));
  EXPECT_OK(Demote(on_b_));
  EXPECT_OK(Promote(on_a_));
  EXPECT_EQ(a_.Data(image_), 7U);
}

// The next call may come later than the other site waits for a primary that
// lives: without the note it would be forced aside.
TEST_F(DemoteTest, WhoWaitsForAFollowerTellsTheOtherSiteOfIt) {
  ASSERT_OK(Demote(on_a_));
  a_.SetMirrorDaemon(DaemonState::kDown);
  ASSERT_OK(Promote(on_b_));
  EXPECT_THAT(Demote(on_b_), StatusIs(kUnavailable));
  EXPECT_THAT(Metadata(b_, kRefusedDemotionKey), HasSubstr(kAwaitsFollower));

  a_.SetMirrorDaemon(DaemonState::kRunning);
  for (int call = 0; call < 4; ++call) {
    world_.Advance(minutes(1));
    EXPECT_THAT(
        Promote(on_a_),
        StatusIs(kUnavailable, HasSubstr("waits until this site follows it")))
        << call;
  }
  EXPECT_OK(Demote(on_b_));
  EXPECT_OK(Promote(on_a_));
}

TEST_F(DemoteTest, WhoSeesAFollowerInTimeTellsNothing) {
  ASSERT_OK(Demote(on_a_));
  a_.SetMirrorDaemon(DaemonState::kDown);
  ASSERT_OK(Promote(on_b_));
  world_.Schedule(seconds(5),
                  [this] { a_.SetMirrorDaemon(DaemonState::kRunning); });
  deadline_ = minutes(3);
  EXPECT_OK(Demote(on_b_));
  world_.Advance(seconds(5));
  EXPECT_EQ(Metadata(a_, kRefusedDemotionKey), "absent");
}

TEST_F(DemoteTest, AnImageThatWasDemotedMeanwhileIsDone) {
  ASSERT_OK(Demote(on_a_));
  a_.SetMirrorDaemon(DaemonState::kDown);
  ASSERT_OK(Promote(on_b_));
  // It waits for a follower; somebody demotes the image by hand.
  world_.Schedule(seconds(5), [this] {
    b_.Demote(image_);
    world_.ClearCalls();
  });
  EXPECT_OK(Demote(on_b_));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(DemoteTest, ImageInUseIsRefusedByNameAndStaysPrimary) {
  a_.AddWatcher(image_, kClient, 4464);
  world_.ClearCalls();
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("client.4464"), HasSubstr(kClient))));
  EXPECT_EQ(Demotions("a"), 0);
  EXPECT_TRUE(a_.Info(image_).primary);
}

TEST_F(DemoteTest, RefusalIsToldToTheOtherSite) {
  a_.AddWatcher(image_, kClient, 4464);
  a_.AddLocker(image_, kClient, 4464, FakeSite::LockKind::kExplicit);
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  world_.Advance(seconds(5));
  EXPECT_THAT(Metadata(b_, kRefusedDemotionKey),
              AllOf(HasSubstr("client.4464"), HasSubstr(kClient)));
  EXPECT_TRUE(a_.HasLock(image_));
}

// The operator calls again a while later, and more rarely each time.
TEST_F(DemoteTest, TheEndOfAWorkloadIsNoticedWithinTwoSeconds) {
  deadline_ = minutes(3);
  // Between what may be the manager's moments.
  world_.AdvanceToSecond(22);
  a_.AddWatcher(image_, kClient, 4464);
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  EXPECT_EQ(took_, seconds(5));
  EXPECT_NE(Metadata(a_, kRefusedDemotionKey), "absent");
  world_.Schedule(seconds(100), [this] { a_.RemoveWatcher(image_, 4464); });
  EXPECT_OK(Demote(on_a_));
  EXPECT_LE(took_, seconds(102));
  EXPECT_EQ(held_worker_, SteadyDuration::zero());
  EXPECT_FALSE(a_.Info(image_).primary);
}

TEST_F(DemoteTest, AWaitForAWorkloadTellsItsClock) {
  world_.AdvanceToSecond(22);  // between what may be the manager's moments
  a_.AddWatcher(image_, kClient, 4464);
  const auto told = [this](SteadyDuration by) {
    return absl::StrCat("waiting until the workload ends, since ",
                        In(seconds(0)), "; the call is answered at about ",
                        In(by), " if nothing changes");
  };
  const std::string soon = told(seconds(5));
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  EXPECT_EQ(clock_text_, soon);
  // What is told to the other site is no reason to answer soon.
  const std::string late = told(seconds(60));
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  EXPECT_EQ(clock_text_, late);
}

TEST_F(DemoteTest, AWaitForAFollowerTellsItsClock) {
  ASSERT_OK(Demote(on_a_));
  a_.SetMirrorDaemon(DaemonState::kDown);
  ASSERT_OK(Promote(on_b_));
  EXPECT_THAT(Demote(on_b_), StatusIs(kUnavailable));
  EXPECT_GT(took_, seconds(30));
  EXPECT_EQ(clock_text_,
            absl::StrCat("waiting until the peer follows this site, since ",
                         In(-took_), "; the call is answered at about ",
                         In(seconds(0)), " if nothing changes"));
}

TEST_F(DemoteTest, AWaitForAReturnTellsWhenItGoesOn) {
  a_.SetImageMetadata(image_, ".rbd.csi.ceph.com/userid/node-1", "csi-rbd");
  std::vector<std::string> told;
  script_ = [&](TestOperationContext& context) {
    world_.Schedule(seconds(1), [&] { told.push_back(context.clock_text()); });
  };
  const std::string goes_on =
      absl::StrCat("waiting whether the workload comes back, since ",
                   In(seconds(0)), "; the demotion goes on at about ",
                   In(seconds(30)), " if nothing changes");
  EXPECT_OK(Demote(on_a_));
  EXPECT_THAT(told, ElementsAre(goes_on));
}

TEST_F(DemoteTest, AWaitBeyondItsCallersTellsWhenTheyAreAnswered) {
  a_.SetImageMetadata(image_, ".rbd.csi.ceph.com/userid/node-1", "csi-rbd");
  deadline_ = seconds(10);
  const std::string told =
      absl::StrCat("waiting whether the workload comes back, since ",
                   In(seconds(0)), "; the call is answered at about ",
                   In(seconds(10)), " if nothing changes");
  EXPECT_THAT(Demote(on_a_), StatusIs(kUnavailable));
  EXPECT_EQ(clock_text_, told);
}

TEST_F(DemoteTest, AWorkloadThatEndsSoonIsNotToldOf) {
  a_.AddWatcher(image_, kClient, 4464);
  world_.Schedule(seconds(3), [this] { a_.RemoveWatcher(image_, 4464); });
  EXPECT_OK(Demote(on_a_));
  EXPECT_LE(took_, seconds(5));
  EXPECT_EQ(Metadata(b_, kRefusedDemotionKey), "absent");
}

TEST_F(DemoteTest, WhoWaitsForAWorkloadLooksAtItsHeaderAlone) {
  a_.AddWatcher(image_, kClient, 4464);
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  world_.ClearCalls();
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  EXPECT_EQ(took_, seconds(60));
  EXPECT_LE(world_.CountCalls("a", "rbd.mirror_image_status_get"), 5);
}

TEST_F(DemoteTest, AnotherWorkloadMeanwhileIsToldOf) {
  deadline_ = minutes(3);
  // Between what may be the manager's moments.
  world_.AdvanceToSecond(22);
  a_.AddWatcher(image_, kClient, 4464);
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  world_.Schedule(seconds(2), [this] {
    a_.RemoveWatcher(image_, 4464);
    a_.AddWatcher(image_, "10.1.2.4:0/78", 4465);
  });
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("client.4465")));
  EXPECT_LE(took_, seconds(9));
  EXPECT_THAT(Metadata(a_, kRefusedDemotionKey), HasSubstr("client.4465"));
}

// A call that waits for longer than the other site believes the note.
TEST_F(DemoteTest, TheNoteIsRenewedWhileACallWaits) {
  deadline_ = minutes(10);
  a_.AddWatcher(image_, kClient, 4464);
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  const std::string told = Metadata(a_, kRefusedDemotionKey);
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  EXPECT_LE(took_, minutes(4));
  EXPECT_NE(Metadata(a_, kRefusedDemotionKey), told);
}

TEST_F(DemoteTest, WhoHasNoTimeIsAnsweredAtOnce) {
  a_.AddWatcher(image_, kClient, 4464);
  deadline_ = seconds(4);
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  EXPECT_EQ(took_, SteadyDuration::zero());
  EXPECT_NE(Metadata(a_, kRefusedDemotionKey), "absent");
}

// --- who has the image open for a moment only

// rbd_support opens the image at its moment, and where the watch of an
// rbd-mirror that died lives on it waits for that.
TEST_F(DemoteTest, AScheduledSnapshotOfTheManagerIsNoWorkload) {
  ASSERT_OK(pair_.cluster(a_)->MgrCommand(absl::StrCat(
      R"({"prefix":"rbd mirror snapshot schedule add","level_spec":")",
      MirroredPair::kPool, "/", image_, R"(","interval":"1m"})")));
  for (const int second : {0, 25}) {
    world_.AdvanceToSecond(second);
    a_.AddWatcher(image_, "10.1.2.9:0/99", 4164);
    world_.Schedule(seconds(30), [this] { a_.RemoveWatcher(image_, 4164); });
    EXPECT_OK(Demote(on_a_)) << second;
    EXPECT_LE(took_, seconds(31));
    EXPECT_EQ(Metadata(b_, kRefusedDemotionKey), "absent");
    ASSERT_OK(Promote(on_a_));
  }
}

TEST_F(DemoteTest, BetweenTheManagersMomentsAWorkloadIsToldOfSoon) {
  ASSERT_OK(pair_.cluster(a_)->MgrCommand(absl::StrCat(
      R"({"prefix":"rbd mirror snapshot schedule add","level_spec":")",
      MirroredPair::kPool, "/", image_, R"(","interval":"1m"})")));
  world_.AdvanceToSecond(35);
  a_.AddWatcher(image_, kClient, 4464);
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  EXPECT_EQ(took_, seconds(5));
}

// Later there is no moment before the deadline in which a mirror snapshot may
// carry the note, and the other site waits for it only so long.
TEST_F(DemoteTest, WhoMayPassIsWaitedForWhileTheOtherSiteCanStillBeTold) {
  AClientComesThatMayPass();
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("client.4464")));
  EXPECT_THAT(took_ / seconds(1), AllOf(Ge(11), Le(14)));
  EXPECT_EQ(world_.CountCalls("a", "rbd_mirror_image_create_snapshot2"), 1);
}

// Operator walk 204187: it turned to telling the other site in the last moment
// in which that is possible, and a look took longer than the moment.
TEST_F(DemoteTest, WhoMayPassIsNotWaitedForUntilTheVeryLastMomentToTell) {
  AClientComesThatMayPass();
  world_.SetCallHook([this](absl::string_view, absl::string_view call, bool) {
    if (call == "rbd.mirror_image_status_get") world_.Advance(seconds(1));
    return 0;
  });
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("client.4464")));
  EXPECT_EQ(world_.CountCalls("a", "rbd_mirror_image_create_snapshot2"), 1);
}

// While nothing changes there is no look, but there is an answer.
TEST_F(DemoteTest, WhoRestsAnswersInTime) {
  AClientComesThatMayPass();
  on_a_.options().poll_interval = seconds(5);  // the third one is no look
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  EXPECT_LE(took_, seconds(14));
}

TEST_F(DemoteTest, AnRbdMirrorThatDiedIsNoWorkload) {
  // It is not among those of the pool any more.
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(seconds(35));
  a_.AddWatcher(image_, "10.1.2.8:0/98", 4157);
  world_.Schedule(seconds(30), [this] { a_.RemoveWatcher(image_, 4157); });
  b_.SetMirrorDaemon(DaemonState::kDown);
  EXPECT_OK(Demote(on_a_));
  EXPECT_LE(took_, seconds(31));
}

TEST_F(DemoteTest, RefusalIsToldAgainOnlyWhenItIsNewsOrOld) {
  a_.AddWatcher(image_, kClient, 4464);
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  deadline_ = seconds(4);
  const std::string told = Metadata(a_, kRefusedDemotionKey);
  world_.ClearCalls();
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
    world_.Advance(seconds(30));
  }
  EXPECT_EQ(world_.CountMutations(), 0);
  world_.Advance(seconds(60));
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  const std::string again = Metadata(a_, kRefusedDemotionKey);
  EXPECT_NE(again, told);
  EXPECT_EQ(ParseRefusedDemotion(again).since,
            ParseRefusedDemotion(told).since);
  a_.AddWatcher(image_, "10.1.2.4:0/78", 4465);
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  EXPECT_THAT(Metadata(a_, kRefusedDemotionKey), HasSubstr("client.4465"));
}

TEST_F(DemoteTest, NoteOfARefusalGoesWithTheDemotion) {
  a_.AddWatcher(image_, kClient, 4464);
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  a_.RemoveWatcher(image_, 4464);
  EXPECT_OK(Demote(on_a_));
  EXPECT_EQ(Metadata(a_, kRefusedDemotionKey), "absent");
  ASSERT_OK(Promote(on_b_));
  EXPECT_EQ(Metadata(b_, kRefusedDemotionKey), "absent");
}

LocalRecord OfATerm() {
  LocalRecord record;
  record.term = TermNote{1, 1795747522};
  record.promoted_from = 1;
  record.schedule = R"({"interval":"5m"})";
  return record;
}

// Nothing that is left in a later term would show that it is about this one.
TEST_F(DemoteTest, WhatIsNotedOfTheTermGoesWithTheDemotion) {
  Note(a_, image_, OfATerm());
  const int before = world_.CountCalls("a", "rbd.metadata_set");
  ASSERT_OK(Demote(on_a_));
  const LocalRecord after = Noted(a_, image_);
  EXPECT_FALSE(after.term.has_value());
  EXPECT_FALSE(after.promoted_from.has_value());
  EXPECT_TRUE(after.demotion.has_value());
  EXPECT_EQ(after.schedule, OfATerm().schedule);
  // In one call, with what ceph-csi writes.
  EXPECT_EQ(world_.CountCalls("a", "rbd.metadata_set") - before, 1);
}

TEST_F(DemoteTest, OnlyAPromotionThatFollowsADemotionNotesIt) {
  ASSERT_OK(Demote(on_a_));
  ASSERT_OK(Promote(on_b_));
  EXPECT_TRUE(Noted(b_, image_).promoted_from.has_value());
  ASSERT_OK(Promote(on_a_, Force::kYes));
  EXPECT_FALSE(Noted(a_, image_).promoted_from.has_value());
}

TEST_F(DemoteTest, NotesOfATermThatWasEndedByHandGoWithTheNextPromotion) {
  for (const Force force : {Force::kNo, Force::kYes}) {
    LocalRecord record = OfATerm();
    record.first_copy_awaited = true;
    Note(a_, image_, record);
    a_.Demote(image_);
    ASSERT_OK(Promote(on_a_, force));
    const LocalRecord after = Noted(a_, image_);
    EXPECT_FALSE(after.term.has_value());
    EXPECT_FALSE(after.promoted_from.has_value());
    EXPECT_FALSE(after.first_copy_awaited);
  }
}

TEST_F(DemoteTest, WhatIsNotedOfTheTermStaysWhereTheDemotionIsRefused) {
  Note(a_, image_, OfATerm());
  world_.SetCallHook([this](absl::string_view, absl::string_view call, bool) {
    if (call == "rbd.metadata_set") {
      a_.AddWatcher(image_, kClient, 4465);
    }
    return 0;
  });
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  EXPECT_EQ(Demotions("a"), 0);
  EXPECT_EQ(Noted(a_, image_), OfATerm());
}

// Of an earlier version.
TEST_F(DemoteTest, FormerNotesAreReadAndGoWithTheFirstRecord) {
  a_.SetImageMetadata(image_, kFirstCopyKey, a_.ImageId(image_));
  a_.SetImageMetadata(image_, kPrimaryTermKey, "of this term");
  EXPECT_TRUE(Noted(a_, image_).first_copy_awaited);
  ASSERT_OK(Demote(on_a_));
  const auto left = a_.ImageMetadata(image_);
  for (const char* const key : kFormerLocalKeys) {
    EXPECT_FALSE(left.contains(key)) << key;
  }
  EXPECT_TRUE(Noted(a_, image_).demotion.has_value());
  EXPECT_TRUE(Noted(a_, image_).first_copy_awaited);
}

TEST_F(DemoteTest, NoteOfARefusalGoesWithAPromotion) {
  a_.AddWatcher(image_, kClient, 4464);
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  EXPECT_OK(Promote(on_a_));
  EXPECT_EQ(Metadata(a_, kRefusedDemotionKey), "absent");
}

// The wait on the other site ends with the next copy that it gets.
TEST_F(DemoteTest, TheNextCopyAfterThatPromotionTakesTheNoteAway) {
  a_.AddWatcher(image_, kClient, 4464);
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  world_.Advance(seconds(60));
  ASSERT_NE(Metadata(b_, kRefusedDemotionKey), "absent");
  EXPECT_OK(Promote(on_a_));
  EXPECT_NE(Metadata(b_, kRefusedDemotionKey), "absent");
  a_.CreateMirrorSnapshot(image_);
  world_.Advance(seconds(60));
  EXPECT_EQ(Metadata(b_, kRefusedDemotionKey), "absent");
  a_.SetClusterUp(false);
  world_.Advance(std::chrono::minutes(2));
  // Silence is all that is waited for, and not that A is to be demoted.
  EXPECT_THAT(Promote(on_b_),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("; no sign of site 'site-a'")));
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kFailedPrecondition, HasSubstr("no sign of life")));
}

TEST_F(DemoteTest, RefusalStandsAlsoWhenItCannotBeTold) {
  a_.AddWatcher(image_, kClient, 4464);
  Fail("rbd.metadata_set", EIO, 100);
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("client.4464")));
}

TEST_F(DemoteTest, EachClientIsNamed) {
  a_.AddWatcher(image_, kClient, 4464);
  a_.AddWatcher(image_, "10.1.2.4:0/78", 4465);
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("client.4464"), HasSubstr("client.4465"),
                             HasSubstr("10.1.2.4:0/78"))));
}

// No pod has to use the volume: the gateway keeps it open.
TEST_F(DemoteTest, WhereAGatewayExportsTheImageIsTold) {
  for (const auto& [key, value] :
       {std::pair("SubsystemNQN", "nqn.site-a"), std::pair("NamespaceID", "3"),
        std::pair("GatewayAddress", "10.1.2.3")}) {
    a_.SetImageMetadata(image_, absl::StrCat(kNvmeofPrefix, key), value);
  }
  a_.AddWatcher(image_, kClient, 4464);
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr(kClient),
                             HasSubstr("still exports it, remove namespace 3 "
                                       "of subsystem 'nqn.site-a' at the "
                                       "NVMe-oF gateway '10.1.2.3'"))));
  a_.RemoveWatcher(image_, 4464);
  EXPECT_OK(Demote(on_a_));
}

TEST_F(DemoteTest, MirrorDaemonsAreNoWorkload) {
  auto pool = pair_.cluster(a_)->OpenPool(pair_.pool_id(a_), "", Access::kRead);
  ASSERT_FALSE(
      (*(*pool)->OpenImageReadOnly(ImageName(image_)))->Watchers()->empty())
      << "the peer's rbd-mirror should watch the image";
  EXPECT_OK(Demote(on_a_));
}

TEST_F(DemoteTest, MarkOfAPublishedVolumeDelaysByTheWatchTimeout) {
  a_.SetImageMetadata(image_, ".rbd.csi.ceph.com/clientaddress/node-1",
                      kClient);
  EXPECT_OK(Demote(on_a_));
  EXPECT_GE(took_, seconds(30));
  EXPECT_LE(took_, seconds(40));
  EXPECT_FALSE(a_.Info(image_).primary);
}

TEST_F(DemoteTest, ClientThatComesBackDuringThatTimeStopsTheDemotion) {
  a_.SetImageMetadata(image_, ".rbd.csi.ceph.com/userid/node-1", "csi-rbd");
  world_.Schedule(seconds(10),
                  [this] { a_.AddWatcher(image_, kClient, 4464); });
  world_.ClearCalls();
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("client.4464")));
  EXPECT_EQ(Demotions("a"), 0);
}

TEST_F(DemoteTest, ThatTimeBeginsAnewWhenTheClientHasGoneAgain) {
  deadline_ = minutes(3);
  a_.SetImageMetadata(image_, ".rbd.csi.ceph.com/userid/node-1", "csi-rbd");
  world_.Schedule(seconds(10),
                  [this] { a_.AddWatcher(image_, kClient, 4464); });
  world_.Schedule(seconds(33), [this] { a_.RemoveWatcher(image_, 4464); });
  EXPECT_OK(Demote(on_a_));
  EXPECT_GE(took_, seconds(63));
}

TEST_F(DemoteTest, CallerThatLeavesDuringThatTimeStopsTheDemotion) {
  a_.SetImageMetadata(image_, ".rbd.csi.ceph.com/userid/node-1", "csi-rbd");
  deadline_ = seconds(10);
  world_.ClearCalls();
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kUnavailable, HasSubstr("marked as published")));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(DemoteTest, IncompleteDemotionIsRepairedWithinTheCall) {
  a_.LeaveNextSnapshotIncomplete(image_);
  EXPECT_OK(Demote(on_a_));
  EXPECT_FALSE(a_.Info(image_).primary);
  EXPECT_EQ(Newest(a_).kind, MirrorSnapshotKind::kPrimaryDemoted);
  EXPECT_TRUE(Newest(a_).complete);
}

TEST_F(DemoteTest, IncompleteDemotionOfAnEarlierCallIsRepaired) {
  a_.LeaveNextSnapshotIncomplete(image_);
  a_.Demote(image_);
  world_.Advance(seconds(40));
  EXPECT_OK(Demote(on_a_));
  EXPECT_EQ(Newest(a_).kind, MirrorSnapshotKind::kPrimaryDemoted);
  EXPECT_TRUE(Newest(a_).complete);
  ASSERT_OK(Promote(on_b_));
  EXPECT_EQ(b_.Data(image_), 1U);
}

TEST_F(DemoteTest, RbdMirrorThatARepairBlocklistedIsNoDeadPeer) {
  a_.LeaveNextSnapshotIncomplete(image_);
  a_.Demote(image_);
  world_.Advance(seconds(40));
  BlocklistMirrorAfter("rbd_mirror_image_promote");
  EXPECT_OK(Demote(on_a_));
  EXPECT_TRUE(Disturbed(on_a_));
}

TEST_F(DemoteTest, IncompleteDemotionIsLeftAloneWhenThePeerIsPrimary) {
  a_.LeaveNextSnapshotIncomplete(image_);
  a_.Demote(image_);
  b_.Promote(image_, Force::kYes);
  world_.Advance(seconds(65));
  world_.ClearCalls();
  EXPECT_THAT(Demote(on_a_), StatusIs(kUnavailable, HasSubstr("is primary")));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(DemoteTest, IncompleteDemotionIsLeftAloneWhenThePeerWasPrimaryAtLast) {
  a_.LeaveNextSnapshotIncomplete(image_);
  a_.Demote(image_);
  b_.Promote(image_, Force::kYes);
  world_.Advance(seconds(65));
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(std::chrono::minutes(3));
  world_.ClearCalls();
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kUnavailable, AllOf(HasSubstr("was primary"),
                                           HasSubstr("is silent now"))));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(DemoteTest, ADemotionThatLeftAnotherSnapshotIsNoSuccess) {
  // librbd answers success each time, and leaves no demotion of this site.
  world_.SetCallHook(nullptr,
                     [this](absl::string_view, absl::string_view call, bool) {
                       if (call == "rbd_mirror_image_demote") {
                         a_.RemoveMirrorSnapshots(image_);
                       }
                       return 0;
                     });
  EXPECT_THAT(
      Demote(on_a_),
      StatusIs(kUnavailable,
               HasSubstr("none of its mirror snapshots is a demotion")));
}

TEST_F(DemoteTest, ACopyThatArrivedSinceDoesNotHideTheDemotion) {
  world_.SetCallHook(nullptr,
                     [this](absl::string_view, absl::string_view call, bool) {
                       if (call == "rbd_mirror_image_demote") {
                         a_.AddCopiedSnapshot(image_);
                       }
                       return 0;
                     });
  EXPECT_OK(Demote(on_a_));
}

TEST_F(DemoteTest, DemotionWithoutEffectIsNoSuccess) {
  // The call reports success each time, but the image stays primary.
  world_.SetCallHook(nullptr,
                     [this](absl::string_view, absl::string_view call, bool) {
                       if (call == "rbd_mirror_image_demote") {
                         a_.Promote(image_, Force::kNo);
                       }
                       return 0;
                     });
  EXPECT_THAT(Demote(on_a_), StatusIs(kUnavailable, HasSubstr("primary")));
}

// A promotion has died half-way; a later one here must know of this demotion.
TEST_F(DemoteTest, APrimaryThatRefusesWritesLeavesTheNoteOfItsDemotion) {
  a_.RefuseWrites(image_);
  EXPECT_OK(Demote(on_a_));
  EXPECT_FALSE(a_.Info(image_).primary);
  EXPECT_TRUE(Noted(a_, image_).demotion.has_value());
}

TEST_F(DemoteTest, MissingImageIsNotFound) {
  a_.RemoveImage(image_);
  EXPECT_THAT(Demote(on_a_), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(DemoteTest, DeadPeerDoesNotMatter) {
  b_.SetClusterUp(false);
  EXPECT_OK(Demote(on_a_));
  EXPECT_FALSE(a_.Info(image_).primary);
  EXPECT_EQ(Demotions("a"), 1);
}

// The peer of the fake does not copy in journal mode, so nobody follows.
TEST_F(DemoteTest, JournalModeWaitsForAFollowerAsWell) {
  a_.RemoveImage(image_);
  a_.AddImage(MirroredPair::kPool, "", image_);
  a_.EnableMirroring(image_, MirrorMode::kJournal);
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kUnavailable, HasSubstr("no peer has noticed")));
  EXPECT_TRUE(a_.Info(image_).primary);
}

TEST_F(DemoteTest, BlocklistedClientIsReplacedBeforeTheFirstChange) {
  ASSERT_OK(Demote(on_b_));  // connects
  ASSERT_TRUE(a_.Info(image_).primary);
  EXPECT_OK(Enable(on_a_));  // connects
  a_.BlocklistClients();
  EXPECT_OK(Demote(on_a_));
}

}  // namespace
}  // namespace addons::testing
