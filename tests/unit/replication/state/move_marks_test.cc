#include "replication/state/move_marks.h"

#include <gtest/gtest.h>

namespace addons {
namespace {

// Journal mode carries every key to the copy on the other site, whose promotion
// must not wait as one that takes a demotion back does.
TEST(OwnDemotionMarkTest, IsThatOfTheImageThatItNames) {
  const std::string mark = OwnDemotionMark("demoted", "10226b8b4567");
  EXPECT_TRUE(IsOwnDemotionMark(mark, "10226b8b4567"));
  EXPECT_FALSE(IsOwnDemotionMark(mark, "5e3a6b8b4567"));
  EXPECT_FALSE(IsOwnDemotionMark(mark, "4567"));
}

TEST(OwnDemotionMarkTest, OfAnOlderVersionCountsEverywhere) {
  EXPECT_TRUE(IsOwnDemotionMark("demoted", "10226b8b4567"));
  EXPECT_TRUE(IsOwnDemotionMark("taken back", "10226b8b4567"));
}

}  // namespace
}  // namespace addons
