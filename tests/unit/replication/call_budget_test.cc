// What a call costs: the Ceph calls of each verb are those of the table in
// docs/performance.md, no more and no fewer.

#include <chrono>
#include <string>

#include "tests/testing/documented_calls.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

class CallBudgetTest : public VerbsTest {
 protected:
  /// What was called on `site` since the last time.
  CallCounts Made(const std::string& site) {
    CallCounts counts;
    for (const CallRecord& record : world_.Calls()) {
      if (record.site == site) ++counts[record.call];
    }
    world_.ClearCalls();
    return counts;
  }
  void ExpectAsDocumented(const std::string& title, const std::string& site) {
    EXPECT_EQ(Made(site), DocumentedCalls(ADDONS_PERFORMANCE_DOC, title))
        << title;
  }
};

// What OsdBudgetTest goes by; that one needs real clusters to fail.
TEST(CallTablesTest, EachRowOfWhatCallsCostTheOsdsHasAReason) {
  EXPECT_THAT(DocumentedCalls(ADDONS_PERFORMANCE_DOC, "OSD operations at most"),
              ::testing::Contains(::testing::Key("PromoteVolume, again")));
}

TEST_F(CallBudgetTest, PlannedMove) {
  AddMirrored();
  ASSERT_OK(Disable(on_a_));
  world_.Advance(std::chrono::minutes(2));
  const ParameterMap schedule = {{"schedulingInterval", "5m"}};
  world_.ClearCalls();
  ASSERT_OK(Enable(on_a_, schedule));
  ExpectAsDocumented("enable", "a");
  ASSERT_OK(Enable(on_a_, schedule));
  ExpectAsDocumented("enable again", "a");
  ASSERT_OK(Promote(on_a_, Force::kNo, schedule));
  world_.Advance(std::chrono::minutes(2));
  world_.ClearCalls();
  ASSERT_OK(Promote(on_a_, Force::kNo, schedule));
  ExpectAsDocumented("promote again", "a");
  // The first one in a few seconds asks the manager, for all.
  ASSERT_OK(Info(on_a_));
  EXPECT_EQ(Made("a").at("rados_mgr_command"), 1);
  ASSERT_OK(Info(on_a_));
  ExpectAsDocumented("info, primary", "a");
  ASSERT_OK(Demote(on_a_));
  ExpectAsDocumented("demote", "a");
  ASSERT_OK(Demote(on_a_));
  ExpectAsDocumented("demote again", "a");
  world_.Advance(std::chrono::minutes(2));
  world_.ClearCalls();
  ASSERT_OK(Promote(on_b_, Force::kNo, schedule));
  ExpectAsDocumented("promote", "b");
  world_.Advance(std::chrono::minutes(2));
  world_.ClearCalls();
  ASSERT_OK(Resync(on_a_));
  ExpectAsDocumented("resync, in step", "a");
  ASSERT_OK(Info(on_a_));
  ExpectAsDocumented("info, secondary", "a");
  ASSERT_OK(Disable(on_b_));
  ExpectAsDocumented("disable", "b");
  ASSERT_OK(Disable(on_b_));
  ExpectAsDocumented("disable again", "b");
}

// What the handle that promoted shows is no proof of a snapshot that is not
// complete: that is looked at anew, as is what was done about it.
TEST_F(CallBudgetTest, APromotionIsReadBackAnewWhereItsHandleShowsNoWholeOne) {
  AddMirrored();
  a_.Demote(image_);
  world_.Advance(std::chrono::minutes(2));
  b_.LeaveNextSnapshotIncomplete(image_);
  world_.ClearCalls();
  ASSERT_OK(Promote(on_b_));
  // And once more after a complete snapshot was made.
  EXPECT_EQ(Made("b").at("rbd.mirror_image_status_get"), 4);
}

}  // namespace
}  // namespace addons::testing
