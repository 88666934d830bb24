// Site a dies while a snapshot is being copied to site b: a forced promotion
// returns to the last complete state, whatever happens on the way.

#include <chrono>
#include <string>

#include "tests/integration/mid_copy.h"

namespace addons::testing {
namespace {

// The short form failed there once, in a gate, and nobody knows where.
const bool kRescueBed = OnBluestore({"RescueTest"});

using std::chrono::seconds;
using ::testing::HasSubstr;

/// Site a has died before the first test. Forced at once, as an administrator
/// may.
class ShortRescueTest : public MidCopyTest {
 public:
  static void SetUpTestSuite() {
    StopInMidCopy(
        {{"copy", {}},
         {"copy, daemon dies in the promotion", {}},
         {"demotion, daemon dies", {{"--namespace", RealBed::kNamespace}}}});
    SiteDies();
  }
};

TEST_F(ShortRescueTest, AnOrdinaryCopy) {
  const Volume& made = volumes_->at("copy");
  EXPECT_THAT(Force(made.volume), HasCode(Code::OK));
  ExpectWhole(made);
}

TEST_F(ShortRescueTest, AnOrdinaryCopyWhenTheDaemonDiesInThePromotion) {
  DieInThePromotion(volumes_->at("copy, daemon dies in the promotion"),
                    [](const TestVolume&) {});
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
         {"copy, daemon dies", {{"--data-pool", "data"}}},
         {"copy, daemon dies in the promotion", {}},
         {"demotion", {}},
         {"demotion, daemon dies", {{"--namespace", RealBed::kNamespace}}}});
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

TEST_F(RescueTest, AnOrdinaryCopyWhenTheDaemonDiesInThePromotion) {
  DieInThePromotion(volumes_->at("copy, daemon dies in the promotion"),
                    WaitUntilForceIsRight);
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
  for (const auto& [name, made] : *volumes_) ExpectPeerResynced(name, made);
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
