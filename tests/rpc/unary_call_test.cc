#include "rpc/unary_call.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "identity/identity.grpc.pb.h"
#include "tests/rpc/app_fixture.h"

namespace addons {
namespace {

using ::addons::testing::BoundedContext;
using ::testing::MatchesRegex;

// One method whose handler is the test's.
class ProbeService final : public ::identity::Identity::Service {
 public:
  explicit ProbeService(CallHandler handler) : handler_(std::move(handler)) {}
  grpc::Status Probe(grpc::ServerContext* context,
                     const ::identity::ProbeRequest* request,
                     ::identity::ProbeResponse* response) override {
    return UnaryCall(rpc_, *context, *request, *response, handler_);
  }

 private:
  Rpc rpc_{RealClock()};
  const CallHandler handler_;
};

class UnaryCallTest : public ::testing::Test {
 protected:
  void Serve(CallHandler handler) {
    service_ = std::make_unique<ProbeService>(std::move(handler));
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    stub_ = ::identity::Identity::NewStub(
        server_->InProcessChannel(grpc::ChannelArguments()));
  }
  grpc::Status Probe(grpc::ClientContext& context) {
    ::identity::ProbeResponse response;
    return stub_->Probe(&context, {}, &response);
  }

  std::unique_ptr<ProbeService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<::identity::Identity::Stub> stub_;
};

TEST_F(UnaryCallTest, GivesTheHandlerMethodAndRequestId) {
  std::promise<CallContext> told;
  Serve([&](const CallContext& call) {
    told.set_value(call);
    return absl::OkStatus();
  });
  ASSERT_TRUE(Probe(*BoundedContext()).ok());
  const CallContext seen = told.get_future().get();
  EXPECT_EQ(seen.method, "identity.Identity/Probe");
  EXPECT_THAT(seen.caller.request_id, MatchesRegex("[0-9a-f]+-1"));
}

TEST_F(UnaryCallTest, ConvertsTheDeadline) {
  std::promise<std::optional<SteadyTime>> told;
  Serve([&](const CallContext& call) {
    told.set_value(call.caller.deadline);
    return absl::OkStatus();
  });
  const SteadyTime before = RealClock().Now();
  ASSERT_TRUE(Probe(*BoundedContext(std::chrono::seconds(100))).ok());
  const std::optional<SteadyTime> deadline = told.get_future().get();
  ASSERT_TRUE(deadline.has_value());
  EXPECT_GT(*deadline, before + std::chrono::seconds(95));
  EXPECT_LT(*deadline, before + std::chrono::seconds(130));
}

TEST_F(UnaryCallTest, KnowsThatThereIsNoDeadline) {
  std::promise<std::optional<SteadyTime>> told;
  Serve([&](const CallContext& call) {
    told.set_value(call.caller.deadline);
    return absl::OkStatus();
  });
  grpc::ClientContext context;
  ASSERT_TRUE(Probe(context).ok());
  EXPECT_FALSE(told.get_future().get().has_value());
}

TEST_F(UnaryCallTest, TakesADeadlineInManyYearsForNone) {
  std::promise<std::optional<SteadyTime>> told;
  Serve([&](const CallContext& call) {
    told.set_value(call.caller.deadline);
    return absl::OkStatus();
  });
  grpc::ClientContext context;
  context.set_deadline(
      gpr_time_add(gpr_now(GPR_CLOCK_REALTIME),
                   gpr_time_from_hours(24 * 365 * 5, GPR_TIMESPAN)));
  ASSERT_TRUE(Probe(context).ok());
  EXPECT_FALSE(told.get_future().get().has_value());
}

TEST_F(UnaryCallTest, NoticesThatTheCallerHasGone) {
  std::promise<void> started;
  std::promise<bool> noticed;
  Serve([&](const CallContext& call) {
    started.set_value();
    const SteadyTime until = RealClock().Now() + std::chrono::seconds(30);
    bool cancelled = false;
    while (!cancelled && RealClock().Now() < until) {
      RealClock().SleepFor(std::chrono::milliseconds(5), {});
      cancelled = call.caller.cancelled();
    }
    noticed.set_value(cancelled);
    return absl::OkStatus();
  });
  const auto context = BoundedContext();
  std::jthread caller([&] { Probe(*context); });
  started.get_future().wait();
  context->TryCancel();
  EXPECT_TRUE(noticed.get_future().get());
}

TEST_F(UnaryCallTest, SendsCodeMessageAndRequestId) {
  Serve([](const CallContext&) { return absl::AbortedError("promote runs"); });
  const grpc::Status status = Probe(*BoundedContext());
  EXPECT_EQ(status.error_code(), grpc::ABORTED);
  EXPECT_THAT(status.error_message(),
              MatchesRegex("promote runs \\(request [0-9a-f]+-1\\)"));
}

TEST_F(UnaryCallTest, SurvivesAHandlerThatThrows) {
  Serve([](const CallContext&) -> absl::Status {
    throw std::runtime_error("x");
  });
  EXPECT_EQ(Probe(*BoundedContext()).error_code(), grpc::INTERNAL);
  EXPECT_EQ(Probe(*BoundedContext()).error_code(), grpc::INTERNAL);
}

}  // namespace
}  // namespace addons
