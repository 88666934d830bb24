#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "replication/replication.pb.h"
#include "rpc/unary_call.h"
#include "tests/rpc/log_capture.h"
#include "tests/testing/manual_clock.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::LogCapture;
using ::addons::testing::ManualClock;
using ::addons::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kMethod[] = "replication.Controller/PromoteVolume";

class RunCallTest : public ::testing::Test {
 protected:
  absl::Status Run(const CallHandler& handler) {
    return RunCall(rpc_, {{std::nullopt, [] { return false; }, "r-1"}, kMethod},
                   request_, response_, handler);
  }

  LogCapture log_;
  ManualClock clock_;
  Rpc rpc_{clock_};
  replication::PromoteVolumeRequest request_;
  replication::PromoteVolumeResponse response_;
};

TEST_F(RunCallTest, ReturnsWhatTheHandlerReturns) {
  EXPECT_THAT(
      Run([](const CallContext&) { return absl::AbortedError("busy"); }),
      StatusIs(absl::StatusCode::kAborted, "busy"));
}

TEST_F(RunCallTest, KeepsInvalidRequestsFromTheHandler) {
  request_.mutable_replication_source()->mutable_volume()->set_volume_id(
      std::string(129, 'v'));
  bool called = false;
  const absl::Status status = Run([&](const CallContext&) {
    called = true;
    return absl::OkStatus();
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_FALSE(called);
}

TEST_F(RunCallTest, TurnsAnExceptionIntoInternal) {
  EXPECT_THAT(Run([](const CallContext&) -> absl::Status {
                throw std::runtime_error("hush");
              }),
              StatusIs(absl::StatusCode::kInternal, Not(HasSubstr("hush"))));
  EXPECT_THAT(log_.text(), HasSubstr("exception in handler"));
  EXPECT_THAT(log_.text(), Not(HasSubstr("hush")));
}

TEST_F(RunCallTest, SurvivesAThrownNumber) {
  EXPECT_THAT(Run([](const CallContext&) -> absl::Status { throw 42; }),
              StatusIs(absl::StatusCode::kInternal));
}

TEST_F(RunCallTest, CountsTheCall) {
  EXPECT_OK(Run([&](const CallContext&) {
    EXPECT_EQ(rpc_.stats().in_flight(), 1);
    clock_.Advance(std::chrono::seconds(2));
    return absl::OkStatus();
  }));
  EXPECT_EQ(rpc_.stats().in_flight(), 0);
  const std::vector<CallCount> counts = rpc_.stats().Counts();
  ASSERT_EQ(counts.size(), 1U);
  EXPECT_EQ(counts[0].method, kMethod);
  EXPECT_EQ(counts[0].total, std::chrono::seconds(2));
}

TEST_F(RunCallTest, WritesOneLineWithTheDuration) {
  EXPECT_OK(Run([&](const CallContext&) {
    clock_.Advance(std::chrono::milliseconds(34));
    return absl::OkStatus();
  }));
  EXPECT_THAT(log_.text(), HasSubstr("info call method="));
  EXPECT_THAT(log_.text(), HasSubstr("dur_ms=34 req=r-1"));
}

TEST_F(RunCallTest, LogsMessagesRedacted) {
  (*request_.mutable_secrets())["userKey"] = "hush";
  EXPECT_OK(Run([](const CallContext&) { return absl::OkStatus(); }));
  EXPECT_THAT(log_.text(), HasSubstr("trace request"));
  EXPECT_THAT(log_.text(), HasSubstr("body={secrets: ***}"));
  EXPECT_THAT(log_.text(), HasSubstr("trace response"));
  EXPECT_THAT(log_.text(), Not(HasSubstr("hush")));
}

TEST(RpcTest, NumbersRequestsOfOneProcess) {
  ManualClock clock;
  Rpc rpc(clock);
  const std::string first = rpc.NextRequestId();
  const std::string second = rpc.NextRequestId();
  EXPECT_EQ(first.substr(0, 7), second.substr(0, 7));
  EXPECT_EQ(first.substr(6), "-1");
  EXPECT_EQ(second.substr(6), "-2");
}

}  // namespace
}  // namespace addons
