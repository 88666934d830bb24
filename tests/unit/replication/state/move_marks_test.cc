#include "replication/state/move_marks.h"

#include <gtest/gtest.h>

namespace addons {
namespace {

// Journal mode carries every key to the copy on the other site, whose promotion
// must not wait as one that takes a demotion back does.
TEST(OwnDemotionMarkTest, IsThatOfTheImageThatItNames) {
  for (const OwnDemotionStep step :
       {OwnDemotionStep::kDemoted, OwnDemotionStep::kTakenBack,
        OwnDemotionStep::kGivenBack}) {
    const OwnDemotionMark written{step};
    const std::string mark = FormatOwnDemotion(written, "10226b8b4567");
    EXPECT_EQ(ParseOwnDemotion(mark, "10226b8b4567"), written);
    EXPECT_EQ(ParseOwnDemotion(mark, "5e3a6b8b4567"), std::nullopt);
    EXPECT_EQ(ParseOwnDemotion(mark, "4567"), std::nullopt);
  }
}

TEST(OwnDemotionMarkTest, SaysWhenThePeersWereHeard) {
  const OwnDemotionMark written{OwnDemotionStep::kDemoted, 1795747522};
  const std::string mark = FormatOwnDemotion(written, "10226b8b4567");
  EXPECT_EQ(ParseOwnDemotion(mark, "10226b8b4567"), written);
  EXPECT_EQ(ParseOwnDemotion("demoted, peers heard at noon, image 1", "1"),
            OwnDemotionMark{OwnDemotionStep::kDemoted});
}

TEST(OwnDemotionMarkTest, SaysThatNobodyWasTold) {
  OwnDemotionMark written{OwnDemotionStep::kGivenBack};
  written.told_nobody = true;
  const std::string mark = FormatOwnDemotion(written, "10226b8b4567");
  EXPECT_EQ(mark, "given back, nobody told, image 10226b8b4567");
  EXPECT_EQ(ParseOwnDemotion(mark, "10226b8b4567"), written);
}

TEST(OwnDemotionMarkTest, OfAnOlderVersionCountsEverywhere) {
  EXPECT_EQ(ParseOwnDemotion("demoted", "10226b8b4567"),
            OwnDemotionMark{OwnDemotionStep::kDemoted});
  EXPECT_EQ(ParseOwnDemotion("taken back", "10226b8b4567"),
            OwnDemotionMark{OwnDemotionStep::kTakenBack});
  EXPECT_EQ(ParseOwnDemotion("of a later version", "10226b8b4567"),
            OwnDemotionMark{OwnDemotionStep::kDemoted});
}

}  // namespace
}  // namespace addons
