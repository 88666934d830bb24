// Moves while an rbd-mirror is down or has just come back, with the shortest
// times that are allowed.

#include "tests/chaos/mirror_outages.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;

/// Longer than the settle time and the takeover time.
constexpr seconds kWatch{100};
/// And than the time for which an eviction explains silence by itself.
constexpr seconds kWatchAfterEviction{125};

class MirrorOutageTest : public MirrorOutagesTest {
 public:
  static void SetUpTestSuite() {
    const std::vector<std::string> flags = {"--settle-time=60s",
                                            "--takeover-time=60s"};
    StartDaemons({{"a", flags}, {"b", flags}});
  }
};

TEST_F(MirrorOutageTest, ALivingPrimaryIsNotForcedWithoutTheTargetsMirror) {
  MoveWithoutTheTargetsMirror(MirrorEnd::kTerminated, kWatch);
}

class RestartedMirrorMoveTest : public MirrorOutageTest {};

TEST_F(RestartedMirrorMoveTest, BothSitesAreNeverToldOk) {
  AskBothBesideARestartedMirror();
}

class SilencedMirrorMoveTest : public MirrorOutageTest {};

TEST_F(SilencedMirrorMoveTest, AForcedPromotionEarlierExplainsNoSilence) {
  MoveAfterAForcedPromotion(kWatchAfterEviction);
}

}  // namespace
}  // namespace addons::testing
