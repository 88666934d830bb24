#include "operation/table/kept_results.h"

#include <gtest/gtest.h>

#include "tests/unit/operation/table_testing.h"

namespace addons {
namespace {

using testing::minutes;
using testing::Spec;

constexpr SteadyTime kNow = SteadyTime(std::chrono::hours(5));

int Found(KeptResults& kept, const OperationSpec& spec, SteadyTime now = kNow) {
  const std::any* value = kept.Find(spec, now);
  return value == nullptr ? -1 : std::any_cast<int>(*value);
}

TEST(KeptResultsTest, FindsTheResultOfTheSameWork) {
  KeptResults kept(4, minutes(10));
  kept.Keep(Spec("trim"), std::any(3), kNow);
  EXPECT_EQ(Found(kept, Spec("trim")), 3);
}

TEST(KeptResultsTest, OtherVerbParametersOrKeysAreOtherWork) {
  KeptResults kept(4, minutes(10));
  kept.Keep(Spec("trim", {"k1", "k2"}), std::any(3), kNow);
  OperationSpec forced = Spec("trim", {"k1", "k2"});
  forced.parameters = "force";
  EXPECT_EQ(Found(kept, forced), -1);
  EXPECT_EQ(Found(kept, Spec("sparsify", {"k1", "k2"})), -1);
  EXPECT_EQ(Found(kept, Spec("trim", {"k1"})), -1);
}

TEST(KeptResultsTest, ForgetsWhatIsTooOld) {
  KeptResults kept(4, minutes(10));
  kept.Keep(Spec("trim"), std::any(3), kNow);
  EXPECT_EQ(Found(kept, Spec("trim"), kNow + minutes(10) - SteadyDuration(1)),
            3);
  EXPECT_EQ(Found(kept, Spec("trim"), kNow + minutes(10)), -1);
  EXPECT_EQ(kept.size(), 0U);
}

TEST(KeptResultsTest, TheOldestMakesRoom) {
  KeptResults kept(2, minutes(10));
  kept.Keep(Spec("trim", {"k1"}), std::any(1), kNow);
  kept.Keep(Spec("trim", {"k2"}), std::any(2), kNow);
  kept.Keep(Spec("trim", {"k3"}), std::any(3), kNow);
  EXPECT_EQ(Found(kept, Spec("trim", {"k1"})), -1);
  EXPECT_EQ(Found(kept, Spec("trim", {"k2"})), 2);
  EXPECT_EQ(Found(kept, Spec("trim", {"k3"})), 3);
}

TEST(KeptResultsTest, OtherWorkOnOneOfTheKeysDropsTheResult) {
  KeptResults kept(4, minutes(10));
  kept.Keep(Spec("trim", {"k1", "k2"}), std::any(1), kNow);
  kept.DropOthers(Spec("demote", {"k2", "k3"}));
  EXPECT_EQ(Found(kept, Spec("trim", {"k1", "k2"})), -1);
}

TEST(KeptResultsTest, TheSameWorkDoesNotDropTheResult) {
  KeptResults kept(4, minutes(10));
  kept.Keep(Spec("trim"), std::any(1), kNow);
  kept.DropOthers(Spec("trim"));
  EXPECT_EQ(Found(kept, Spec("trim")), 1);
}

TEST(KeptResultsTest, ANewerResultReplacesTheOlderOneOfAKey) {
  KeptResults kept(4, minutes(10));
  kept.Keep(Spec("trim", {"k1", "k2"}), std::any(1), kNow);
  kept.Keep(Spec("sparsify", {"k2"}), std::any(2), kNow);
  EXPECT_EQ(Found(kept, Spec("trim", {"k1", "k2"})), -1);
  EXPECT_EQ(Found(kept, Spec("sparsify", {"k2"})), 2);
  EXPECT_EQ(kept.size(), 1U);
}

TEST(KeptResultsTest, KeepsNothingWithoutKeys) {
  KeptResults kept(4, minutes(10));
  kept.Keep(Spec("trim", {}), std::any(1), kNow);
  EXPECT_EQ(kept.size(), 0U);
  EXPECT_EQ(Found(kept, Spec("trim", {})), -1);
}

}  // namespace
}  // namespace addons
