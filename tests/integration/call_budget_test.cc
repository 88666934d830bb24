// What a call costs on real clusters: no more opened images, questions to the
// manager and changes than docs/performance.md says.

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/cluster/reclaim_bed.h"
#include "tests/testing/documented_calls.h"

namespace addons::testing {
namespace {

class CallBudgetTest : public ReclaimBed {
 protected:
  // The watch asks the manager, too, whenever its time has come.
  static void SetUpTestSuite() { SetUpWith({"--watch-interval=0"}); }
  static CallCounts Opens() {
    CallCounts counts;
    for (const std::string call :
         {"rbd_open_read_only", "rbd_open", "rados_mgr_command",
          "rbd_mirror_image_enable2", "rbd_mirror_image_demote",
          "rbd_mirror_image_disable"}) {
      const double times = Metric(absl::StrCat(
          "ceph_call_duration_seconds_count{call=\"", call, "\"}"));
      counts[call] = times < 0 ? 0 : static_cast<int>(times);
    }
    return counts;
  }
  /// Since `before`.
  static CallCounts Made(const CallCounts& before) {
    CallCounts made = Opens();
    for (auto& [call, times] : made) times -= before.at(call);
    return made;
  }
  static void ExpectWithin(const CallCounts& before, const std::string& title) {
    const CallCounts documented =
        DocumentedCalls(ADDONS_PERFORMANCE_DOC, title);
    for (const auto& [call, times] : Made(before)) {
      const auto found = documented.find(call);
      EXPECT_LE(times, found == documented.end() ? 0 : found->second)
          << title << ": " << call;
    }
  }
};

TEST_F(CallBudgetTest, ReplicationOfAVolume) {
  const TestVolume volume = MakeVolume();
  const Parameters schedule = ScheduleNotDue();
  // Its connections, and what is done once in a while.
  ASSERT_THAT(Enable("a", MakeVolume(), schedule), HasCode(Code::OK));

  CallCounts before = Opens();
  ASSERT_THAT(Enable("a", volume, schedule), HasCode(Code::OK));
  EXPECT_EQ(Made(before).at("rbd_mirror_image_enable2"), 1);
  ExpectWithin(before, "enable");
  before = Opens();
  ASSERT_THAT(Enable("a", volume, schedule), HasCode(Code::OK));
  ExpectWithin(before, "enable again");

  ASSERT_THAT(Promote("a", volume, false, schedule), HasCode(Code::OK));
  before = Opens();
  ASSERT_THAT(Promote("a", volume, false, schedule), HasCode(Code::OK));
  ExpectWithin(before, "promote again");

  Synchronize("a", volume);
  // The peer's rbd-mirror follows, so that a demotion does not wait for it.
  ASSERT_TRUE(Eventually([&] {
    return absl::StrContains(Rbd("a", {"status", ImageSpec(volume)}),
                             "watcher=");
  }));
  before = Opens();
  ASSERT_THAT(Demote("a", volume), HasCode(Code::OK));
  EXPECT_EQ(Made(before).at("rbd_mirror_image_demote"), 1);
  ExpectWithin(before, "demote");
  before = Opens();
  ASSERT_THAT(Demote("a", volume), HasCode(Code::OK));
  ExpectWithin(before, "demote again");
}

TEST_F(CallBudgetTest, DisableOfAPrimary) {
  const TestVolume volume = MakeReplicatedVolume(ScheduleNotDue());
  const CallCounts before = Opens();
  ASSERT_THAT(Disable("a", volume), HasCode(Code::OK));
  EXPECT_EQ(Made(before).at("rbd_mirror_image_disable"), 1);
  ExpectWithin(before, "disable");
}

// The handle that works; looks open nothing.
TEST_F(CallBudgetTest, ReclaimOpensTheImageOnce) {
  const TestVolume volume = MakeHollowVolume();
  const CallCounts before = Opens();
  ASSERT_THAT(Reclaim(volume).status, HasCode(Code::OK));
  ExpectWithin(before, "reclaim");
  EXPECT_EQ(Made(before).at("rbd_open"), 1);
}

TEST_F(CallBudgetTest, ReclaimOfAnImageWithoutObjectsOpensNothing) {
  const TestVolume volume = MakeVolume();
  const CallCounts before = Opens();
  ASSERT_THAT(Reclaim(volume).status, HasCode(Code::OK));
  ExpectWithin(before, "reclaim, no object");
}

}  // namespace
}  // namespace addons::testing
