// A copy that was interrupted before rbd-mirror had noted an object of it,
// which rbd-mirror makes anew on top of what it had written.

#include <chrono>

#include "tests/integration/interrupted_copy.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const bool kCopyBeginningBed =
    OnBluestore({"CopyBeginningTest", "LongCopyBeginningTest"});

class CopyBeginningTest : public InterruptedCopyTest {
 protected:
  /// Objects are written before one is noted.
  CopyBeginningTest() : InterruptedCopyTest(/*objects_at_once=*/10) {}

  /// At most one object of the copy is noted.
  void StopInTheBeginning() {
    StopInMidCopy(
        milliseconds(12), [&] { return Digest("b", volume_) != whole_; },
        [&] { return copy_.copied_objects <= 1; });
  }
  void ForceTheOtherAndExpectWhole() {
    ASSERT_NO_FATAL_FAILURE(ForceTheOther());
    EXPECT_TRUE(
        Eventually([&] { return Digest("b", volume_) == whole_; }, seconds(60)))
        << copy_.copied_objects << " objects noted";
    RestartMirrorDaemon();
  }
};

TEST_F(CopyBeginningTest, IsPutBackByAForcedPromotionOfAnotherVolume) {
  ASSERT_NO_FATAL_FAILURE(StopInTheBeginning());
  ASSERT_NO_FATAL_FAILURE(ForceTheOtherAndExpectWhole());
  ExpectNothingLeftOut();
  EXPECT_GT(NewestSnapshot("b", volume_).id, copy_.id);
}

class LongCopyBeginningTest : public CopyBeginningTest {};

// Site a dies in the middle of the second copy.
TEST_F(LongCopyBeginningTest, ATakeoverReturnsToTheLastWholeState) {
  ASSERT_NO_FATAL_FAILURE(StopInTheBeginning());
  ASSERT_NO_FATAL_FAILURE(ForceTheOtherAndExpectWhole());
  SeenSnapshot second;
  ASSERT_TRUE(Eventually(
      [&] {
        const bool made = second.id > copy_.id;
        RunMirrorDaemonFor("b", milliseconds(made ? 12 : 50));
        second = NewestSnapshot("b", volume_);
        return second.id > copy_.id && second.copied_objects > 4;
      },
      seconds(180)));
  ASSERT_FALSE(second.complete) << "copied too quickly for this test";
  ASSERT_NE(Digest("b", volume_), whole_);
  Stop("a", "all");
  Continue("b", "rbd-mirror");
  ASSERT_TRUE(Eventually(
      [&] { return Promote("b", volume_, true, {}, seconds(60)).ok(); },
      seconds(240)));
  EXPECT_TRUE(IsPrimary("b", volume_));
  EXPECT_EQ(Digest("b", volume_), whole_);
}

}  // namespace
}  // namespace addons::testing
