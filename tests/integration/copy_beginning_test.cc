// A copy that was interrupted before rbd-mirror had noted an object of it,
// which rbd-mirror makes anew on top of what it had written.

#include <chrono>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CopyBeginningTest : public TwoSitesTest {
 protected:
  static constexpr uint64_t kBytes = uint64_t{256} << 20;

  void SetUp() override {
    TwoSitesTest::SetUp();
    // Ceph's default, so that objects are written before one is noted.
    for (const std::string site : {"a", "b"}) {
      Rbd(site, {"config", "pool", "set", RealBed::kPool,
                 "rbd_concurrent_management_ops", "10"});
    }
    other_ = MakeReplicatedVolume();
    volume_ = MakeReplicatedVolume({}, {"--size", "256M"});
  }
  /// b holds `whole_` with some objects of a newer state, and its rbd-mirror,
  /// which has noted one of them at most, is stopped.
  void StopInTheBeginning() {
    for (int round = 0; round < 10; ++round) {
      Write("a", volume_, absl::StrCat("whole ", round), kBytes);
      Synchronize("a", volume_);
      whole_ = Digest("b", volume_);
      Stop("b", "rbd-mirror");
      Write("a", volume_, absl::StrCat("next ", round), kBytes);
      Rbd("a", {"mirror", "image", "snapshot", ImageSpec(volume_)});
      const int64_t before = NewestSnapshot("b", volume_).id;
      ASSERT_TRUE(Eventually(
          [&] {
            RunMirrorDaemonFor("b", milliseconds(12));
            begun_ = NewestSnapshot("b", volume_);
            return begun_.id != before && Digest("b", volume_) != whole_;
          },
          seconds(120)));
      begun_ = NewestSnapshot("b", volume_);
      if (!begun_.complete && begun_.copied_objects <= 1) return;
      Continue("b", "rbd-mirror");
    }
    FAIL() << "copied too quickly for this test";
  }
  /// Of another volume, which sends rbd-mirror away.
  void ForceTheOther() {
    EXPECT_TRUE(Eventually(
        [&] { return Promote("b", other_, true, {}, seconds(60)).ok(); },
        seconds(180)));
    EXPECT_TRUE(
        Eventually([&] { return Digest("b", volume_) == whole_; }, seconds(60)))
        << begun_.copied_objects << " objects noted";
    // It would come back by itself in a minute.
    Testbed("kill", {"b", "rbd-mirror"});
    Testbed("start", {"b", "rbd-mirror"});
  }

  TestVolume other_;
  TestVolume volume_;
  uint64_t whole_ = 0;
  SeenSnapshot begun_;
};

TEST_F(CopyBeginningTest, IsPutBackByAForcedPromotionOfAnotherVolume) {
  ASSERT_NO_FATAL_FAILURE(StopInTheBeginning());
  ForceTheOther();
  ASSERT_TRUE(Eventually([&] { return NewestSnapshot("b", volume_).complete; },
                         seconds(180)));
  EXPECT_GT(NewestSnapshot("b", volume_).id, begun_.id);
  EXPECT_EQ(Digest("b", volume_), Digest("a", volume_));
}

class LongCopyBeginningTest : public CopyBeginningTest {};

// Site a dies in the middle of the second copy.
TEST_F(LongCopyBeginningTest, ATakeoverReturnsToTheLastWholeState) {
  ASSERT_NO_FATAL_FAILURE(StopInTheBeginning());
  ForceTheOther();
  SeenSnapshot second;
  ASSERT_TRUE(Eventually(
      [&] {
        const bool made = second.id > begun_.id;
        RunMirrorDaemonFor("b", milliseconds(made ? 12 : 50));
        second = NewestSnapshot("b", volume_);
        return second.id > begun_.id && second.copied_objects > 4;
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
