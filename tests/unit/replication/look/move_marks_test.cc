#include "replication/look/move_marks.h"

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
}

// Never one that says nothing, nor one of the steps that are known.
TEST(OwnDemotionMarkTest, OfANewerVersionIsUnclear) {
  OwnDemotionMark unclear;
  unclear.unclear = true;
  for (const char* const text :
       {"handed over, image 1", "of a later version", ", image 1",
        "demoted, peers heard at noon, image 1",
        "demoted, peers heard at 17, twice, image 1",
        "given back, told one, image 1", "taken back twice, image 1"}) {
    EXPECT_EQ(ParseOwnDemotion(text, "1"), unclear) << text;
  }
}

}  // namespace
}  // namespace addons
