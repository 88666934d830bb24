// A planned move: demote here, promote there, nothing is lost, and no call says
// that forcing is right.

#include <functional>
#include <future>
#include <stop_token>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "replication/look/mount_restriction.h"
#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

class PlannedMoveTest : public TwoSitesTest {
 protected:
  /// Writes and moves from a to b and back; each site has what the other wrote.
  static void MoveThereAndBack(const TestVolume& volume,
                               const Parameters& parameters = {}) {
    Write("a", volume, "from a");
    EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
    EXPECT_THAT(PromoteAtLast("b", volume, parameters), HasCode(Code::OK));
    EXPECT_TRUE(IsPrimary("b", volume));
    EXPECT_FALSE(IsPrimary("a", volume));
    EXPECT_EQ(ReadText("b", volume), "from a");
    Write("b", volume, "from b");
    EXPECT_THAT(Demote("b", volume), HasCode(Code::OK));
    EXPECT_THAT(PromoteAtLast("a", volume, parameters), HasCode(Code::OK));
    EXPECT_TRUE(IsPrimary("a", volume));
    EXPECT_FALSE(IsPrimary("b", volume));
    EXPECT_EQ(ReadText("a", volume), "from b");
  }
};

TEST_F(PlannedMoveTest, MovesThereAndBackWithAllData) {
  const TestVolume volume =
      MakeReplicatedVolume({{"schedulingInterval", "1h"}});
  Write("a", volume, "first");
  const uint64_t written = Digest("a", volume);
  // What ceph-csi goes by, and mirroring leaves behind.
  Rbd("a", {"image-meta", "set", ImageSpec(volume), kServiceAccountKey, "db"});

  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  EXPECT_THAT(PromoteAtLast("b", volume), HasCode(Code::OK));
  EXPECT_TRUE(IsPrimary("b", volume));
  EXPECT_FALSE(IsPrimary("a", volume));
  EXPECT_EQ(Digest("b", volume), written);
  EXPECT_EQ(Metadata("b", volume, kServiceAccountKey), "db");

  Write("b", volume, "second");
  Rbd("b", {"image-meta", "remove", ImageSpec(volume), kServiceAccountKey});
  EXPECT_THAT(Demote("b", volume), HasCode(Code::OK));
  EXPECT_THAT(PromoteAtLast("a", volume), HasCode(Code::OK));
  EXPECT_EQ(ReadText("a", volume), "second");
  EXPECT_THAT(Rbd("a", {"image-meta", "list", ImageSpec(volume)}),
              Not(HasSubstr(kServiceAccountKey)));
}

TEST_F(PlannedMoveTest, EveryCallMayBeRepeated) {
  const TestVolume volume = MakeReplicatedVolume();
  EXPECT_THAT(Enable("a", volume), HasCode(Code::OK));
  EXPECT_THAT(Promote("a", volume), HasCode(Code::OK));
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  EXPECT_THAT(PromoteAtLast("b", volume), HasCode(Code::OK));
  EXPECT_THAT(Promote("b", volume), HasCode(Code::OK));
  EXPECT_THAT(Enable("b", volume), HasCode(Code::OK));
  EXPECT_THAT(Enable("a", volume), HasCode(Code::OK));
  EXPECT_THAT(Disable("b", volume), HasCode(Code::OK));
  EXPECT_THAT(Disable("b", volume), HasCode(Code::OK));
  EXPECT_EQ(MirrorState("b", volume), "disabled");
}

TEST_F(PlannedMoveTest, WaitsForADemotionThatIsStillUnderWay) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "before", 64u << 20);
  Stop("b", "rbd-mirror");
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));

  // rbd-mirror on b does nothing for a while: the call waits, and says for
  // what.
  const grpc::Status waited =
      Promote("b", volume, false, {}, std::chrono::seconds(15));
  EXPECT_THAT(waited, HasCode(Code::UNAVAILABLE));
  EXPECT_FALSE(IsPrimary("b", volume));

  auto promoted = std::async(std::launch::async,
                             [&] { return PromoteAtLast("b", volume); });
  Continue("b", "rbd-mirror");
  EXPECT_THAT(promoted.get(), HasCode(Code::OK));
  EXPECT_EQ(ReadText("b", volume), "before");
  EXPECT_EQ(Digest("b", volume), Digest("a", volume));
}

TEST_F(PlannedMoveTest, MovesAVolumeOfARadosNamespace) {
  const TestVolume volume = MakeReplicatedVolume(
      {{"schedulingInterval", "7h"}}, {"--namespace", RealBed::kNamespace});
  MoveThereAndBack(volume);
  // Neither of the promotions asked for one.
  EXPECT_THAT(Schedules("b", volume), HasSubstr("every 7h"));
}

TEST_F(PlannedMoveTest, MovesAVolumeWithADataPool) {
  MoveThereAndBack(MakeReplicatedVolume({}, {"--data-pool", "data"}));
}

TEST_F(PlannedMoveTest, MovesAVolumeInJournalMode) {
  MoveThereAndBack(MakeJournaledVolume(), kJournalMode);
}

// The journal has the old name, and mirroring brings the new one.
TEST_F(PlannedMoveTest, ARenamedImageIsNamedOnBothSitesAndMovesAfterwards) {
  const TestVolume volume = MakeReplicatedVolume();
  MoveThereAndBack(volume);
  const std::string spec = ImageSpec(volume);
  const std::string renamed =
      absl::StrCat(spec.substr(0, spec.rfind('/')), "/mine");
  const auto rename = [](const std::string& from, const std::string& to) {
    Rbd("a", {"rename", from, to});
    Rbd("a", {"mirror", "image", "snapshot", to});
  };
  rename(spec, renamed);
  ASSERT_TRUE(Eventually([&] { return MirrorState("b", volume) == "absent"; },
                         seconds(60)));

  for (const char* site : {"a", "b"}) {
    for (const grpc::Status& answer :
         {Demote(site, volume), Promote(site, volume), Disable(site, volume)}) {
      EXPECT_THAT(answer, HasCode(Code::UNAVAILABLE));
      EXPECT_THAT(answer.error_message(),
                  AllOf(HasSubstr("`rbd rename replicapool/"),
                        HasSubstr("/mine replicapool/")));
    }
  }

  rename(renamed, spec);
  ASSERT_TRUE(Eventually([&] { return MirrorState("b", volume) != "absent"; },
                         seconds(60)));
  MoveThereAndBack(volume);
}

/// Moves while a daemon that takes part does not run.
class InterruptedMoveTest : public TwoSitesTest {};

TEST_F(InterruptedMoveTest, NeverSuggestsForceWhileTheDemotionIsUnderWay) {
  const TestVolume volume = MakeReplicatedVolume();
  Write("a", volume, "before");
  const uint64_t written = Digest("a", volume);
  Stop("b", "rbd-mirror");
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));

  EXPECT_THAT(PromoteRepeatedly("b", volume, seconds(45)),
              Each(HasCode(Code::UNAVAILABLE)));
  EXPECT_FALSE(IsPrimary("b", volume));
  Continue("b", "rbd-mirror");
  const std::vector<grpc::Status> answers =
      PromoteRepeatedly("b", volume, seconds(100));
  EXPECT_THAT(answers,
              Each(AnyOf(HasCode(Code::UNAVAILABLE), HasCode(Code::OK))));
  EXPECT_THAT(answers.back(), HasCode(Code::OK));
  EXPECT_EQ(Digest("b", volume), written);
}

TEST_F(InterruptedMoveTest, NeedsNoMirrorDaemonOnThePeer) {
  const TestVolume volume = MakeReplicatedVolume();
  Stop("a", "rbd-mirror");
  Write("a", volume, "before");
  const uint64_t written = Digest("a", volume);
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  // The last report of a's rbd-mirror says "primary"; b's own has to tell that
  // this does not hold any more, which takes a busy machine longer than a call.
  const std::vector<grpc::Status> answers =
      PromoteRepeatedly("b", volume, seconds(100));
  EXPECT_THAT(answers,
              Each(AnyOf(HasCode(Code::UNAVAILABLE), HasCode(Code::OK))));
  EXPECT_THAT(answers.back(), HasCode(Code::OK));
  EXPECT_TRUE(IsPrimary("b", volume));
  EXPECT_EQ(Digest("b", volume), written);
}

TEST_F(InterruptedMoveTest, NeedsNoMirrorDaemonOnThePeerThatIsLongGone) {
  const TestVolume volume = MakeReplicatedVolume();
  Stop("a", "rbd-mirror");
  const auto stopped = steady_clock::now();
  Write("a", volume, "before", 64u << 20);
  const uint64_t written = Digest("a", volume);
  // Its reports are older than the settle time by now.
  ASSERT_TRUE(Eventually(
      [&] { return steady_clock::now() - stopped > kSettle + seconds(32); },
      seconds(120)));
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  EXPECT_THAT(PromoteAtLast("b", volume), HasCode(Code::OK));
  EXPECT_EQ(Digest("b", volume), written);
}

// Its own silence tells this site nothing about the other one.
TEST_F(InterruptedMoveTest, NeverSuggestsForceWhileBothMirrorsAreDown) {
  const TestVolume volume = MakeReplicatedVolume();
  Stop("a", "rbd-mirror");
  Stop("b", "rbd-mirror");
  Write("a", volume, "before");
  const uint64_t written = Digest("a", volume);
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
  const std::vector<grpc::Status> silent =
      PromoteRepeatedly("b", volume, kSettle + seconds(60));
  EXPECT_THAT(silent, Each(HasCode(Code::UNAVAILABLE)));
  EXPECT_THAT(silent.back().error_message(),
              HasSubstr("start rbd-mirror here"));
  Continue("b", "rbd-mirror");
  const std::vector<grpc::Status> answers =
      PromoteRepeatedly("b", volume, seconds(150));
  EXPECT_THAT(answers,
              Each(AnyOf(HasCode(Code::UNAVAILABLE), HasCode(Code::OK))));
  EXPECT_THAT(answers.back(), HasCode(Code::OK));
  EXPECT_EQ(Digest("b", volume), written);
}

TEST_F(InterruptedMoveTest, MovesManyVolumesWhileTheirMirrorIsLongGone) {
  constexpr int kVolumes = 6;
  std::vector<TestVolume> volumes;
  for (int i = 0; i < kVolumes; ++i) volumes.push_back(MakeReplicatedVolume());
  Stop("a", "rbd-mirror");
  RealClock().SleepFor(kSettle + seconds(32), std::stop_token());
  std::vector<std::future<std::vector<grpc::Status>>> moves;
  std::vector<uint64_t> written;
  for (const TestVolume& volume : volumes) {
    Write("a", volume, volume.image, 64u << 20);
    written.push_back(Digest("a", volume));
    EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
    moves.push_back(std::async(std::launch::async, [volume] {
      return PromoteRepeatedly("b", volume, seconds(200));
    }));
  }
  for (size_t i = 0; i < volumes.size(); ++i) {
    const std::vector<grpc::Status> answers = moves[i].get();
    EXPECT_THAT(answers,
                Each(AnyOf(HasCode(Code::UNAVAILABLE), HasCode(Code::OK))));
    EXPECT_THAT(answers.back(), HasCode(Code::OK));
    EXPECT_EQ(Digest("b", volumes[i]), written[i]);
  }
}

class SlowMoveTest : public TwoSitesTest {
 protected:
  /// One that is copied one object after the other.
  static TestVolume MakeSlowVolume(const std::string& size) {
    CopyObjectsAtOnce(1);
    return MakeReplicatedVolume({}, {"--size", size});
  }
};

/// rbd-mirror is killed in the middle of a copy and started again.
class RestartedMirrorTest : public SlowMoveTest {
 protected:
  static constexpr uint64_t kBytes = uint64_t{2} << 30;
  /// While the copy of what `change` makes on site a has so many objects and
  /// not all.
  void RestartInTheMiddle(const TestVolume& volume, int64_t copied_objects,
                          const std::function<void()>& change) {
    Stop("b", "rbd-mirror");
    change();
    const int64_t before = NewestSnapshot("b", volume).id;
    ASSERT_TRUE(Eventually(
        [&] {
          RunMirrorDaemonFor("b", milliseconds(50));
          const SeenSnapshot newest = NewestSnapshot("b", volume);
          return newest.id != before && newest.copied_objects >= copied_objects;
        },
        seconds(120)));
    ASSERT_FALSE(NewestSnapshot("b", volume).complete)
        << "copied too quickly for this test";
    Testbed("kill", {"b", "rbd-mirror"});
    Testbed("start", {"b", "rbd-mirror"});
  }
  /// A planned move of what fills the volume, with such a restart.
  void MoveWithARestart(const TestVolume& volume, int64_t copied_objects,
                        uint64_t bytes) {
    ASSERT_NO_FATAL_FAILURE(RestartInTheMiddle(volume, copied_objects, [&] {
      Write("a", volume, absl::StrCat("moved after ", copied_objects), bytes);
      EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
    }));
    const auto answers = PromoteRepeatedly("b", volume, seconds(240));
    EXPECT_THAT(answers,
                Each(AnyOf(HasCode(Code::UNAVAILABLE), HasCode(Code::OK))));
    ASSERT_THAT(answers.back(), HasCode(Code::OK));
    EXPECT_EQ(Digest("b", volume), Digest("a", volume));
  }
};

// By itself rbd-mirror leaves out an object then.
TEST_F(RestartedMirrorTest, LeavesNoObjectOut) {
  const TestVolume volume = MakeSlowVolume("2G");
  // So that the daemon of b knows of the volume.
  EXPECT_THAT(Promote("b", volume, false, {}, seconds(5)),
              HasCode(Code::UNAVAILABLE));
  for (int round = 0; round < 3; ++round) {
    ASSERT_NO_FATAL_FAILURE(RestartInTheMiddle(volume, 21, [&] {
      Write("a", volume, absl::StrCat("round ", round), kBytes);
      Rbd("a", {"mirror", "image", "snapshot", ImageSpec(volume)});
    }));
    ASSERT_TRUE(Eventually([&] { return NewestSnapshot("b", volume).complete; },
                           seconds(120)));
    EXPECT_EQ(Digest("b", volume), Digest("a", volume)) << "round " << round;
  }
}

// By itself it does not go on with a demotion then.
TEST_F(RestartedMirrorTest, GoesOnWithADemotion) {
  for (const int64_t copied : {0, 20}) {
    const TestVolume volume = MakeSlowVolume("2G");
    ASSERT_NO_FATAL_FAILURE(MoveWithARestart(volume, copied, kBytes));
    // And back: nothing of it is in the way.
    Synchronize("b", volume);
    EXPECT_THAT(Demote("b", volume), HasCode(Code::OK));
    const auto back = PromoteRepeatedly("a", volume, seconds(240));
    ASSERT_THAT(back.back(), HasCode(Code::OK));
    EXPECT_EQ(Digest("a", volume), Digest("b", volume));
  }
}

class ShortRestartedMirrorTest : public RestartedMirrorTest {};

TEST_F(ShortRestartedMirrorTest, GoesOnWithADemotion) {
  MoveWithARestart(MakeSlowVolume("512M"), 10, uint64_t{512} << 20);
}

TEST_F(SlowMoveTest, WaitsForACopyThatTakesLongerThanTheSettleTime) {
  constexpr seconds kCopying = kSettle + seconds(15);
  const TestVolume volume = MakeSlowVolume("2G");
  constexpr uint64_t kBytes = uint64_t{2} << 30;
  constexpr int64_t kObjects = 512;
  Write("a", volume, "before", kBytes);
  // No sooner: what stands still for 30 s takes a minute to come back.
  Stop("b", "rbd-mirror");
  EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));

  auto calls = std::async(std::launch::async, [&] {
    return PromoteRepeatedly("b", volume, seconds(600));
  });
  EXPECT_TRUE(Eventually(
      [&] {
        RunMirrorDaemonFor("b", milliseconds(50));
        return NewestSnapshot("b", volume).demoted;
      },
      seconds(120)));
  // As many objects as the time says, never the last ones.
  const int64_t first = NewestSnapshot("b", volume).copied_objects;
  const auto start = steady_clock::now();
  while (steady_clock::now() - start < kCopying) {
    const SeenSnapshot newest = NewestSnapshot("b", volume);
    ASSERT_FALSE(newest.demoted && newest.complete)
        << "copied too quickly for this test";
    const int64_t wanted = first + (kObjects - first) *
                                       (steady_clock::now() - start) /
                                       (kCopying + seconds(15));
    if (newest.copied_objects <= wanted)
      RunMirrorDaemonFor("b", milliseconds(50));
  }
  EXPECT_FALSE(IsPrimary("b", volume));
  Continue("b", "rbd-mirror");

  const std::vector<grpc::Status> answers = calls.get();
  EXPECT_THAT(answers,
              Each(AnyOf(HasCode(Code::UNAVAILABLE), HasCode(Code::OK))));
  EXPECT_THAT(answers.back(), HasCode(Code::OK));
  std::vector<std::string> messages;
  for (const auto& answer : answers) messages.push_back(answer.error_message());
  EXPECT_THAT(messages, Contains(HasSubstr("of 512 objects copied")));
  const auto disk = OpenDisk("b", volume, Disk::Mode::kReadOnly);
  for (int64_t object = 0; object < kObjects; ++object) {
    ASSERT_EQ(disk->Read(static_cast<uint64_t>(object) << 22, 7), "before\n")
        << "object " << object;
  }
}

}  // namespace
}  // namespace addons::testing
