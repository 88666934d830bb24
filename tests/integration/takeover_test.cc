// The peer is alive: taking over from it by force, a move that is given up, and
// what becomes of a promotion that waits when something else is asked for.

#include <atomic>
#include <csignal>
#include <fstream>
#include <future>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "replication/look/local_record.h"
#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

namespace pb = ::replication;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

class TakeoverTest : public TwoSitesTest {
 public:
  static void SetUpTestSuite() {
    const std::vector<std::string> flags = {"--takeover-time=60s"};
    StartDaemons({{"a", flags}, {"b", flags}});
  }
};

TEST_F(TakeoverTest, ALivingPrimaryIsForcedAsideAfterTheSettleTime) {
  const Parameters every_minute = {{"schedulingInterval", "1m"}};
  const TestVolume volume = MakeReplicatedVolume(every_minute);
  // The manager begins with a new schedule within two minutes.
  const SeenSnapshot initial = NewestSnapshot("b", volume);
  ASSERT_TRUE(
      Eventually([&] { return NewestSnapshot("b", volume).id > initial.id; },
                 seconds(150)));
  const auto start = steady_clock::now();
  const SeenSnapshot first = NewestSnapshot("b", volume);
  grpc::Status answer;
  int calls = 0;
  do {
    // The schedule goes on, which is no reason to wait any longer.
    Write("a", volume, absl::StrCat("write ", ++calls));
    answer = Promote("b", volume, false, every_minute, seconds(20));
  } while (answer.error_code() == Code::UNAVAILABLE &&
           steady_clock::now() - start < seconds(150));
  ASSERT_THAT(answer, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_GE(steady_clock::now() - start, kSettle);
  EXPECT_GE(calls, 3);
  EXPECT_THAT(answer.error_message(), HasSubstr("has been primary for"));
  EXPECT_GT(NewestSnapshot("b", volume).id, first.id);
  EXPECT_FALSE(IsPrimary("b", volume));

  // From here on no further snapshot is taken.
  Schedule("a", volume, "rm");
  Write("a", volume, "copied");
  Synchronize("a", volume);
  Write("a", volume, "lost");
  EXPECT_THAT(Promote("b", volume, true), HasCode(Code::OK));
  EXPECT_TRUE(IsPrimary("b", volume));
  EXPECT_EQ(ReadText("b", volume), "copied");
}

// Both sites of a planned move are asked at once, and the workload stops late.
TEST_F(TakeoverTest, APrimaryThatIsToBeDemotedIsNotForcedAside) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "early");
  auto workload = OpenDisk("a", volume);
  const auto start = steady_clock::now();
  grpc::Status answer;
  do {
    EXPECT_THAT(Demote("a", volume), HasCode(Code::FAILED_PRECONDITION));
    answer = Promote("b", volume, false, {}, seconds(20));
    ASSERT_THAT(answer, HasCode(Code::UNAVAILABLE));
  } while (steady_clock::now() - start < kSettle + seconds(60));
  EXPECT_THAT(answer.error_message(), HasSubstr("workload"));
  EXPECT_THAT(answer.error_message(), HasSubstr("client."));
  workload.reset();
  Write("a", volume, "late");
  ASSERT_TRUE(
      Eventually([&] { return Demote("a", volume).error_code() == Code::OK; },
                 seconds(60)));
  EXPECT_EQ(Metadata("a", volume, "rbd-addons.demotion-refused"), "");
  EXPECT_THAT(PromoteAtLast("b", volume), HasCode(Code::OK));
  EXPECT_EQ(ReadText("b", volume), "late");
}

/// What a waiting promotion comes to when another call arrives.
class WaitingPromoteTest : public TwoSitesTest {
 protected:
  /// A promotion on b that waits, because a is still primary.
  static std::future<grpc::Status> StartWaiting(const TestVolume& volume) {
    auto waiting = std::async(std::launch::async, [volume] {
      return Promote("b", volume, false, {}, seconds(50));
    });
    // This call joins it, and says that it has looked and waits.
    EXPECT_THAT(Promote("b", volume, false, {}, seconds(6)),
                HasCode(Code::UNAVAILABLE));
    return waiting;
  }
};

TEST_F(WaitingPromoteTest, AForcedPromotionTakesItsPlace) {
  const TestVolume volume = MakeReplicatedVolume();
  auto waiting = StartWaiting(volume);
  EXPECT_THAT(Promote("b", volume, true), HasCode(Code::OK));
  const grpc::Status ended = waiting.get();
  EXPECT_THAT(ended, HasCode(Code::ABORTED));
  EXPECT_THAT(ended.error_message(), HasSubstr("promote by force"));
  EXPECT_TRUE(IsPrimary("b", volume));
}

TEST_F(WaitingPromoteTest, ADemotionTakesItsPlace) {
  const TestVolume volume = MakeReplicatedVolume();
  auto waiting = StartWaiting(volume);
  EXPECT_THAT(Demote("b", volume), HasCode(Code::OK));
  const grpc::Status ended = waiting.get();
  EXPECT_THAT(ended, HasCode(Code::ABORTED));
  EXPECT_THAT(ended.error_message(), HasSubstr("demote"));
  EXPECT_FALSE(IsPrimary("b", volume));
}

TEST_F(WaitingPromoteTest, DisablingTakesItsPlace) {
  const TestVolume volume = MakeReplicatedVolume();
  auto waiting = StartWaiting(volume);
  EXPECT_THAT(Disable("b", volume), HasCode(Code::OK));
  const grpc::Status ended = waiting.get();
  EXPECT_THAT(ended, HasCode(Code::ABORTED));
  EXPECT_THAT(ended.error_message(), HasSubstr("disable replication"));
  // The primary is alive: its copy is not to be torn from it.
  EXPECT_EQ(MirrorState("b", volume), "enabled");
}

TEST_F(WaitingPromoteTest, EndsWithItsLastCaller) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "all");
  Stop("b", "rbd-mirror");
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));

  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  pb::PromoteVolumeRequest request;
  request.mutable_replication_source()->mutable_volume()->set_volume_id(
      volume.id_b);
  const CephUserRef user = Bed().User("b");
  (*request.mutable_secrets())["userID"] = user->id;
  (*request.mutable_secrets())["userKey"] = user->key.Reveal();
  auto waiting = std::async(std::launch::async, [&] {
    pb::PromoteVolumeResponse response;
    return Stub("b")->PromoteVolume(&context, request, &response);
  });
  EXPECT_THAT(Promote("b", volume, false, {}, seconds(6)),
              HasCode(Code::UNAVAILABLE));
  context.TryCancel();
  EXPECT_THAT(waiting.get(), HasCode(Code::CANCELLED));

  // Nobody asks any more: the demotion arrives, and nothing happens.
  Continue("b", "rbd-mirror");
  ASSERT_TRUE(Eventually([&] {
    const SeenSnapshot newest = NewestSnapshot("b", volume);
    return newest.demoted && newest.complete;
  }));
  EXPECT_FALSE(Eventually([&] { return IsPrimary("b", volume); }, seconds(8)));
  EXPECT_THAT(PromoteAtLast("b", volume), HasCode(Code::OK));
  EXPECT_EQ(ReadText("b", volume), "all");
}

class GivenUpMoveTest : public TwoSitesTest {
 public:
  static void SetUpTestSuite() {
    // Taking over from a living primary is another story, and its clock runs
    // for all volumes of the pool, so also from one race to the next.
    const std::vector<std::string> flags = {"--takeover-time=900s"};
    StartDaemons({{"a", flags}, {"b", flags}});
  }
};

TEST_F(GivenUpMoveTest, NeverMakesTwoPrimaries) {
  const TestVolume volume = MakeReplicatedVolume();
  Stop("b", "rbd-mirror");
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  auto waiting = std::async(std::launch::async, [volume] {
    return Promote("b", volume, false, {}, seconds(40));
  });
  EXPECT_THAT(Promote("b", volume, false, {}, seconds(6)),
              HasCode(Code::UNAVAILABLE));
  // While b's rbd-mirror may still report, a waits for it. Then nobody tells
  // whether b was promoted, which is for force to decide.
  EXPECT_THAT(PromoteAtLast("a", volume), HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(Promote("a", volume, true), HasCode(Code::OK));
  Continue("b", "rbd-mirror");

  EXPECT_FALSE(Eventually([&] { return IsPrimary("b", volume); }, seconds(20)));
  EXPECT_TRUE(IsPrimary("a", volume));
  EXPECT_THAT(waiting.get(), HasCode(Code::UNAVAILABLE));
  EXPECT_FALSE(IsPrimary("b", volume));
  // The pair goes on as before.
  Write("a", volume, "after");
  Synchronize("a", volume);
  EXPECT_EQ(ReadText("b", volume), "after");
}

TEST_F(GivenUpMoveTest, AnswersOnlyWhenThePeerFollows) {
  const TestVolume volume = MakeReplicatedVolume();
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  ASSERT_TRUE(Eventually([&] {
    const SeenSnapshot newest = NewestSnapshot("b", volume);
    return newest.demoted && newest.complete;
  }));
  EXPECT_THAT(PromoteAtLast("a", volume), HasCode(Code::OK));
  EXPECT_FALSE(NewestSnapshot("b", volume).demoted);
  EXPECT_THAT(Metadata("a", volume, kLocalRecordKey),
              Not(HasSubstr(R"("demotion")")));
  EXPECT_THAT(Promote("b", volume, false, {}, seconds(10)),
              HasCode(Code::UNAVAILABLE));
}

TEST_F(GivenUpMoveTest, BothSitesAreNeverToldOk) {
  std::mt19937 random(20261122);
  for (int i = 0; i < 3; ++i) {
    const auto distance = seconds(random() % 12);
    SCOPED_TRACE(absl::StrCat("b is asked after ", distance.count(), " s"));
    RaceToPromote(MakeReplicatedVolume(), distance, seconds(35));
    if (HasFailure()) return;
  }
}

TEST_F(GivenUpMoveTest, BothSitesAreNeverToldOkInJournalMode) {
  for (const int distance : {0, 3, 8}) {
    SCOPED_TRACE(absl::StrCat("b is asked after ", distance, " s"));
    RaceToPromote(MakeJournaledVolume(), seconds(distance), seconds(35),
                  kJournalMode);
    if (HasFailure()) return;
  }
}

// The peer is promoted while this site takes its demotion back, and demoted
// again: what it wrote as primary is not here.
class GivenBackMoveTest : public GivenUpMoveTest {
 protected:
  /// Demotes a, has it take that back, and promotes b before b's rbd-mirror has
  /// noticed. False: that was quicker, and a is primary as before.
  bool PromoteBWhileATakesBack(const TestVolume& volume,
                               const Parameters& parameters) {
    EXPECT_TRUE(
        Eventually([&] { return Demote("a", volume).error_code() == Code::OK; },
                   seconds(60)));
    // In journal mode nothing shows it but the report that a waits for.
    EXPECT_TRUE(parameters == kJournalMode || Eventually([&] {
                  const SeenSnapshot newest = NewestSnapshot("b", volume);
                  return newest.demoted && newest.complete;
                }));
    const std::string before = PeerReport("a", volume);
    std::atomic<bool> taken_back = false;
    // The first call of a series ends after 20 s.
    auto taking =
        std::async(std::launch::async, [volume, &parameters, &taken_back] {
          grpc::Status answer;
          do {
            answer = Promote("a", volume, false, parameters, seconds(100));
          } while (answer.error_code() == Code::UNAVAILABLE && !taken_back &&
                   !IsPrimary("a", volume));
          return answer;
        });
    // a waits for this report, and promotes up to a second after it.
    const auto start = steady_clock::now();
    while (PeerReport("a", volume) == before &&
           steady_clock::now() - start < seconds(60)) {
    }
    Stop("b", "rbd-mirror");
    // Long before a takes the silence for a dead site, which it need not await.
    const bool in_time =
        Eventually([&] { return IsPrimary("a", volume); }, kSettle / 3);
    taken_back = true;
    const bool promoted =
        in_time &&
        Bed()
            .Run("rbd", {"b", "mirror", "image", "promote", ImageSpec(volume)})
            .ok();
    if (promoted) Write("b", volume, "of b");
    Continue("b", "rbd-mirror");
    const grpc::Status taken = taking.get();
    if (promoted) {
      EXPECT_THAT(taken, HasCode(Code::UNAVAILABLE));
    } else {
      EXPECT_THAT(PromoteAtLast("a", volume, parameters), HasCode(Code::OK));
    }
    return promoted;
  }

  /// a takes its demotion back, b is promoted meanwhile, a gives the role back,
  /// b is demoted: a is not promoted any more, and the way out that it names
  /// leads to what b has written.
  void ExpectNotTakenOnceMore(const TestVolume& volume,
                              const Parameters& parameters) {
    Write("a", volume, "of a");
    int tries = 0;
    while (!PromoteBWhileATakesBack(volume, parameters)) {
      ASSERT_FALSE(HasFailure());
      ASSERT_LT(++tries, 8) << "b's rbd-mirror was always quicker";
    }
    const auto ask_a = [&] {
      return Promote("a", volume, false, parameters, seconds(20));
    };
    grpc::Status answer;
    ASSERT_TRUE(Eventually(
        [&] {
          answer = ask_a();
          return !IsPrimary("a", volume);
        },
        seconds(120)));
    EXPECT_THAT(answer, HasCode(Code::UNAVAILABLE));
    EXPECT_TRUE(IsPrimary("b", volume));

    // The daemon does not demote b now, because a's copy has parted from it; a
    // person can.
    ASSERT_THAT(Demote("b", volume), HasCode(Code::UNAVAILABLE));
    Rbd("b", {"mirror", "image", "demote", ImageSpec(volume)});
    ASSERT_FALSE(IsPrimary("b", volume));
    EXPECT_FALSE(Eventually(
        [&] {
          answer = ask_a();
          return IsPrimary("a", volume);
        },
        kSettle + seconds(20)));
    EXPECT_THAT(answer, HasCode(Code::UNAVAILABLE));
    EXPECT_THAT(answer.error_message(), HasSubstr("resync this image"));

    // b may refuse as well: demoted by hand, nothing shows that a had kept in
    // step. The answer of a says what to do then.
    auto back = std::async(std::launch::async, [volume, &parameters] {
      const grpc::Status planned =
          Promote("b", volume, false, parameters, seconds(60));
      return planned.error_code() == Code::UNAVAILABLE
                 ? Promote("b", volume, true, parameters)
                 : planned;
    });
    EXPECT_THAT(answer.error_message(), HasSubstr("by force, if it refuses"));
    bool ready = false;
    ASSERT_TRUE(Eventually(
        [&] { return Resync("a", volume, true, &ready).ok() && ready; },
        seconds(180)));
    EXPECT_THAT(back.get(), HasCode(Code::OK));
    EXPECT_TRUE(Eventually([&] { return ReadText("a", volume) == "of b"; }));
    EXPECT_THAT(Demote("b", volume), HasCode(Code::OK));
    EXPECT_THAT(PromoteAtLast("a", volume, parameters), HasCode(Code::OK));
    EXPECT_EQ(ReadText("a", volume), "of b");
  }
};

TEST_F(GivenBackMoveTest, TheRoleIsNotTakenOnceMore) {
  ExpectNotTakenOnceMore(MakeReplicatedVolume(), {});
}

TEST_F(GivenBackMoveTest, TheRoleIsNotTakenOnceMoreInJournalMode) {
  ExpectNotTakenOnceMore(MakeJournaledVolume(), kJournalMode);
}

}  // namespace
}  // namespace addons::testing
