#include "tests/integration/interrupted_copy.h"

#include "absl/strings/str_cat.h"

namespace addons::testing {

using std::chrono::seconds;

void InterruptedCopyTest::SetUp() {
  TwoSitesTest::SetUp();
  // Before rbd-mirror opens their images.
  CopyObjectsAtOnce(objects_at_once_);
  other_ = MakeReplicatedVolume();
  volume_ = MakeReplicatedVolume({}, {"--size", "256M"});
}

void InterruptedCopyTest::StopInMidCopy(std::chrono::milliseconds step,
                                        const std::function<bool()>& far_enough,
                                        const std::function<bool()>& wanted) {
  constexpr uint64_t kBytes = uint64_t{256} << 20;
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
          RunMirrorDaemonFor("b", step);
          copy_ = NewestSnapshot("b", volume_);
          return copy_.id != before && far_enough();
        },
        seconds(120)));
    copy_ = NewestSnapshot("b", volume_);
    if (!copy_.complete && wanted()) return;
    Continue("b", "rbd-mirror");
  }
  FAIL() << "copied too quickly for this test";
}

void InterruptedCopyTest::ForceTheOther() {
  ASSERT_TRUE(Eventually(
      [&] { return Promote("b", other_, true, {}, seconds(60)).ok(); },
      seconds(180)));
}

void InterruptedCopyTest::RestartMirrorDaemon() {
  Testbed("kill", {"b", "rbd-mirror"});
  Testbed("start", {"b", "rbd-mirror"});
}

void InterruptedCopyTest::ExpectNothingLeftOut() {
  ASSERT_TRUE(Eventually([&] { return NewestSnapshot("b", volume_).complete; },
                         seconds(180)))
      << Status("b", volume_);
  EXPECT_EQ(Digest("b", volume_), Digest("a", volume_));
}

}  // namespace addons::testing
