// A forced promotion sends rbd-mirror away in the middle of another volume's
// copy, and is kept from setting that copy back: somebody else does so before
// rbd-mirror goes on, which would leave one object out.

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SetBackTest : public TwoSitesTest {
 public:
  static void SetUpTestSuite() {
    TwoSitesTest::SetUpTestSuite();
    for (const std::string site : {"a", "b"}) {
      // One object after the other: each is noted.
      Rbd(site, {"config", "pool", "set", RealBed::kPool,
                 "rbd_concurrent_management_ops", "1"});
    }
  }

 protected:
  static constexpr uint64_t kBytes = uint64_t{256} << 20;

  void SetUp() override {
    TwoSitesTest::SetUp();
    other_ = MakeReplicatedVolume();
    volume_ = MakeReplicatedVolume({}, {"--size", "256M"});
  }

  /// rbd-mirror of b is stopped in the middle of a copy, and its watches live.
  void StopInMidCopy() {
    for (int round = 0; round < 10; ++round) {
      Write("a", volume_, absl::StrCat("whole ", round), kBytes);
      Synchronize("a", volume_);
      Stop("b", "rbd-mirror");
      Write("a", volume_, absl::StrCat("next ", round), kBytes);
      Rbd("a", {"mirror", "image", "snapshot", ImageSpec(volume_)});
      const int64_t before = NewestSnapshot("b", volume_).id;
      ASSERT_TRUE(Eventually(
          [&] {
            RunMirrorDaemonFor("b", milliseconds(20));
            copy_ = NewestSnapshot("b", volume_);
            return copy_.id != before &&
                   (copy_.complete || copy_.copied_objects > 2);
          },
          seconds(120)));
      if (!copy_.complete) return;
      Continue("b", "rbd-mirror");
    }
    FAIL() << "copied too quickly for this test";
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

  void ExpectNothingLeftOut() {
    ASSERT_TRUE(Eventually(
        [&] { return NewestSnapshot("b", volume_).complete; }, seconds(180)))
        << Status("b", volume_);
    EXPECT_EQ(Digest("b", volume_), Digest("a", volume_));
  }

  TestVolume other_;
  TestVolume volume_;
  SeenSnapshot copy_;
};

TEST_F(SetBackTest, IsDoneWhenRbdMirrorIsBackWhereThePromotionCouldNot) {
  ASSERT_NO_FATAL_FAILURE(StopInMidCopy());
  // All tries of the promotion, for both images.
  std::string fails;
  for (int call = 1; call <= 6; ++call) {
    absl::StrAppend(&fails, call > 1 ? "," : "", "rbd_open_by_id_read_only#",
                    call, ":errno=110");
  }
  Restart("b", {{"RBD_ADDONS_FAULTS", fails}});
  ASSERT_TRUE(Eventually(
      [&] { return Promote("b", other_, true, {}, seconds(60)).ok(); },
      seconds(180)));
  ASSERT_TRUE(
      Eventually([] { return LogSays("has interrupted are not set back"); }));
  Testbed("kill", {"b", "rbd-mirror"});
  Testbed("start", {"b", "rbd-mirror"});
  EXPECT_TRUE(Eventually([] { return LogSays("are set back by one object"); },
                         seconds(90)));
  ExpectNothingLeftOut();
}

TEST_F(SetBackTest, IsDoneByTheNextDaemonWhereThePromotionDied) {
  Restart("b", {{"RBD_ADDONS_FAULTS", "rbd_open_by_id_read_only#1:kill"}});
  ASSERT_NO_FATAL_FAILURE(StopInMidCopy());
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
