#include "rpc/access_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/rpc/log_capture.h"
#include "tests/testing/manual_clock.h"

namespace addons {
namespace {

using ::addons::testing::LogCapture;
using ::addons::testing::ManualClock;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPromote[] = "replication.Controller/PromoteVolume";

class AccessLogTest : public ::testing::Test {
 protected:
  void Write(const absl::Status& status, const std::string& method = kPromote,
             const std::string& object = "volume_id=v") {
    log_.Write({"r-1", method, object, status, std::chrono::milliseconds(12)});
  }

  LogCapture captured_{spdlog::level::info};
  ManualClock clock_;
  AccessLog log_{clock_};
};

TEST_F(AccessLogTest, TellsAChangeInOneLine) {
  Write(absl::OkStatus());
  EXPECT_EQ(captured_.text(),
            "info call method=replication.Controller/PromoteVolume volume_id=v "
            "code=OK dur_ms=12 req=r-1\n");
}

TEST_F(AccessLogTest, TellsReadsAtDebugOnly) {
  Write(absl::OkStatus(), "identity.Identity/Probe");
  EXPECT_EQ(captured_.text(), "");
}

// The operator asks it every 15 s for as long as a copy takes.
TEST_F(AccessLogTest, TellsAResyncAtDebugOnlyUnlessItFails) {
  Write(absl::OkStatus(), "replication.Controller/ResyncVolume");
  EXPECT_EQ(captured_.text(), "");
  Write(absl::UnavailableError("gone"), "replication.Controller/ResyncVolume");
  EXPECT_THAT(captured_.text(), HasSubstr("code=UNAVAILABLE"));
}

TEST_F(AccessLogTest, TellsFailedReads) {
  Write(absl::UnavailableError("no monitor"),
        "replication.Controller/GetVolumeReplicationInfo");
  EXPECT_THAT(captured_.text(), HasSubstr("code=UNAVAILABLE"));
}

TEST_F(AccessLogTest, QuotesTheMessage) {
  Write(absl::AbortedError("busy\nfor 3 s"));
  EXPECT_THAT(captured_.text(), HasSubstr("message=\"busy\\nfor 3 s\"\n"));
}

TEST_F(AccessLogTest, LeavesRepeatedFailuresOut) {
  for (int age = 1; age <= 5; ++age) {
    Write(absl::AbortedError(absl::StrCat("busy for ", age * 7, " ms")));
  }
  EXPECT_THAT(captured_.text(), HasSubstr("busy for 7 ms"));
  EXPECT_THAT(captured_.text(), Not(HasSubstr("busy for 14 ms")));
}

TEST_F(AccessLogTest, SaysHowManyWereLeftOut) {
  for (int i = 0; i < 4; ++i) Write(absl::AbortedError("busy"));
  clock_.Advance(std::chrono::seconds(11));
  Write(absl::AbortedError("busy"));
  EXPECT_THAT(captured_.text(), HasSubstr("message=busy repeated=3\n"));
}

TEST_F(AccessLogTest, TellsAFailureThatIsDifferent) {
  Write(absl::AbortedError("busy"));
  Write(absl::UnavailableError("busy"));
  Write(absl::AbortedError("asleep"));
  Write(absl::AbortedError("busy"), kPromote, "volume_id=w");
  const std::string text = captured_.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

TEST_F(AccessLogTest, TellsEverySuccess) {
  Write(absl::OkStatus());
  Write(absl::OkStatus());
  const std::string text = captured_.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST_F(AccessLogTest, ForgetsOldFailuresWhenThereAreMany) {
  for (int i = 0; i < 1024; ++i) {
    Write(absl::AbortedError("busy"), kPromote, absl::StrCat("volume_id=", i));
  }
  clock_.Advance(std::chrono::seconds(11));
  Write(absl::AbortedError("late"), kPromote, "volume_id=late");
  Write(absl::AbortedError("late"), kPromote, "volume_id=late");
  const std::string text = captured_.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1025);
}

}  // namespace
}  // namespace addons
