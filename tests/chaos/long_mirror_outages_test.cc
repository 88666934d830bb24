// Moves while an rbd-mirror is down or has just come back, with rbd-mirror's
// default intervals and the daemon's default times.

#include "tests/chaos/mirror_outages.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;

const bool kDefaultIntervals = StartBedWith({"--default-intervals"});

/// Longer than the settle time and the takeover time.
constexpr seconds kWatch{300};

class LongMirrorOutageTest : public MirrorOutagesTest {
 public:
  static void SetUpTestSuite() { StartDaemonsWithDefaultTimes(); }
};

TEST_F(LongMirrorOutageTest, ALivingPrimaryIsNotForcedWithoutTheTargetsMirror) {
  MoveWithoutTheTargetsMirror(MirrorEnd::kTerminated, kWatch);
  if (!HasFailure()) CleanUpAndCompare();
}

TEST_F(LongMirrorOutageTest, NorWhenThatWasKilled) {
  MoveWithoutTheTargetsMirror(MirrorEnd::kKilled, kWatch);
  if (!HasFailure()) CleanUpAndCompare();
}

TEST_F(LongMirrorOutageTest, AWorkloadThatGoesOnIsAwaited) {
  MoveWithoutTheSourcesMirror(MirrorEnd::kTerminated, kWatch);
  if (!HasFailure()) CleanUpAndCompare();
}

TEST_F(LongMirrorOutageTest, BothSitesAreNeverToldOk) {
  AskBothBesideARestartedMirror();
}

TEST_F(LongMirrorOutageTest, BothSitesAreNeverToldOkInJournalMode) {
  AskBothInJournalMode(kWatch / 2);
}

TEST_F(LongMirrorOutageTest, TheSourceDoesNotTakeAFinishedMoveBack) {
  AskTheSourceAfterTheMove(kWatch / 2);
}

TEST_F(LongMirrorOutageTest, AForcedPromotionEarlierExplainsNoSilence) {
  MoveAfterAForcedPromotion(kWatch);
  if (!HasFailure()) CleanUpAndCompare();
}

}  // namespace
}  // namespace addons::testing
