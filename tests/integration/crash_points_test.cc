#include "tests/integration/crash_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace addons::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Calls = std::vector<std::string>;

std::vector<std::string> Names(const std::vector<CrashPoint>& points) {
  std::vector<std::string> names;
  for (const CrashPoint& point : points) {
    names.push_back(absl::StrCat(point.after ? "after " : "before ", point.call,
                                 " #", point.nth));
  }
  return names;
}

TEST(CrashPointsTest, AreBeforeAndAfterEachCallThatAllRunsMake) {
  EXPECT_THAT(Names(PointsOf({{"open", "look", "look", "flatten"},
                              {"open", "look", "look", "look"}})),
              ElementsAre("before look #1", "after look #1", "before look #2",
                          "after look #2", "before open #1", "after open #1"));
  EXPECT_THAT(PointsOf({{"open"}, {}}), IsEmpty());
}

TEST(CrashPointsTest, AreTheFirstTwelveOfACall) {
  EXPECT_EQ(PointsOf({Calls(12, "look")}).size(), 24U);
  EXPECT_EQ(PointsOf({Calls(1000, "look")}).size(), 24U);
}

const CrashPoint kThirdLook = {"look", 3, true};

TEST(CrashReachTest, OneDeathIsEnough) {
  EXPECT_EQ(ReachOf(kThirdLook, {{.died = true}}), CrashReach::kDied);
  EXPECT_EQ(ReachOf(kThirdLook,
                    {{.ok = true, .calls = {"look", "look"}}, {.died = true}}),
            CrashReach::kDied);
}

TEST(CrashReachTest, AWaitThatEndedWithFewerLooksLeavesNothingOut) {
  EXPECT_EQ(ReachOf(kThirdLook, {{.ok = true, .calls = {"open", "look"}},
                                 {.ok = true, .calls = {"look", "look"}}}),
            CrashReach::kEndedBefore);
}

TEST(CrashReachTest, ACallThatIsNotMadeAtAllIsNeverReached) {
  EXPECT_EQ(ReachOf({"look", 1, false}, {{.ok = true, .calls = {"open"}}}),
            CrashReach::kNeverReached);
  EXPECT_EQ(ReachOf(kThirdLook, {{.ok = true, .calls = {"open"}}}),
            CrashReach::kNeverReached);
  EXPECT_EQ(ReachOf(kThirdLook, {{.ok = true, .calls = {"look"}},
                                 {.ok = true, .calls = {"open"}}}),
            CrashReach::kNeverReached);
}

TEST(CrashReachTest, AFaultThatDidNothingIsNeverReached) {
  EXPECT_EQ(ReachOf(kThirdLook, {{.ok = true, .calls = Calls(3, "look")}}),
            CrashReach::kNeverReached);
}

TEST(CrashReachTest, AVerbThatDidNotComeToItsEndIsNoExcuse) {
  EXPECT_EQ(ReachOf(kThirdLook, {{.ok = false, .calls = {"look", "look"}}}),
            CrashReach::kNeverReached);
  EXPECT_EQ(ReachOf(kThirdLook, {}), CrashReach::kNeverReached);
}

}  // namespace
}  // namespace addons::testing
