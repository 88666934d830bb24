// What check-failover says is what the real call answers a second later, for
// every row of the promote table.

#include "inspection/failover_check.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ceph/mirror.h"
#include "replication/session.h"
#include "tests/unit/replication/verbs_fixture.h"
#include "tests/unit/replication/without_numbers.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class FailoverCheckTest : public VerbsTest {
 protected:
  using VerbsTest::VerbsTest;

  absl::StatusOr<std::vector<FailoverFinding>> CheckAll(
      Daemon& daemon, const std::vector<std::string>& ids,
      std::optional<minutes> interval = std::nullopt) {
    std::vector<VolumeTarget> targets;
    for (const std::string& id : ids) targets.push_back(daemon.Target(id));
    absl::StatusOr<std::vector<FailoverFinding>> found =
        absl::UnknownError("not called");
    (void)Run([&](OperationContext& context) {
      found = CheckFailover(context, daemon.environment(), targets, interval);
      return found.status();
    });
    EXPECT_EQ(mutations_begun_, 0);
    return found;
  }
  PromoteForecast Check(Daemon& daemon,
                        std::optional<minutes> interval = std::nullopt) {
    const auto found = CheckAll(daemon, {id_}, interval);
    EXPECT_OK(found);
    if (!found.ok() || found->size() != 1) return {};
    return found->front().forecast;
  }
  absl::StatusOr<std::vector<FailoverFinding>> CheckPool(Daemon& daemon) {
    const auto opened =
        OpenVolume(daemon.environment(), daemon.Target(id_), Access::kRead,
                   RealClock().Now() + minutes(1));
    if (!opened.ok()) return opened.status();
    absl::StatusOr<std::vector<FailoverFinding>> found =
        absl::UnknownError("not called");
    (void)Run([&](OperationContext& context) {
      found = CheckFailoverOfPool(context, daemon.environment(), opened->volume,
                                  std::nullopt);
      return found.status();
    });
    EXPECT_EQ(mutations_begun_, 0);
    return found;
  }

  /// Calls that wait for so long, as an operator repeats them.
  void WaitFor(Daemon& daemon, SteadyDuration time,
               const ParameterMap& parameters = {}) {
    const SteadyTime end = world_.Now() + time;
    while (world_.Now() < end) {
      deadline_ = std::min<SteadyDuration>(seconds(30), end - world_.Now());
      ASSERT_THAT(Promote(daemon, Force::kNo, parameters),
                  StatusIs(absl::StatusCode::kUnavailable));
    }
  }
};

// --- every row of the table

/// One row of the promote table, and how it comes about.
struct Row {
  std::string name;
  void (*prepare)(class PromoteRowTest& test) = nullptr;
  Force force = Force::kNo;
  Verdict verdict = Verdict::kUnclear;
  std::string reason;  // a part of it
  bool on_a = false;   // which daemon is asked; else that of b
  bool one_way = false;
  std::string interval{};  // of the class: "1m"
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class PromoteRowTest : public FailoverCheckTest,
                       public ::testing::WithParamInterface<Row> {
 public:
  PromoteRowTest()
      : FailoverCheckTest(MirroredPairOptions{.one_way = GetParam().one_way}) {}

  using FailoverCheckTest::a_;
  using FailoverCheckTest::AddMirrored;
  using FailoverCheckTest::AddPlain;
  using FailoverCheckTest::b_;
  using FailoverCheckTest::deadline_;
  using FailoverCheckTest::Demote;
  using FailoverCheckTest::image_;
  using FailoverCheckTest::kSmallImage;
  using FailoverCheckTest::LoseA;
  using FailoverCheckTest::Newest;
  using FailoverCheckTest::on_a_;
  using FailoverCheckTest::on_b_;
  using FailoverCheckTest::pair_;
  using FailoverCheckTest::Promote;
  using FailoverCheckTest::StopMidCopy;
  using FailoverCheckTest::WaitFor;
  using FailoverCheckTest::world_;

  void DemotionArrives() {
    ASSERT_TRUE(world_.AdvanceUntil(
        [this] { return Newest(b_).demoted() && Newest(b_).complete; },
        seconds(60)));
  }
  /// Site a has demoted itself, b has that, and a takes it back.
  void GiveMoveUp() {
    b_.SetNoticeDelay(minutes(4));
    a_.SetNoticeDelay(seconds(28));
    ASSERT_OK(Demote(on_a_));
    DemotionArrives();
    world_.Advance(seconds(40));
    on_a_.options().first_answer = seconds(5);
    while (!a_.Info(image_).primary) (void)Promote(on_a_);
  }
  void JournalCopy(const std::string& next_tag) {
    AddPlain();
    a_.EnableMirroring(image_, MirrorMode::kJournal);
    a_.Demote(image_);
    a_.SetOmap(MirroredPair::kPool, "",
               absl::StrCat("journal.", a_.ImageId(image_)),
               {{"next_tag_tid", next_tag + std::string(7, '\0')}});
  }
};

TEST_P(PromoteRowTest, TheCallAnswersASecondLaterWhatTheCheckSays) {
  const Row& row = GetParam();
  row.prepare(*this);
  if (HasFatalFailure()) return;
  Daemon& daemon = row.on_a ? on_a_ : on_b_;
  const ParameterMap parameters =
      row.interval.empty() ? ParameterMap()
                           : ParameterMap{{"schedulingInterval", row.interval}};
  std::optional<minutes> interval;
  if (!row.interval.empty()) interval = minutes(1);

  const PromoteForecast both = Check(daemon, interval);
  const Forecast& said = row.force == Force::kYes ? both.forced : both.planned;
  EXPECT_EQ(said.verdict, row.verdict) << said.reason;
  EXPECT_THAT(said.reason, HasSubstr(row.reason));

  world_.Advance(seconds(1));
  deadline_ = seconds(1);
  const absl::Status answer = Promote(daemon, row.force, parameters);
  EXPECT_EQ(answer.code(), said.code) << answer.ToString();
  if (said.verdict == Verdict::kWorks) {
    EXPECT_OK(answer);
  } else {
    EXPECT_THAT(WithoutNumbers(answer.message()),
                HasSubstr(WithoutNumbers(said.reason)));
  }
}

using Test = PromoteRowTest;

const Row kRows[] = {
    {"Off", [](Test& t) { t.AddPlain(); }, Force::kNo, Verdict::kRefuses,
     "replication is not enabled", true},
    {"OffByForce", [](Test& t) { t.AddPlain(); }, Force::kYes,
     Verdict::kRefuses, "replication is not enabled", true},
    {"Disabling",
     [](Test& t) {
       t.AddMirrored();
       t.b_.SetMirrorImageState(t.image_, MirrorImageState::kDisabling);
     },
     Force::kNo, Verdict::kWaits, "replication is being disabled"},
    {"StateNotKnown",
     [](Test& t) {
       t.AddMirrored();
       t.b_.SetMirrorImageState(t.image_, MirrorImageState::kUnknown);
     },
     Force::kNo, Verdict::kUnclear, "does not know"},
    {"ReportNotKnown",
     [](Test& t) {
       t.AddMirrored();
       t.world_.Advance(seconds(40));
       t.a_.Demote(t.image_);
       t.world_.Advance(minutes(1));
       t.a_.SetMirrorDaemon(DaemonState::kFrozen);
       t.b_.SetStatus(t.image_, t.a_.mirror_uuid(),
                      MirrorStatusState::kUnrecognized, "something new");
     },
     Force::kNo, Verdict::kWaits, "'something new'"},
    {"ImageMissing",
     [](Test& t) {
       t.AddMirrored();
       t.b_.SetMirrorDaemon(DaemonState::kDown);
       t.b_.RemoveImage(t.image_);
     },
     Force::kNo, Verdict::kRefuses, "does not exist"},
    {"Primary", [](Test& t) { t.AddMirrored(); }, Force::kNo, Verdict::kWorks,
     "primary already", true},
    {"PrimaryByForce", [](Test& t) { t.AddMirrored(); }, Force::kYes,
     Verdict::kWorks, "primary already", true},
    {"OwnDemotionTakenBack",
     [](Test& t) {
       t.AddMirrored();
       t.GiveMoveUp();
     },
     Force::kNo, Verdict::kWaits, "follows it", true},
    {"PeerPromotedMeanwhile",
     [](Test& t) {
       t.AddMirrored();
       t.GiveMoveUp();
       t.deadline_ = minutes(2);
       ASSERT_OK(t.Promote(t.on_b_));
       t.world_.Advance(seconds(40));
     },
     Force::kNo, Verdict::kRefuses, "was promoted while this site", true},
    {"PeerPromotedMeanwhileByForce",
     [](Test& t) {
       t.AddMirrored();
       t.GiveMoveUp();
       t.deadline_ = minutes(2);
       ASSERT_OK(t.Promote(t.on_b_));
       t.world_.Advance(seconds(40));
     },
     Force::kYes, Verdict::kRefuses, "it is primary as well", true},
    {"DemotionArrived",
     [](Test& t) {
       t.AddMirrored();
       t.a_.Demote(t.image_);
       t.DemotionArrives();
       t.world_.Advance(minutes(1));
     },
     Force::kNo, Verdict::kWorks, "nothing is lost"},
    {"DemotionArrivedByForce",
     [](Test& t) {
       t.AddMirrored();
       t.a_.Demote(t.image_);
       t.DemotionArrives();
       t.world_.Advance(minutes(1));
     },
     Force::kYes, Verdict::kWorks, "nothing is lost"},
    {"DemotionArrivedFromADeadSite",
     [](Test& t) {
       t.AddMirrored();
       t.a_.Demote(t.image_);
       t.DemotionArrives();
       t.world_.Advance(minutes(1));
       t.LoseA();
     },
     Force::kNo, Verdict::kWorks, "nothing is lost"},
    {"OwnDemotionAwaitsReport",
     [](Test& t) {
       t.AddMirrored();
       ASSERT_OK(t.Demote(t.on_a_));
       t.world_.Advance(seconds(40));
     },
     Force::kNo, Verdict::kWaits, "waiting for the peer's next report", true},
    {"OwnDemotionAndNobodyToAsk",
     [](Test& t) {
       t.AddMirrored();
       ASSERT_OK(t.Demote(t.on_a_));
       t.world_.Advance(minutes(1));
       t.b_.SetClusterUp(false);
       t.world_.Advance(minutes(3));
     },
     // Nobody has listened yet.
     Force::kNo, Verdict::kWaits, "waiting for the peer's next report", true},
    {"PeerTookTheRoleBack",
     [](Test& t) {
       t.AddMirrored();
       t.a_.Demote(t.image_);
       t.DemotionArrives();
       t.b_.SetMirrorDaemon(DaemonState::kDown);
       t.a_.Promote(t.image_, Force::kNo);
       t.world_.Advance(seconds(35));
       t.LoseA();
       t.on_b_.options().force_without_local_mirror = true;
       t.WaitFor(t.on_b_, seconds(89));
       t.world_.Advance(seconds(3));
     },
     Force::kNo, Verdict::kRefuses, "the peer claimed to be primary after it"},
    {"PeerPrimary", [](Test& t) { t.AddMirrored(); }, Force::kNo,
     Verdict::kWaits, "still reports its image as primary: demote it there"},
    {"PeerPrimaryForTheTakeoverTime",
     [](Test& t) {
       t.AddMirrored();
       t.WaitFor(t.on_b_, seconds(178));
       t.world_.Advance(seconds(4));
     },
     Force::kNo, Verdict::kRefuses, "has been primary for"},
    {"WorkloadOnThePeer",
     [](Test& t) {
       t.AddMirrored();
       t.a_.AddWatcher(t.image_, "10.1.2.3:0/77", 4464);
       t.deadline_ = seconds(30);
       ASSERT_THAT(t.Demote(t.on_a_),
                   StatusIs(absl::StatusCode::kFailedPrecondition));
       t.world_.Advance(seconds(5));
     },
     Force::kNo, Verdict::kWaits, "client.4464"},
    {"LocalMirrorDown",
     [](Test& t) {
       t.AddMirrored();
       t.a_.SetMirrorDaemon(DaemonState::kDown);
       t.b_.SetMirrorDaemon(DaemonState::kDown);
       t.world_.Advance(minutes(3));
       t.WaitFor(t.on_b_, minutes(3));
     },
     Force::kNo, Verdict::kWaits, "start rbd-mirror here"},
    {"DeadSiteIsNotRecognisedAtOnce",
     [](Test& t) {
       t.AddMirrored();
       t.LoseA();
     },
     Force::kNo, Verdict::kWaits, ""},
    {"NoSignOfLife",
     [](Test& t) {
       t.AddMirrored();
       t.LoseA();
       t.WaitFor(t.on_b_, seconds(89));
       t.world_.Advance(seconds(3));
     },
     Force::kNo, Verdict::kRefuses, "no sign of life from the other side"},
    {"ForcedFromADeadSite",
     [](Test& t) {
       t.AddMirrored();
       t.LoseA();
     },
     Force::kYes, Verdict::kWorks, "returns to the state of"},
    {"ForcedFromALivingPrimary", [](Test& t) { t.AddMirrored(); }, Force::kYes,
     Verdict::kWorks, "loses what was written since"},
    {"HalfADemotion",
     [](Test& t) {
       t.AddMirrored(Test::kSmallImage);
       t.StopMidCopy(MirrorSnapshotKind::kNonPrimaryDemoted,
                     DaemonState::kFrozen);
     },
     Force::kNo, Verdict::kWaits, "of 32 objects copied"},
    {"HalfADemotionByForce",
     [](Test& t) {
       t.AddMirrored(Test::kSmallImage);
       t.StopMidCopy(MirrorSnapshotKind::kNonPrimaryDemoted,
                     DaemonState::kRunning);
       t.LoseA();
     },
     Force::kYes, Verdict::kWorks, "returns to"},
    {"HalfACopyByForce",
     [](Test& t) {
       t.AddMirrored(Test::kSmallImage);
       t.StopMidCopy(MirrorSnapshotKind::kNonPrimary, DaemonState::kRunning);
       t.LoseA();
     },
     Force::kYes, Verdict::kWorks, "returns to"},
    {"FirstCopyByForce",
     [](Test& t) {
       t.b_.SetCopySpeed(1);
       t.AddPlain();
       ASSERT_OK(t.a_.Write(t.image_, 1));
       t.a_.EnableMirroring(t.image_);
       ASSERT_TRUE(t.world_.AdvanceUntil(
           [&] {
             return t.b_.HasImage(t.image_) &&
                    !t.b_.Snapshots(t.image_).empty();
           },
           seconds(30)));
       t.pair_.AddJournal(t.b_, kUuid);
       t.LoseA();
     },
     Force::kYes, Verdict::kRefuses, "nothing to promote"},
    {"JournalFirstCopyByForce",
     [](Test& t) { t.JournalCopy(std::string(1, '\1')); }, Force::kYes,
     Verdict::kRefuses, "first copy", true},
    {"JournalByForce", [](Test& t) { t.JournalCopy(std::string(1, '\2')); },
     Force::kYes, Verdict::kWorks, "the last entry replayed", true},
    {"OneWay",
     [](Test& t) {
       t.AddMirrored();
       t.LoseA();
     },
     Force::kNo, Verdict::kWaits, "mirroring is one-way", false, true},
    {"OneWayNothingForThreeIntervals",
     [](Test& t) {
       t.AddMirrored();
       t.a_.CreateMirrorSnapshot(t.image_);
       t.world_.Advance(seconds(10));
       t.WaitFor(t.on_b_, seconds(170), {{"schedulingInterval", "1m"}});
       t.world_.Advance(seconds(50));
     },
     Force::kNo, Verdict::kRefuses, "no sign of life", false, true, "1m"},
};

INSTANTIATE_TEST_SUITE_P(Table, PromoteRowTest, ::testing::ValuesIn(kRows),
                         [](const auto& tested) { return tested.param.name; });

// --- what a check leaves

TEST_F(FailoverCheckTest, ChecksAreNoCallsThatWait) {
  AddMirrored();
  // A monitoring system asks all day long.
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(Check(on_b_).planned.verdict, Verdict::kWaits);
    world_.Advance(seconds(10));
  }
  // The living primary has its takeover time from the first call on.
  WaitFor(on_b_, seconds(170));
  deadline_ = seconds(20);
  EXPECT_THAT(Promote(on_b_), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(FailoverCheckTest, ChecksDoNotKeepASeriesAlive) {
  AddMirrored();
  WaitFor(on_b_, seconds(170));
  for (int i = 0; i < 7; ++i) {
    world_.Advance(seconds(10));
    (void)Check(on_b_);
  }
  deadline_ = seconds(60);
  EXPECT_THAT(Promote(on_b_), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(FailoverCheckTest, ItTellsWhatForcingLoses) {
  AddMirrored();
  PromoteForecast forecast = Check(on_b_);
  EXPECT_THAT(forecast.returns_to, HasSubstr("the state of"));
  EXPECT_TRUE(forecast.returns_to_time.has_value());
  EXPECT_FALSE(forecast.lost_bytes.has_value());
  a_.Demote(image_);
  world_.Advance(minutes(2));
  forecast = Check(on_b_);
  EXPECT_THAT(forecast.returns_to, IsEmpty());
  EXPECT_EQ(forecast.lost_bytes, 0U);
}

TEST_F(FailoverCheckTest, HalfAForcedPromotionIsUnclear) {
  AddMirrored(kSmallImage);
  StopMidCopy(MirrorSnapshotKind::kNonPrimary, DaemonState::kRunning);
  LoseA();
  // It dies when the image is primary and its last state not back yet.
  world_.SetCallHook(nullptr,
                     [](absl::string_view, absl::string_view call, bool) {
                       if (call == "rbd_mirror_image_promote") {
                         throw FakeCrash();
                       }
                       return 0;
                     });
  EXPECT_THROW((void)Promote(on_b_, Force::kYes), FakeCrash);
  world_.SetCallHook(nullptr);
  ASSERT_TRUE(b_.Info(image_).primary);
  const PromoteForecast forecast = Check(on_b_);
  EXPECT_EQ(forecast.planned.verdict, Verdict::kUnclear);
  EXPECT_EQ(forecast.forced.verdict, Verdict::kUnclear);
}

// --- what it costs, by what rbd-mirror of this site has measured

class CopyCostTest : public FailoverCheckTest {
 protected:
  /// A copy that follows, and rbd-mirror's words from now on.
  void Prepare() {
    AddMirrored();
    world_.Advance(minutes(1));
    b_.SetMirrorDaemon(DaemonState::kFrozen);
  }
  PromoteForecast Says(const std::string& numbers) {
    b_.SetStatus(image_, "", MirrorStatusState::kReplaying,
                 absl::StrCat("replaying, {", numbers, "}"));
    return Check(on_b_);
  }
  static void ExpectUnknown(const PromoteForecast& forecast) {
    EXPECT_EQ(forecast.planned_seconds, std::nullopt);
    EXPECT_EQ(forecast.bytes_to_come, std::nullopt);
    EXPECT_EQ(forecast.lost_bytes_about, std::nullopt);
    EXPECT_EQ(forecast.lost_bytes, std::nullopt);
  }
  const std::string measured_ =
      R"("bytes_per_snapshot":1048576.0,"last_snapshot_bytes":2097152,)"
      R"("last_snapshot_sync_seconds":28,)";
  const std::string idle_ =
      R"("local_snapshot_timestamp":100,"remote_snapshot_timestamp":100,)"
      R"("replay_state":"idle")";
  const std::string behind_ =
      R"("local_snapshot_timestamp":100,"remote_snapshot_timestamp":160,)";
};

TEST_F(CopyCostTest, WhereAllIsHereOnlyTheDemotionIsToCome) {
  Prepare();
  const PromoteForecast forecast = Says(measured_ + idle_);
  EXPECT_EQ(forecast.planned_seconds, 28U);
  EXPECT_EQ(forecast.bytes_to_come, 0U);
  // What was written since the last snapshot nobody knows.
  EXPECT_EQ(forecast.lost_bytes_about, std::nullopt);
  EXPECT_EQ(forecast.lost_bytes, std::nullopt);
}

TEST_F(CopyCostTest, TheRestOfACopyComesBeforeTheDemotion) {
  Prepare();
  PromoteForecast forecast = Says(absl::StrCat(
      measured_, behind_, R"("replay_state":"syncing","syncing_percent":75,)",
      R"("seconds_until_synced":230584300921369408)"));
  EXPECT_EQ(forecast.planned_seconds, 28U / 4 + 28U);
  EXPECT_EQ(forecast.bytes_to_come, 1048576U / 4);
  // All of it: forcing returns to the one before.
  EXPECT_EQ(forecast.lost_bytes_about, 1048576U);
  EXPECT_EQ(forecast.lost_bytes, std::nullopt);

  forecast = Says(measured_ + behind_ + R"("replay_state":"idle")");
  EXPECT_EQ(forecast.planned_seconds, 2 * 28U);
  EXPECT_EQ(forecast.bytes_to_come, 1048576U);
  EXPECT_EQ(forecast.lost_bytes_about, 1048576U);
}

TEST_F(CopyCostTest, LessThanASecondIsASecond) {
  Prepare();
  const PromoteForecast forecast =
      Says(R"("bytes_per_snapshot":4096.0,"last_snapshot_bytes":4096,)"
           R"("last_snapshot_sync_seconds":0,)" +
           idle_);
  EXPECT_EQ(forecast.planned_seconds, 1U);
}

TEST_F(CopyCostTest, WhatWasNotMeasuredIsNotKnown) {
  Prepare();
  // As after a start of rbd-mirror.
  ExpectUnknown(
      Says(R"("bytes_per_snapshot":0.0,"last_snapshot_bytes":0,)"
           R"("last_snapshot_sync_seconds":0,"local_snapshot_timestamp":100,)"
           R"("remote_snapshot_timestamp":160,"replay_state":"syncing",)"
           R"("syncing_percent":0,"seconds_until_synced":0)"));
  ExpectUnknown(Says(R"("replay_state":"idle")"));
  ExpectUnknown(Says("not what we know"));
}

TEST_F(CopyCostTest, NumbersThatCannotBeAreNotKnown) {
  Prepare();
  // Larger than the image, and a copy of ages.
  ExpectUnknown(Says(absl::StrCat(
      R"("bytes_per_snapshot":1e18,"last_snapshot_bytes":2097152,)",
      R"("last_snapshot_sync_seconds":144115188075855872,)", behind_,
      R"("replay_state":"syncing","syncing_percent":50)")));
  ExpectUnknown(Says(
      absl::StrCat(R"("bytes_per_snapshot":-1,"last_snapshot_bytes":2097152,)",
                   R"("last_snapshot_sync_seconds":-28,)", behind_,
                   R"("replay_state":"idle")")));
  ExpectUnknown(Says(absl::StrCat(
      R"("bytes_per_snapshot":"4096","last_snapshot_bytes":"4096",)",
      R"("last_snapshot_sync_seconds":null,)", behind_,
      R"("replay_state":"idle")")));
  // How far it is cannot be: only that makes both unknown.
  for (const char* percent : {"-1", "101", "\"half\""}) {
    const PromoteForecast forecast = Says(absl::StrCat(
        measured_, behind_, R"("replay_state":"syncing","syncing_percent":)",
        percent));
    EXPECT_EQ(forecast.planned_seconds, std::nullopt) << percent;
    EXPECT_EQ(forecast.bytes_to_come, std::nullopt) << percent;
    EXPECT_EQ(forecast.lost_bytes_about, 1048576U) << percent;
  }
}

TEST_F(CopyCostTest, AnOldReportTellsNothingOfThePaceNow) {
  Prepare();
  (void)Says(measured_ + idle_);
  world_.Advance(minutes(3));
  ExpectUnknown(Check(on_b_));
}

TEST_F(CopyCostTest, FromASiteThatIsGoneNoDemotionComes) {
  AddMirrored();
  const std::string numbers = measured_ + R"("replay_state":"idle")";
  EXPECT_EQ(Says(numbers).planned_seconds, 28U);
  LoseA();
  WaitFor(on_b_, seconds(89));
  world_.Advance(seconds(3));
  // rbd-mirror of this site knows as much as before.
  const PromoteForecast forecast = Says(numbers);
  EXPECT_EQ(forecast.planned.verdict, Verdict::kRefuses)
      << forecast.planned.reason;
  EXPECT_EQ(forecast.planned_seconds, std::nullopt);
}

TEST_F(CopyCostTest, AMoveWhoseDemotionIsBeingCopiedTakesTheRestOfIt) {
  AddMirrored(kSmallImage);
  StopMidCopy(MirrorSnapshotKind::kNonPrimaryDemoted, DaemonState::kFrozen);
  EXPECT_EQ(Says(R"("bytes_per_snapshot":4096.0,"last_snapshot_bytes":4096,)"
                 R"("last_snapshot_sync_seconds":10,"replay_state":"syncing",)"
                 R"("syncing_percent":40)")
                .planned_seconds,
            6U);
  // Once it is here, nothing is to be copied any more.
  b_.SetMirrorDaemon(DaemonState::kRunning);
  b_.SetCopySpeed(1000);
  world_.Advance(minutes(1));
  const PromoteForecast forecast = Check(on_b_);
  EXPECT_EQ(forecast.planned.verdict, Verdict::kWorks);
  EXPECT_EQ(forecast.planned_seconds, 0U);
  EXPECT_EQ(forecast.bytes_to_come, 0U);
  EXPECT_EQ(forecast.lost_bytes, 0U);
}

TEST_F(CopyCostTest, APrimaryWaitsForNothingAndLosesNothing) {
  AddMirrored();
  const PromoteForecast forecast = Check(on_a_);
  EXPECT_EQ(forecast.planned_seconds, 0U);
  EXPECT_EQ(forecast.lost_bytes, 0U);
}

TEST(GroupCostTest, AGroupIsTheSumAndTheSlowest) {
  const GroupHandle group("0001-0006-site-a-0000000000000002-group");
  MemberForecast slow;
  slow.forecast.planned_seconds = 30;
  slow.forecast.bytes_to_come = 100;
  slow.forecast.lost_bytes_about = 400;
  MemberForecast done;
  done.forecast.planned_seconds = 0;
  done.forecast.bytes_to_come = 0;
  done.forecast.lost_bytes = 0;
  GroupForecast forecast = ForecastGroup(group, {slow, done});
  EXPECT_EQ(forecast.planned_seconds, 30U);
  EXPECT_EQ(forecast.bytes_to_come, 100U);
  EXPECT_EQ(forecast.lost_bytes, std::nullopt);
  EXPECT_EQ(forecast.lost_bytes_about, 400U);
  forecast = ForecastGroup(group, {done, done});
  EXPECT_EQ(forecast.lost_bytes, 0U);
  EXPECT_EQ(forecast.lost_bytes_about, std::nullopt);
  // One of which nothing is known.
  forecast = ForecastGroup(group, {slow, done, MemberForecast{}});
  EXPECT_EQ(forecast.planned_seconds, std::nullopt);
  EXPECT_EQ(forecast.bytes_to_come, std::nullopt);
  EXPECT_EQ(forecast.lost_bytes_about, std::nullopt);
}

// --- the clock of a wait

TEST_F(FailoverCheckTest, TellsSinceWhenASiteIsSilentAndWhenItMayBeForced) {
  AddMirrored();
  LoseA();
  world_.Advance(minutes(2));
  // Nobody waits: the time begins with the first call.
  Forecast said = Check(on_b_).planned;
  ASSERT_TRUE(said.clock.has_value());
  EXPECT_EQ(said.clock->site, "site 'site-a'");
  EXPECT_EQ(said.clock->seen_for, seconds(0));
  EXPECT_EQ(said.clock->needed, seconds(90));
  EXPECT_EQ(said.clock->over_in, seconds(90));
  EXPECT_THAT(said.clock_text,
              EndsWith("forcing is offered about 90 s after a call begins to "
                       "wait if nothing changes"));
  WaitFor(on_b_, seconds(40));
  said = Check(on_b_).planned;
  ASSERT_TRUE(said.clock.has_value());
  EXPECT_GE(said.clock->seen_for, seconds(35));
  EXPECT_GT(said.clock->report_age, seconds(90));
  EXPECT_THAT(said.clock_text,
              AllOf(StartsWith("no sign of site 'site-a' for "),
                    HasSubstr("forcing is offered at about ")));
  // The call says it in the same words.
  deadline_ = seconds(1);
  EXPECT_THAT(WithoutNumbers(Promote(on_b_).message()),
              HasSubstr(WithoutNumbers(said.clock_text)));
}

TEST_F(FailoverCheckTest, WhatDoesNotWaitTellsNoClock) {
  AddMirrored();
  EXPECT_FALSE(Check(on_a_).planned.clock.has_value());
  EXPECT_FALSE(Check(on_b_).forced.clock.has_value());
}

TEST(GroupClockTest, AGroupWaitsForItsLastMember) {
  const GroupHandle group("0001-0006-site-a-0000000000000002-group");
  MemberForecast soon;
  soon.forecast.planned.verdict = Verdict::kWaits;
  soon.forecast.planned.clock.emplace().over_in = seconds(10);
  soon.forecast.planned.clock_text = "soon";
  MemberForecast late = soon;
  late.forecast.planned.clock->over_in = seconds(20);
  late.forecast.planned.clock_text = "late";
  EXPECT_EQ(ForecastGroup(group, {soon, late, soon}).planned.clock_text,
            "late");
  MemberForecast never = soon;
  never.forecast.planned.clock->over_in.reset();
  never.forecast.planned.clock_text = "never";
  EXPECT_EQ(ForecastGroup(group, {late, never, late}).planned.clock_text,
            "never");
  // What is refused is not awaited.
  soon.forecast.planned.verdict = Verdict::kRefuses;
  EXPECT_EQ(ForecastGroup(group, {soon, late}).planned.clock_text, "");
}

// Whoever reads it would start what comes back by itself.
TEST_F(FailoverCheckTest, TellsThatRbdMirrorWasSentAway) {
  AddMirrored();
  const std::string other =
      pair_.AddMirroredVolume(a_, "b891b493-7754-470d-b2a0-4ca18f698b29");
  world_.Advance(minutes(1));
  ASSERT_OK(Promote(on_b_, Force::kYes));
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(seconds(40));
  id_ = other;
  const std::string sent_away =
      "; rbd-mirror of this site was sent away by this daemon at ";
  EXPECT_THAT(Check(on_b_).planned.reason,
              AllOf(HasSubstr(sent_away), HasSubstr("back within a minute"),
                    Not(HasSubstr("is down or has not reported"))));
  deadline_ = seconds(1);
  EXPECT_THAT(Promote(on_b_),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(sent_away)));
}

// --- what cannot be seen

TEST_F(FailoverCheckTest, WhatCannotBeReadIsUnclear) {
  AddMirrored();
  Fail("rbd_mirror_image_get_info", EACCES, 100);
  PromoteForecast forecast = Check(on_b_);
  EXPECT_EQ(forecast.planned.verdict, Verdict::kUnclear);
  EXPECT_EQ(forecast.planned.code, absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(forecast.forced.verdict, Verdict::kUnclear);
  // Who lives is in the listing; a forced promotion does not ask for that.
  Fail("rbd_mirror_image_global_status_list", EACCES, 100);
  forecast = Check(on_b_);
  EXPECT_EQ(forecast.planned.verdict, Verdict::kUnclear);
  EXPECT_EQ(forecast.forced.verdict, Verdict::kWorks);
}

TEST_F(FailoverCheckTest, AClusterThatIsSilentIsUnclear) {
  AddMirrored();
  b_.SetClusterUp(false);
  const PromoteForecast forecast = Check(on_b_);
  EXPECT_EQ(forecast.planned.verdict, Verdict::kUnclear);
  EXPECT_EQ(forecast.forced.verdict, Verdict::kUnclear);
}

TEST_F(FailoverCheckTest, OneVolumeThatIsNotThereLeavesTheOthers) {
  AddMirrored();
  const auto found = CheckAll(
      on_b_, {pair_.VolumeId(a_, "b891b493-7754-470d-b2a0-4ca18f698b29"), id_});
  ASSERT_OK(found);
  ASSERT_THAT(*found, SizeIs(2));
  EXPECT_EQ((*found)[0].forecast.forced.verdict, Verdict::kRefuses);
  EXPECT_EQ((*found)[0].forecast.forced.code, absl::StatusCode::kNotFound);
  EXPECT_EQ((*found)[1].forecast.forced.verdict, Verdict::kWorks);
}

// --- pools

TEST_F(FailoverCheckTest, APoolIsEachOfItsMirroredImages) {
  static constexpr char kOther[] = "0d2b7d5e-4f60-4c8e-9a36-ad5dbd9b7a11";
  pair_.AddMirroredVolume(a_, kOther);
  AddMirrored();
  b_.AddImage(MirroredPair::kPool, "", "not-mirrored");
  a_.Demote(image_);
  world_.Advance(minutes(2));
  world_.ClearCalls();
  const auto found = CheckPool(on_b_);
  ASSERT_OK(found);
  ASSERT_THAT(*found, SizeIs(2));
  EXPECT_EQ((*found)[0].image, absl::StrCat("replicapool/csi-vol-", kOther));
  EXPECT_EQ((*found)[0].role, "secondary");
  EXPECT_EQ((*found)[0].forecast.planned.verdict, Verdict::kWaits);
  EXPECT_EQ((*found)[0].forecast.forced.verdict, Verdict::kWorks);
  EXPECT_EQ((*found)[1].image, absl::StrCat("replicapool/", image_));
  EXPECT_EQ((*found)[1].role, "demoted");
  EXPECT_EQ((*found)[1].forecast.planned.verdict, Verdict::kWorks);
  EXPECT_EQ(world_.CountMutations(), 0);
  // The reports are listed, and each image is opened once.
  EXPECT_EQ(world_.CountCalls("b", "rbd_mirror_image_get_global_status"), 0);
  EXPECT_EQ(world_.CountCalls("b", "rbd_open_by_id_read_only"), 2);
  EXPECT_EQ(world_.CountCalls("b", "rbd_open_read_only"), 0);
  // As asking for the volume says it.
  EXPECT_EQ(Check(on_b_).planned.reason, (*found)[1].forecast.planned.reason);
}

// Nothing but its image says that it could be promoted; each call for it is
// answered with NOT_FOUND.
TEST_F(FailoverCheckTest, AnImageThatTheJournalDoesNotHaveIsRefused) {
  static constexpr char kOther[] = "0d2b7d5e-4f60-4c8e-9a36-ad5dbd9b7a11";
  const std::string other = absl::StrCat("csi-vol-", kOther);
  pair_.AddMirroredVolume(a_, kOther);
  AddMirrored();
  a_.Demote(other);
  world_.Advance(minutes(2));
  ASSERT_EQ((*CheckPool(on_b_))[0].forecast.planned.verdict, Verdict::kWorks);
  b_.SetOmap(MirroredPair::kPool, "", absl::StrCat("csi.volume.", kOther), {});
  const auto found = CheckPool(on_b_);
  ASSERT_OK(found);
  ASSERT_THAT(*found, SizeIs(2));
  const FailoverFinding& finding = found->front();
  EXPECT_EQ(finding.image, absl::StrCat("replicapool/", other));
  EXPECT_TRUE(finding.without_entry);
  EXPECT_EQ(finding.volume_id, "");
  EXPECT_EQ(finding.role, "demoted");
  for (const Forecast* forecast :
       {&finding.forecast.planned, &finding.forecast.forced}) {
    EXPECT_EQ(forecast->verdict, Verdict::kRefuses);
    EXPECT_EQ(forecast->code, absl::StatusCode::kNotFound);
    EXPECT_THAT(forecast->reason, HasSubstr("PersistentVolume"));
  }
  EXPECT_EQ(finding.forecast.lost_bytes, std::nullopt);
  EXPECT_FALSE((*found)[1].without_entry);
}

// That the journal cannot be read says nothing of what it has.
TEST_F(FailoverCheckTest, AJournalThatCannotBeReadIsUnclear) {
  static constexpr char kOther[] = "0d2b7d5e-4f60-4c8e-9a36-ad5dbd9b7a11";
  pair_.AddMirroredVolume(a_, kOther);
  AddMirrored();
  world_.Advance(minutes(2));
  // Once the images are listed, whose reports are no part of it.
  world_.SetCallHook([listed = std::make_shared<std::atomic<bool>>()](
                         absl::string_view, absl::string_view made, bool) {
    if (made == "rbd_mirror_image_global_status_list") *listed = true;
    return *listed && absl::StartsWith(made, "rados_read_op_omap") ? EIO : 0;
  });
  const auto found = CheckPool(on_b_);
  ASSERT_OK(found);
  ASSERT_THAT(*found, SizeIs(2));
  EXPECT_FALSE(found->front().without_entry);
  EXPECT_EQ(found->front().forecast.planned.verdict, Verdict::kUnclear);
}

// 1000 images in 5 s (docs/performance.md): what an image costs is bounded, and
// the rest does not grow with their number.
TEST_F(FailoverCheckTest, APoolCostsAFewCallsOfEachImage) {
  AddMirrored();
  int added = 1;
  const auto calls_with = [&](int images) {
    for (; added < images; ++added) {
      pair_.AddMirroredVolume(
          a_, absl::StrFormat("5ef79ce1-81e8-439b-8405-%012d", added));
    }
    world_.Advance(minutes(1));
    world_.ClearCalls();
    EXPECT_OK(CheckPool(on_b_));
    return static_cast<int>(world_.Calls().size());
  };
  constexpr int kEach = 15;  // one of which is the limit of its snapshots
  constexpr int kOnce = 15;
  EXPECT_LE(calls_with(10), kOnce + 10 * kEach);
  EXPECT_LE(calls_with(40), kOnce + 40 * kEach);
  EXPECT_EQ(world_.CountCalls("b", "rbd_open_by_id_read_only"), 40);
}

TEST_F(FailoverCheckTest, APoolWhoseListingFailsIsAnError) {
  AddMirrored();
  Fail("rbd_mirror_image_global_status_list", EACCES, 1);
  EXPECT_THAT(CheckPool(on_b_), StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST_F(FailoverCheckTest, ABlocklistedClientLooksOnceMore) {
  AddMirrored();
  world_.Advance(seconds(1));
  b_.BlocklistClients();
  EXPECT_EQ(Check(on_b_).forced.verdict, Verdict::kWorks);
}

TEST_F(FailoverCheckTest, NobodyWaitsForACheckThatWasGivenUp) {
  AddMirrored();
  script_ = [this](TestOperationContext& context) {
    context.CancelAfter(seconds(0));
    world_.Advance(seconds(1));
  };
  EXPECT_THAT(CheckAll(on_b_, {id_}), StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace addons::testing
