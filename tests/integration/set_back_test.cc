// A forced promotion sends rbd-mirror away in the middle of another volume's
// copy, and is kept from setting that copy back: somebody else does so before
// rbd-mirror goes on, which would leave one object out.

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/integration/interrupted_copy.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const bool kSetBackBed = OnBluestore({"SetBackTest"});

class SetBackTest : public InterruptedCopyTest {
 protected:
  /// Each object is noted.
  SetBackTest() : InterruptedCopyTest(/*objects_at_once=*/1) {}

  /// The watches of rbd-mirror live.
  void StopAfterSomeObjects() {
    StopInMidCopy(
        milliseconds(20),
        [&] { return copy_.complete || copy_.copied_objects > 2; },
        [] { return true; });
  }
  /// Objects of the copy that are noted.
  int64_t Copied() const {
    const SeenSnapshot newest = NewestSnapshot("b", volume_);
    return newest.id == copy_.id && !newest.complete ? newest.copied_objects
                                                     : -1;
  }
  static bool LogSays(const std::string& text) {
    return Daemon("b").Log().find(text) != std::string::npos;
  }
};

TEST_F(SetBackTest, IsDoneWhenRbdMirrorIsBackWhereThePromotionCouldNot) {
  ASSERT_NO_FATAL_FAILURE(StopAfterSomeObjects());
  // All tries of the promotion, for both images.
  std::string fails;
  for (int call = 1; call <= 6; ++call) {
    absl::StrAppend(&fails, call > 1 ? "," : "", "rbd_open_by_id_read_only#",
                    call, ":errno=110");
  }
  Restart("b", {{"RBD_ADDONS_FAULTS", fails}});
  ASSERT_NO_FATAL_FAILURE(ForceTheOther());
  ASSERT_TRUE(
      Eventually([] { return LogSays("has interrupted are not set back"); }));
  RestartMirrorDaemon();
  EXPECT_TRUE(Eventually([] { return LogSays("are set back by one object"); },
                         seconds(90)));
  ExpectNothingLeftOut();
}

TEST_F(SetBackTest, IsDoneByTheNextDaemonWhereThePromotionDied) {
  Restart("b", {{"RBD_ADDONS_FAULTS", "rbd_open_by_id_read_only#1:kill"}});
  ASSERT_NO_FATAL_FAILURE(StopAfterSomeObjects());
  EXPECT_TRUE(Eventually(
      [&] {
        Promote("b", other_, true, {}, seconds(60));
        return Daemon("b").WaitForEnd(1);
      },
      seconds(120)));
  const int64_t copied = copy_.copied_objects;
  ASSERT_EQ(Copied(), copied);
  // Nobody is there any more whom the next daemon could see go; the one of a
  // has b's pool open, too, and comes back from its eviction.
  for (const std::string site : {"a", "b"})
    Testbed("kill", {site, "rbd-mirror"});
  ASSERT_TRUE(Eventually(
      [] {
        return Testbed("rados", {"b", "-p", RealBed::kPool, "listwatchers",
                                 "rbd_mirroring"})
            .empty();
      },
      seconds(90)));
  EXPECT_EQ(Copied(), copied);
  Restart("b");
  // Changes nothing itself, but names the pool.
  ::replication::GetVolumeReplicationInfoResponse info;
  Info("b", other_, &info);
  EXPECT_TRUE(Eventually([&] { return Copied() == copied - 1; }, seconds(60)))
      << Copied() << " of " << copied;
  for (const std::string site : {"a", "b"}) {
    Testbed("start", {site, "rbd-mirror"});
  }
  ExpectNothingLeftOut();
}

}  // namespace
}  // namespace addons::testing
