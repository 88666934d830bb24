#include "replication/look/resync_history.h"

#include <gtest/gtest.h>

#include "tests/testing/manual_clock.h"

namespace addons {
namespace {

using ::addons::testing::ManualClock;
using std::chrono::minutes;
using std::chrono::seconds;

class ResyncHistoryTest : public ::testing::Test {
 protected:
  ManualClock clock_;
  ResyncHistory history_{clock_};
};

TEST_F(ResyncHistoryTest, PrimaryIsRememberedWithItsAge) {
  EXPECT_FALSE(history_.SincePrimary("k").has_value());
  history_.SawPrimary("k");
  clock_.Advance(seconds(40));
  EXPECT_EQ(history_.SincePrimary("k"), seconds(40));
  EXPECT_FALSE(history_.SincePrimary("other").has_value());
}

TEST_F(ResyncHistoryTest, ErrorStandsWhileItsReportIsRewritten) {
  EXPECT_EQ(history_.SawError("k", 100).rewrites, 0);
  clock_.Advance(seconds(30));
  EXPECT_EQ(history_.SawError("k", 100).rewrites, 0);
  clock_.Advance(seconds(30));
  const auto standing = history_.SawError("k", 130);
  EXPECT_EQ(standing.rewrites, 1);
  EXPECT_EQ(standing.stands_for, seconds(60));
}

TEST_F(ResyncHistoryTest, ErrorThatWasGoneBeginsAnew) {
  history_.SawError("k", 100);
  clock_.Advance(minutes(5));
  history_.SawNoError("k");
  const auto standing = history_.SawError("k", 400);
  EXPECT_EQ(standing.rewrites, 0);
  EXPECT_EQ(standing.stands_for, seconds(0));
}

TEST_F(ResyncHistoryTest, WhatNobodyAsksForIsForgotten) {
  history_.SawPrimary("k");
  clock_.Advance(minutes(31));
  history_.SawPrimary("other");
  EXPECT_FALSE(history_.SincePrimary("k").has_value());
}

}  // namespace
}  // namespace addons
