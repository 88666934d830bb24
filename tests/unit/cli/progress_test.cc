#include "cli/progress.h"

#include <gtest/gtest.h>

#include <chrono>

namespace addons {
namespace {

using std::chrono::seconds;

class ProgressMeterTest : public ::testing::Test {
 protected:
  void Note(int at_second, uint64_t done, uint64_t total,
            const std::string& what = "promote") {
    meter_.Note(what, {done, total}, begin_ + seconds(at_second));
  }

  const ProgressMeter::Time begin_;
  ProgressMeter meter_;
};

TEST_F(ProgressMeterTest, SaysNothingOfWhatIsNotCounted) {
  EXPECT_EQ(meter_.Text(false), "");
  Note(0, 0, 0);
  EXPECT_EQ(meter_.Text(false), "");
}

TEST_F(ProgressMeterTest, ARateNeedsTwoLooks) {
  Note(0, 10, 200);
  EXPECT_EQ(meter_.Text(false), "5%");
  Note(10, 10, 200);
  EXPECT_EQ(meter_.Text(false), "5%");
  Note(20, 30, 200);
  EXPECT_EQ(meter_.Text(false), "15%, 30.0% a minute, about 2m50s left");
}

TEST_F(ProgressMeterTest, BytesAreShownAsSuch) {
  constexpr uint64_t kMebi = 1 << 20;
  Note(0, 0, 3072 * kMebi);
  Note(10, 120 * kMebi, 3072 * kMebi);
  EXPECT_EQ(meter_.Text(true), "3% of 3.0 GiB, 12.0 MiB/s, about 4m6s left");
}

TEST_F(ProgressMeterTest, ARateIsThatOfTheLastMinute) {
  Note(0, 0, 1000);
  Note(100, 100, 1000);
  Note(130, 400, 1000);
  Note(161, 710, 1000);
  EXPECT_EQ(meter_.Text(false), "71%, 60.0% a minute, about 29s left");
}

TEST_F(ProgressMeterTest, AnotherStepBeginsAnew) {
  Note(0, 0, 100);
  Note(10, 50, 100);
  Note(11, 10, 100, "another");
  EXPECT_EQ(meter_.Text(false), "10%");
  Note(12, 5, 100, "another");
  EXPECT_EQ(meter_.Text(false), "5%");
  Note(13, 6, 200, "another");
  EXPECT_EQ(meter_.Text(false), "3%");
}

TEST_F(ProgressMeterTest, WhatIsDoneHasNothingLeft) {
  Note(0, 0, 100);
  Note(10, 200, 100);
  EXPECT_EQ(meter_.Text(false), "100%, 600.0% a minute");
}

TEST(ProgressTest, IsReadFromAMessage) {
  const Progress progress =
      Progress::In("the copy is being made; 17 of 120 objects copied");
  EXPECT_EQ(progress.done, 17);
  EXPECT_EQ(progress.total, 120);
  for (const char* none :
       {"", "of objects", "3 objects", "x of 3 objects", "3 of x objects",
        "99999999999999999999 of 3 objects"}) {
    EXPECT_EQ(Progress::In(none).total, 0) << none;
  }
}

TEST(BytesTextTest, TakesTheUnitThatFits) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1536), "1.5 KiB");
  EXPECT_EQ(BytesText(5e15), "4547.5 TiB");
}

}  // namespace
}  // namespace addons
