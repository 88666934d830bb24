#include "replication/resync_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "tests/rpc/log_capture.h"

namespace addons {
namespace {

using ::addons::testing::LogCapture;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

class ResyncLogTest : public ::testing::Test {
 protected:
  // How many lines there are after this answer.
  int64_t After(bool ready, const std::string& message, SteadyDuration passed,
                const std::string& object = "volume 'v'") {
    now_ += passed;
    resyncs_.Answered(object, ready, message, now_);
    const std::string text = log_.text();
    return std::count(text.begin(), text.end(), '\n');
  }

  const LogCapture log_;
  ResyncLog resyncs_;
  SteadyTime now_;
};

TEST_F(ResyncLogTest, PollingIsFolded) {
  EXPECT_EQ(After(false, "resync requested", seconds(0)), 1);
  EXPECT_EQ(After(false, "1 of 64 objects copied", seconds(15)), 2);
  for (int i = 2; i < 20; ++i) {
    EXPECT_EQ(
        After(false, std::to_string(i) + " of 64 objects copied", seconds(15)),
        2);
  }
  EXPECT_EQ(After(false, "50 of 64 objects copied", minutes(10)), 3);
}

TEST_F(ResyncLogTest, ThatItIsReadyIsTold) {
  After(false, "resync requested", seconds(0));
  EXPECT_EQ(After(true, "in step", seconds(15)), 2);
  EXPECT_THAT(log_.text(), HasSubstr("resync of volume 'v': ready=true"));
  EXPECT_EQ(After(true, "in step", seconds(15)), 2);
}

TEST_F(ResyncLogTest, VolumesAreApart) {
  EXPECT_EQ(After(false, "resync requested", seconds(0)), 1);
  EXPECT_EQ(After(false, "resync requested", seconds(0), "volume 'w'"), 2);
  EXPECT_EQ(After(false, "resync requested", seconds(0)), 2);
}

TEST_F(ResyncLogTest, ItsMemoryIsBounded) {
  for (int i = 0; i < 25000; ++i) {
    resyncs_.Answered("volume " + std::to_string(i), false, "x", now_);
  }
  // The first one was forgotten, and is therefore new.
  const std::string text = log_.text();
  const int64_t lines = std::count(text.begin(), text.end(), '\n');
  EXPECT_EQ(After(false, "x", seconds(0), "volume 0"), lines + 1);
}

}  // namespace
}  // namespace addons
