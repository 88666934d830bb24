#include "ceph/librados/fault_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace addons {

void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.call << "#" << fault.nth << ":"
       << static_cast<int>(fault.action) << "=" << fault.value;
}

namespace {

using ::addons::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(ParseFaultsTest, ReadsEveryAction) {
  const auto faults = ParseFaults(
      "rbd_open:kill,rbd_close#2:kill-after,rados_connect:errno=13,"
      "rbd_stat#7:errno-after=110, rbd_mirror_image_enable2:hang=1500");
  ASSERT_OK(faults);
  EXPECT_THAT(*faults,
              ElementsAre(Fault{"rbd_open", 0, Fault::Action::kKill, 0},
                          Fault{"rbd_close", 2, Fault::Action::kKillAfter, 0},
                          Fault{"rados_connect", 0, Fault::Action::kErrno, 13},
                          Fault{"rbd_stat", 7, Fault::Action::kErrnoAfter, 110},
                          Fault{"rbd_mirror_image_enable2", 0,
                                Fault::Action::kHang, 1500}));
}

TEST(ParseFaultsTest, TakesEmptyTextForNoFaults) {
  const auto faults = ParseFaults("");
  ASSERT_OK(faults);
  EXPECT_THAT(*faults, IsEmpty());
}

class ParseFaultsRefusalTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ParseFaultsRefusalTest, NamesTheWrongEntry) {
  EXPECT_THAT(ParseFaults(GetParam()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Failed to read fault '")));
}

INSTANTIATE_TEST_SUITE_P(
    All, ParseFaultsRefusalTest,
    ::testing::Values("rbd_open", "rbd_open:", "rbd_open:explode", ":kill",
                      "rbd_open#:kill", "rbd_open#0:kill", "rbd_open#-1:kill",
                      "rbd_open#x:kill", "rbd open:kill", "rbd_open:errno=",
                      "rbd_open:errno=0", "rbd_open:errno=-5",
                      "rbd_open:errno=5000", "rbd_open:errno=EIO",
                      "rbd_open:hang=0", "rbd_open:hang=1s", "rbd_open:kill,",
                      ",rbd_open:kill", "rbd_open:kill=1"));

FaultPlan Plan(absl::string_view text) {
  return FaultPlan(ParseFaults(text).value());
}

TEST(FaultPlanTest, HitsEveryCallOfANameWithoutANumber) {
  FaultPlan plan = Plan("rbd_open:errno=5");
  EXPECT_THAT(plan.Arrive("rbd_open"), SizeIs(1));
  EXPECT_THAT(plan.Arrive("rbd_open"), SizeIs(1));
}

TEST(FaultPlanTest, HitsOnlyTheNumberedCall) {
  FaultPlan plan = Plan("rbd_open#2:errno=5");
  EXPECT_THAT(plan.Arrive("rbd_open"), IsEmpty());
  EXPECT_THAT(plan.Arrive("rbd_open"), SizeIs(1));
  EXPECT_THAT(plan.Arrive("rbd_open"), IsEmpty());
}

TEST(FaultPlanTest, CountsEachNameByItself) {
  FaultPlan plan = Plan("rbd_open#2:errno=5");
  EXPECT_THAT(plan.Arrive("rbd_open_read_only"), IsEmpty());
  EXPECT_THAT(plan.Arrive("rbd_open"), IsEmpty());
  EXPECT_THAT(plan.Arrive("rbd_close"), IsEmpty());
  EXPECT_THAT(plan.Arrive("rbd_open"), SizeIs(1));
}

TEST(FaultPlanTest, GivesSeveralFaultsOfOneCallInTheirOrder) {
  FaultPlan plan = Plan("rbd_open:hang=10,rbd_open#1:errno=5");
  const std::vector<Fault> hits = plan.Arrive("rbd_open");
  ASSERT_THAT(hits, SizeIs(2));
  EXPECT_EQ(hits[0].action, Fault::Action::kHang);
  EXPECT_EQ(hits[1].action, Fault::Action::kErrno);
}

}  // namespace
}  // namespace addons
