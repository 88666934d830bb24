// Mirror snapshots that this daemon makes, beside a manager that makes its own:
// the model ends a test in which both are made at the same moment.

#include <cerrno>
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "replication/look/move_marks.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"
#include "tests/unit/replication/group/group_fixture.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr char kClient[] = "10.1.2.3:0/77";
constexpr char kMake[] = "rbd_mirror_image_create_snapshot2";
constexpr char kWaits[] =
    "waiting for a moment without the manager's mirror snapshots";

absl::Status AddSchedule(MirroredPair& pair, FakeSite& site,
                         const std::string& level, const std::string& interval,
                         const std::string& start_time = "") {
  return pair.cluster(site)
      ->MgrCommand(absl::StrCat(
          R"({"prefix":"rbd mirror snapshot schedule add","level_spec":")",
          level, R"(","interval":")", interval, R"(","start_time":")",
          start_time, R"("})"))
      .status();
}

class SnapshotTurnTest : public VerbsTest {
 protected:
  SnapshotTurnTest() {
    AddMirrored(kSmallImage);
    // It is not waited whether the workload ends.
    on_a_.options().first_refusal = seconds(0);
    on_a_.options().passing_client = seconds(0);
  }

  void Schedule(FakeSite& site, const std::string& interval) {
    ASSERT_OK(AddSchedule(
        pair_, site, absl::StrCat(MirroredPair::kPool, "/", image_), interval));
  }
  std::string Note(FakeSite& site) {
    const auto metadata = site.ImageMetadata(image_);
    const auto note = metadata.find(kRefusedDemotionKey);
    return note == metadata.end() ? "none" : note->second;
  }
  void SchedulePool(const std::string& interval,
                    const std::string& start_time = "") {
    ASSERT_OK(AddSchedule(pair_, a_, absl::StrCat(MirroredPair::kPool, "/"),
                          interval, start_time));
  }
  /// Where it is no quarter of an hour.
  void ExpectAFullMinuteHoldsNothingUp() {
    a_.AddWatcher(image_, kClient, 4464);
    AwayFromQuarters();
    world_.AdvanceToSecond(0);
    RefuseDemotion();
    EXPECT_LT(took_, seconds(2));
    EXPECT_EQ(Made("a"), 1);
  }
  /// Into a minute that is no quarter of an hour.
  void AwayFromQuarters() {
    world_.AdvanceToSecond(30);
    while (std::chrono::floor<minutes>(world_.WallNow().time_since_epoch()) %
               minutes(15) !=
           minutes(7)) {
      world_.Advance(minutes(1));
    }
  }
  int Made(const std::string& site) { return world_.CountCalls(site, kMake); }
  void RefuseDemotion() {
    EXPECT_THAT(Demote(on_a_),
                StatusIs(kFailedPrecondition, HasSubstr("client.4464")));
  }
};

// --- the note of a refused demotion

TEST_F(SnapshotTurnTest, ANoteTravelsWithTheManagersSnapshot) {
  Schedule(a_, "1m");
  a_.AddWatcher(image_, kClient, 4464);
  world_.AdvanceToSecond(58);
  RefuseDemotion();
  EXPECT_LT(took_, seconds(2));
  EXPECT_EQ(Made("a"), 0);
  EXPECT_THAT(Note(a_), HasSubstr("client.4464"));
  world_.AdvanceToSecond(1);
  EXPECT_EQ(Note(b_), "none");

  a_.CreateMirrorSnapshot(image_);  // the manager's
  world_.Advance(seconds(5));
  EXPECT_THAT(Note(b_), HasSubstr("client.4464"));
  world_.AdvanceToSecond(30);
  world_.ClearCalls();
  RefuseDemotion();
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(SnapshotTurnTest, ANoteThatTheManagerDidNotTakeTravelsWithALaterCalls) {
  Schedule(a_, "1m");
  a_.AddWatcher(image_, kClient, 4464);
  world_.AdvanceToSecond(3);
  RefuseDemotion();
  EXPECT_EQ(Made("a"), 0);
  world_.AdvanceToSecond(50);
  // It had its chance, so its next one is not relied on.
  RefuseDemotion();
  EXPECT_EQ(took_ / seconds(1), 30);
  EXPECT_EQ(held_worker_, SteadyDuration::zero());
  EXPECT_THAT(steps_, Contains(kWaits));
  EXPECT_EQ(Made("a"), 1);
  world_.Advance(seconds(5));
  EXPECT_THAT(Note(b_), HasSubstr("client.4464"));
}

TEST_F(SnapshotTurnTest, BetweenTheManagersMomentsANoteTravelsAtOnce) {
  Schedule(a_, "1m");
  a_.AddWatcher(image_, kClient, 4464);
  world_.AdvanceToSecond(30);
  RefuseDemotion();
  EXPECT_LT(took_, seconds(2));
  EXPECT_EQ(Made("a"), 1);
  world_.Advance(seconds(5));
  EXPECT_THAT(Note(b_), HasSubstr("client.4464"));
}

TEST_F(SnapshotTurnTest, ANoteWhoseSnapshotFailedTravelsLater) {
  a_.AddWatcher(image_, kClient, 4464);
  world_.AdvanceToSecond(30);
  Fail(kMake, ETIMEDOUT, 1);
  RefuseDemotion();
  EXPECT_EQ(Note(b_), "none");
  world_.AdvanceToSecond(30);
  RefuseDemotion();
  world_.Advance(seconds(5));
  EXPECT_THAT(Note(b_), HasSubstr("client.4464"));
}

// Those of the whole cluster cannot be seen without the manager.
TEST_F(SnapshotTurnTest, WithoutAScheduleThatIsKnownAFullMinuteIsWaitedFor) {
  ASSERT_OK(AddSchedule(pair_, a_, "", "1m"));
  a_.AddWatcher(image_, kClient, 4464);
  world_.AdvanceToSecond(50);
  RefuseDemotion();
  EXPECT_EQ(took_ / seconds(1), 30);
  EXPECT_EQ(held_worker_, SteadyDuration::zero());
  EXPECT_EQ(Made("a"), 1);
}

TEST_F(SnapshotTurnTest, WhoHasNoTimeForThatIsAnsweredAtOnce) {
  a_.AddWatcher(image_, kClient, 4464);
  world_.AdvanceToSecond(50);
  deadline_ = seconds(20);
  RefuseDemotion();
  EXPECT_LT(took_, seconds(2));
  EXPECT_EQ(Made("a"), 0);
  EXPECT_THAT(Note(a_), HasSubstr("client.4464"));
}

TEST_F(SnapshotTurnTest, ASeldomScheduleHoldsUpOnlyAtItsMoments) {
  SchedulePool("1h");
  ExpectAFullMinuteHoldsNothingUp();
}

// When Ceph 21 runs a schedule without a start time is known to its manager
// only.
TEST_F(SnapshotTurnTest, ASpreadScheduleHoldsUpAtEachFullMinute) {
  a_.SetManagerOf21(true);
  SchedulePool("5m");
  a_.AddWatcher(image_, kClient, 4464);
  for (int call = 1; call <= 5; ++call) {
    world_.Advance(minutes(6));
    world_.AdvanceToSecond(50);
    RefuseDemotion();
    EXPECT_EQ(took_ / seconds(1), 30) << "call " << call;
    EXPECT_EQ(Made("a"), call);
  }
}

TEST_F(SnapshotTurnTest, AManagerOfWhichNothingIsKnownMaySpreadItsSchedules) {
  SchedulePool("1h");
  a_.AddWatcher(image_, kClient, 4464);
  AwayFromQuarters();
  world_.AdvanceToSecond(50);
  Fail("rados_mon_command", EIO, 100);
  RefuseDemotion();
  EXPECT_EQ(took_ / seconds(1), 30);
  EXPECT_EQ(Made("a"), 1);
}

TEST_F(SnapshotTurnTest, ASpreadScheduleWithAStartTimeRunsAtIt) {
  a_.SetManagerOf21(true);
  SchedulePool("1h", "1970-01-01T00:00:00+00:00");
  ExpectAFullMinuteHoldsNothingUp();
}

TEST_F(SnapshotTurnTest, AWorkloadThatGoesMeanwhileIsDemoted) {
  a_.AddWatcher(image_, kClient, 4464);
  world_.AdvanceToSecond(50);
  world_.Schedule(seconds(10), [this] { a_.RemoveWatcher(image_, 4464); });
  EXPECT_OK(Demote(on_a_));
  EXPECT_FALSE(a_.Info(image_).primary);
}

// --- what a promotion makes up for

TEST_F(SnapshotTurnTest,
       AHalfDonePromotionIsCompletedBetweenTheManagersMoments) {
  a_.Demote(image_);
  world_.Advance(seconds(5));
  b_.LeaveNextSnapshotIncomplete(image_);
  b_.Promote(image_, Force::kNo);
  ASSERT_FALSE(Newest(b_).complete);
  Schedule(b_, "1m");
  world_.AdvanceToSecond(45);
  EXPECT_OK(Promote(on_b_));
  EXPECT_THAT(steps_, Contains(kWaits));
  EXPECT_EQ(Made("b"), 1);
  EXPECT_TRUE(Newest(b_).complete);
}

/// The second of a minute in which the forced promotion begins: in one of three
/// its snapshot is due at the manager's moment.
class RescueTurnTest : public SnapshotTurnTest,
                       public ::testing::WithParamInterface<int> {};

TEST_P(RescueTurnTest, ItsSnapshotIsMadeBetweenTheManagersMoments) {
  on_b_.options().force_without_local_mirror = true;
  StopMidCopy(MirrorSnapshotKind::kNonPrimary, DaemonState::kDown);
  LoseA();
  deadline_ = minutes(3);
  ASSERT_THAT(Promote(on_b_), StatusIs(kFailedPrecondition));
  Schedule(b_, "1m");
  world_.AdvanceToSecond(GetParam());
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_EQ(Made("b"), 1);
  EXPECT_EQ(b_.Data(image_), 1U);
  EXPECT_EQ(b_.SnapshotData(image_, Newest(b_).id), 1U);
}

INSTANTIATE_TEST_SUITE_P(Seconds, RescueTurnTest, ::testing::Values(0, 20, 40));

// --- several makers of our own

// The lease keeps the second daemon out: one snapshot, and one note.
TEST_F(SnapshotTurnTest, TwoDaemonsTellOfARefusalOnce) {
  Daemon other(world_, pair_, a_);
  a_.AddWatcher(image_, kClient, 4464);
  world_.AdvanceToSecond(30);
  RefuseDemotion();
  EXPECT_THAT(Demote(other), StatusIs(kFailedPrecondition));
  EXPECT_EQ(Made("a"), 1);
}

// --- members of a group

TEST_F(GroupTest, MembersInUseAreToldOfBetweenTheManagersMoments) {
  AddMirroredGroup(2);
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_OK(AddSchedule(
        pair_, a_, absl::StrCat(MirroredPair::kPool, "/", Image(i)), "5m"));
    a_.AddWatcher(Image(i), "10.1.2.3:0/77", 4464 + i);
  }
  while (std::chrono::floor<minutes>(world_.WallNow().time_since_epoch()) %
             minutes(5) !=
         minutes(4)) {
    world_.Advance(minutes(1));
  }
  world_.AdvanceToSecond(50);
  EXPECT_THAT(DemoteAll(on_a_), StatusIs(kFailedPrecondition));
  EXPECT_EQ(world_.CountCalls("a", kMake), 2);
}

}  // namespace
}  // namespace addons::testing
