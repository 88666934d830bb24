#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

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
    return Await(RunCall(rpc_, {{std::nullopt, {}, "r-1"}, kMethod}, request_,
                         response_, handler));
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

// An operation ends on a thread that has no use for an exception.
TEST_F(RunCallTest, AReplyThatIsLostIsInternal) {
  EXPECT_THAT(Run([](const CallContext&) {
                return Reply::From([](const Reply::Receiver&) {});
              }),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("PromoteVolume: unexpected error")));
}

TEST_F(RunCallTest, AReplyMayComeLater) {
  Reply::Receiver kept;
  std::optional<absl::Status> answer;
  RunCall(rpc_, {{std::nullopt, {}, "r-1"}, kMethod}, request_, response_,
          [&kept](const CallContext&) {
            return Reply::From([&kept](Reply::Receiver receive) {
              kept = std::move(receive);
            });
          })
      .Start([&answer](absl::Status status) { answer = std::move(status); });
  EXPECT_EQ(answer, std::nullopt);
  EXPECT_EQ(rpc_.stats().in_flight(), 1U);
  kept(absl::AbortedError("busy"));
  EXPECT_THAT(answer.value(), StatusIs(absl::StatusCode::kAborted, "busy"));
  EXPECT_EQ(rpc_.stats().in_flight(), 0U);
}

// A call that waits holds no request, and no key that came with it.
TEST_F(RunCallTest, TheRequestIsLeftWhenTheHandlerHasEnded) {
  request_.mutable_replication_source()->mutable_volume()->set_volume_id("v-1");
  Reply::Receiver kept;
  bool in_handler = false;
  int left = 0;
  RunCall(
      rpc_, {{std::nullopt, {}, "r-1"}, kMethod}, request_, response_,
      [&](const CallContext&) {
        in_handler = left == 0;
        return Reply::From(
            [&kept](Reply::Receiver receive) { kept = std::move(receive); });
      },
      [&] {
        ++left;
        request_.Clear();
      })
      .Start([](const absl::Status&) {});
  EXPECT_TRUE(in_handler);
  EXPECT_EQ(left, 1);
  kept(absl::AbortedError("busy"));
  EXPECT_EQ(left, 1);
  EXPECT_THAT(log_.text(), HasSubstr("volume_id=v-1"));
}

TEST_F(RunCallTest, TheRequestIsLeftWhateverHappens) {
  for (const bool valid : {false, true}) {
    request_.mutable_replication_source()->mutable_volume()->set_volume_id(
        valid ? "v-1" : std::string(129, 'v'));
    int left = 0;
    EXPECT_FALSE(Await(RunCall(
                           rpc_, {{std::nullopt, {}, "r-1"}, kMethod}, request_,
                           response_,
                           [](const CallContext&) -> absl::Status { throw 42; },
                           [&left] { ++left; }))
                     .ok());
    EXPECT_EQ(left, 1);
  }
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
