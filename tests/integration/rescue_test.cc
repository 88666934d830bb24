// Site a dies while a snapshot is being copied to site b: a forced promotion
// returns to the last complete state, whatever happens on the way.

#include <sys/types.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kBytes = uint64_t{2} << 30;
constexpr int64_t kObjects = 512;
/// What the last complete state has written; the rest of it is zeros.
constexpr uint64_t kWholeBytes = kBytes / 2;
/// A rescue writes so many small ranges at a time. So many objects must have
/// arrived that bringing the last complete state back takes two such writes: of
/// a half-arrived demotion librbd takes nothing back, and what has not arrived
/// needs no bringing back.
constexpr int64_t kRangesAtATime = 64;
constexpr int64_t kArrived = kRangesAtATime + kRangesAtATime / 2;

/// Each volume is in mid-copy on b, whose rbd-mirror is stopped.
class MidCopyTest : public TwoSitesTest {
 public:
  struct Volume {
    TestVolume volume;
    uint64_t digest = 0;  // of the last complete state
  };

  static void TearDownTestSuite() {
    delete volumes_;
    TwoSitesTest::TearDownTestSuite();
  }

 protected:
  /// Volumes by name, with the flags that they are made with. One whose name
  /// begins with "demotion" is in the middle of that.
  static void StopInMidCopy(
      const std::map<std::string, std::vector<std::string>>& volumes) {
    TwoSitesTest::SetUpTestSuite();
    for (const std::string site : {"a", "b"}) {
      Rbd(site, {"config", "pool", "set", RealBed::kPool,
                 "rbd_concurrent_management_ops", "1"});
    }
    volumes_ = new std::map<std::string, Volume>();
    for (const auto& [name, flags] : volumes) Make(name, flags);
    Testbed("stop", {"b", "rbd-mirror"});
    for (const auto& [name, made] : *volumes_) {
      Write("a", made.volume, "in mid-copy", kBytes);
      if (IsDemotion(name)) {
        ASSERT_THAT(Demote("a", made.volume), HasCode(Code::OK));
      } else {
        Rbd("a", {"mirror", "image", "snapshot", ImageSpec(made.volume)});
      }
    }
    CopyInPart();
  }
  static void SiteDies() {
    Testbed("stop", {"a", "all"});
    Testbed("cont", {"b", "rbd-mirror"});
  }
  static bool IsDemotion(const std::string& name) {
    return name.starts_with("demotion");
  }
  static void Make(const std::string& name, std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--size", "2G"});
    Volume made{MakeReplicatedVolume({}, flags)};
    Write("a", made.volume, absl::StrCat("whole: ", name), kWholeBytes);
    Synchronize("a", made.volume);
    made.digest = Digest("b", made.volume);
    volumes_->emplace(name, made);
  }

  /// Lets rbd-mirror of b, which is stopped, run in small slices until each
  /// volume has arrived in part.
  static void CopyInPart() {
    pid_t pid = 0;
    std::ifstream(Bed().Path("b/pid/rbd-mirror")) >> pid;
    ASSERT_GT(pid, 0);
    const auto start = steady_clock::now();
    bool all = false;
    while (!all) {
      ASSERT_LT(steady_clock::now() - start, seconds(120));
      kill(pid, SIGCONT);
      RealClock().SleepFor(milliseconds(50), std::stop_token());
      kill(pid, SIGSTOP);
      all = true;
      for (const auto& [name, made] : *volumes_) {
        const SeenSnapshot newest = NewestSnapshot("b", made.volume);
        all = all && !newest.complete && newest.copied_objects >= kArrived;
      }
    }
    for (const auto& [name, made] : *volumes_) {
      const SeenSnapshot newest = NewestSnapshot("b", made.volume);
      std::cerr << name << ": " << newest.copied_objects << " of " << kObjects
                << " objects copied" << std::endl;
      ASSERT_FALSE(newest.complete) << "copied too quickly for this test";
      ASSERT_EQ(newest.demoted, IsDemotion(name));
    }
  }

  /// What the operator does: without force until it is told that force is
  /// right.
  static void WaitUntilForceIsRight(const TestVolume& volume) {
    const auto answers = PromoteRepeatedly("b", volume, seconds(150));
    ASSERT_THAT(answers.back(), HasCode(Code::FAILED_PRECONDITION))
        << Status("b", volume);
    ASSERT_THAT(answers.back().error_message(), HasSubstr("no sign of life"));
  }
  /// By force until the call answers something else than "not yet". `answers`:
  /// what was said until then.
  static grpc::Status Force(const TestVolume& volume,
                            std::vector<std::string>* answers = nullptr) {
    const auto start = steady_clock::now();
    grpc::Status answer;
    do {
      answer = Promote("b", volume, true, {}, seconds(20));
      if (!answer.ok()) std::cerr << answer.error_message() << std::endl;
      if (answers != nullptr) answers->push_back(answer.error_message());
    } while ((answer.error_code() == Code::UNAVAILABLE ||
              answer.error_code() == Code::ABORTED) &&
             Daemon("b").Running() &&
             steady_clock::now() - start < seconds(240));
    std::cerr
        << "forced in "
        << std::chrono::duration<double>(steady_clock::now() - start).count()
        << " s" << std::endl;
    return answer;
  }
  static std::string Images(const TestVolume& volume) {
    const std::string spec = ImageSpec(volume);
    return Rbd("b", {"ls", spec.substr(0, spec.rfind('/'))});
  }
  static void ExpectWhole(const Volume& made) {
    EXPECT_TRUE(IsPrimary("b", made.volume));
    EXPECT_EQ(Digest("b", made.volume), made.digest);
    EXPECT_THAT(Images(made.volume), Not(HasSubstr("rescue")));
    const SeenSnapshot newest = NewestSnapshot("b", made.volume);
    EXPECT_TRUE(newest.complete);
    EXPECT_FALSE(newest.demoted);
  }
  /// The daemon dies when everything is saved and nothing is promoted yet, the
  /// next one in the middle of the way back, and a third one goes on.
  static void DieOnTheWayBack(
      const Volume& made,
      const std::function<void(const TestVolume&)>& before_force) {
    Restart("b", {{"RBD_ADDONS_FAULTS", "rbd_mirror_image_promote:kill"}});
    ASSERT_NO_FATAL_FAILURE(before_force(made.volume));
    EXPECT_THAT(Force(made.volume), HasCode(Code::UNAVAILABLE));
    ASSERT_TRUE(Daemon("b").WaitForEnd(20));
    ASSERT_FALSE(IsPrimary("b", made.volume));
    // What is saved is not written again: the first write brings back.
    Restart("b", {{"RBD_ADDONS_FAULTS", "rbd_aio_write#2:kill"}});
    EXPECT_THAT(Force(made.volume), HasCode(Code::UNAVAILABLE));
    ASSERT_TRUE(Daemon("b").WaitForEnd(20));
    Restart("b");
    ASSERT_TRUE(IsPrimary("b", made.volume));
    ASSERT_THAT(Images(made.volume), HasSubstr("rbd-addons-rescue."));
    ASSERT_NE(Digest("b", made.volume), made.digest);

    // Nobody takes it for whole.
    ::replication::GetVolumeReplicationInfoResponse info;
    EXPECT_THAT(Info("b", made.volume, &info), HasCode(Code::OK));
    EXPECT_THAT(info.status_message(), HasSubstr("half-done"));
    EXPECT_THAT(Demote("b", made.volume), HasCode(Code::UNAVAILABLE));
    EXPECT_THAT(Disable("b", made.volume), HasCode(Code::UNAVAILABLE));

    // The two that died are no workloads, although their watches live on.
    std::vector<std::string> answers;
    EXPECT_THAT(Force(made.volume, &answers), HasCode(Code::OK));
    EXPECT_THAT(answers, Each(Not(HasSubstr("in use by"))));
    ExpectWhole(made);
  }

  static std::map<std::string, Volume>* volumes_;
};

std::map<std::string, MidCopyTest::Volume>* MidCopyTest::volumes_ = nullptr;

/// Site a has died before the first test. Forced at once, as an administrator
/// may.
class ShortRescueTest : public MidCopyTest {
 public:
  static void SetUpTestSuite() {
    StopInMidCopy(
        {{"copy", {}},
         {"demotion, daemon dies", {"--namespace", RealBed::kNamespace}}});
    SiteDies();
  }
};

TEST_F(ShortRescueTest, AnOrdinaryCopy) {
  const Volume& made = volumes_->at("copy");
  EXPECT_THAT(Force(made.volume), HasCode(Code::OK));
  ExpectWhole(made);
}

TEST_F(ShortRescueTest, ADemotionWhenTheDaemonDies) {
  DieOnTheWayBack(volumes_->at("demotion, daemon dies"),
                  [](const TestVolume&) {});
}

/// Site a has died before the first test. Forced when the daemon says that it
/// is right.
class RescueTest : public MidCopyTest {
 public:
  static void SetUpTestSuite() {
    StopInMidCopy(
        {{"copy", {}},
         {"copy, daemon dies", {"--data-pool", "data"}},
         {"demotion", {}},
         {"demotion, daemon dies", {"--namespace", RealBed::kNamespace}}});
    SiteDies();
  }
};

TEST_F(RescueTest, AnOrdinaryCopy) {
  const Volume& made = volumes_->at("copy");
  ASSERT_NO_FATAL_FAILURE(WaitUntilForceIsRight(made.volume));
  EXPECT_THAT(Force(made.volume), HasCode(Code::OK));
  ExpectWhole(made);
}

TEST_F(RescueTest, ADemotion) {
  const Volume& made = volumes_->at("demotion");
  ASSERT_NO_FATAL_FAILURE(WaitUntilForceIsRight(made.volume));
  EXPECT_THAT(Force(made.volume), HasCode(Code::OK));
  ExpectWhole(made);
}

TEST_F(RescueTest, AnOrdinaryCopyWhenTheDaemonDies) {
  DieOnTheWayBack(volumes_->at("copy, daemon dies"), WaitUntilForceIsRight);
}

TEST_F(RescueTest, ADemotionWhenTheDaemonDies) {
  DieOnTheWayBack(volumes_->at("demotion, daemon dies"), WaitUntilForceIsRight);
}

/// The last test: it brings site a back.
TEST_F(RescueTest, ThePeerIsResyncedAfterwards) {
  for (const auto& [name, made] : *volumes_) {
    ASSERT_THAT(Force(made.volume), HasCode(Code::OK)) << name;
    Write("b", made.volume, "of site b", kBytes / 4);
  }
  Continue("a", "all");
  for (const auto& [name, made] : *volumes_) {
    const TestVolume& volume = made.volume;
    ASSERT_TRUE(
        Eventually([&] { return Demote("a", volume).ok(); }, seconds(120)))
        << name;
    bool ready = false;
    EXPECT_TRUE(Eventually(
        [&] { return Resync("a", volume, true, &ready).ok() && ready; },
        seconds(150)))
        << name << ": " << Status("a", volume);
    Synchronize("b", volume);
    EXPECT_EQ(Digest("a", volume), Digest("b", volume)) << name;
  }
}

/// Site a lives on, and its rbd-mirror looks at b at once.
class HalfDemotionTest : public MidCopyTest {
 public:
  static void SetUpTestSuite() { StopInMidCopy({{"demotion", {}}}); }
};

TEST_F(HalfDemotionTest, IsNotTakenForTheWholeOneByTheOtherSite) {
  const Volume& made = volumes_->at("demotion");
  const TestVolume& volume = made.volume;
  const uint64_t of_a = Digest("a", volume);
  EXPECT_THAT(Force(volume), HasCode(Code::OK));
  ExpectWhole(made);
  Testbed("cont", {"b", "rbd-mirror"});
  Write("b", volume, "of site b", kBytes / 4);

  // Its copy holds what b never had whole, and is not said to be in step.
  grpc::Status answer;
  bool ready = false;
  EXPECT_TRUE(Eventually(
      [&] {
        answer = Resync("a", volume, false, &ready);
        EXPECT_FALSE(answer.ok()) << "ready " << ready;
        return !answer.ok() && answer.error_code() == Code::FAILED_PRECONDITION;
      },
      seconds(180)))
      << answer.error_message() << Status("a", volume);
  EXPECT_THAT(answer.error_message(), HasSubstr("split brain"));
  EXPECT_EQ(Digest("a", volume), of_a);
  EXPECT_TRUE(Eventually(
      [&] { return Resync("a", volume, true, &ready).ok() && ready; },
      seconds(180)))
      << Status("a", volume);
  Synchronize("b", volume);
  EXPECT_EQ(Digest("a", volume), Digest("b", volume));
}

}  // namespace
}  // namespace addons::testing
