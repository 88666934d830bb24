#include "rpc/unary_call.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "identity/identity.grpc.pb.h"
#include "tests/rpc/abuse_clients.h"
#include "tests/rpc/app_fixture.h"
#include "tests/testing/temp_dir.h"

namespace addons {
namespace {

using ::addons::testing::BoundedContext;
using ::addons::testing::RawHttp2;
using ::addons::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// One method whose handler is the test's.
class ProbeService final : public ::identity::Identity::CallbackService {
 public:
  explicit ProbeService(CallHandler handler) : handler_(std::move(handler)) {}
  grpc::ServerUnaryReactor* Probe(
      grpc::CallbackServerContext* context,
      const ::identity::ProbeRequest* request,
      ::identity::ProbeResponse* response) override {
    return UnaryCall(rpc_, *context, *request, *response, handler_);
  }

 private:
  Rpc rpc_{RealClock()};
  const CallHandler handler_;
};

// One method whose answers are as long as the test wants.
class LongAnswerService final : public ::identity::Identity::CallbackService {
 public:
  explicit LongAnswerService(size_t bytes) : bytes_(bytes) {}
  grpc::ServerUnaryReactor* GetIdentity(
      grpc::CallbackServerContext* context,
      const ::identity::GetIdentityRequest* request,
      ::identity::GetIdentityResponse* response) override {
    return UnaryCall(rpc_, *context, *request, *response,
                     [this, response](const CallContext&) {
                       response->set_name(std::string(bytes_, 'n'));
                       return absl::OkStatus();
                     });
  }
  Rpc& rpc() { return rpc_; }
  void SetBytes(size_t bytes) { bytes_ = bytes; }

 private:
  Rpc rpc_{RealClock()};
  std::atomic<size_t> bytes_;
};

/// Within ten seconds.
bool SoonTrue(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return condition();
}

TEST(UnreadAnswersTest, LargeOnesAreBoundedAndSmallOnesAreServed) {
  constexpr size_t kMebibyte = size_t{1} << 20;
  LongAnswerService service(kMebibyte);
  const TempDir folder;
  const std::string path = folder.File("s");
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
  const auto server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  const auto stub = ::identity::Identity::NewStub(
      grpc::CreateChannel("unix:" + path, grpc::InsecureChannelCredentials()));
  const auto ask = [&] {
    ::identity::GetIdentityResponse response;
    return stub->GetIdentity(BoundedContext().get(), {}, &response);
  };
  UnreadAnswers& unread = service.rpc().unread_answers();

  auto deaf = RawHttp2::Connect(path);
  ASSERT_TRUE(deaf.valid());
  deaf.AskAndNotRead("identity.Identity/GetIdentity", 100,
                     std::chrono::seconds(5));
  ASSERT_TRUE(SoonTrue(
      [&] { return unread.bytes() + kMebibyte > UnreadAnswers::kMostBytes; }));
  EXPECT_LE(unread.bytes(), UnreadAnswers::kMostBytes);
  const grpc::Status refused = ask();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("do not read"));
  service.SetBytes(1000);
  EXPECT_TRUE(ask().ok());

  service.SetBytes(kMebibyte);
  deaf = RawHttp2::Connect(path, /*speak=*/false);
  EXPECT_TRUE(SoonTrue([&] { return unread.bytes() == 0; }));
  EXPECT_TRUE(ask().ok());
}

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

TEST_F(UnaryCallTest, SaysAtOnceThatTheCallerHasGone) {
  std::promise<void> started;
  std::promise<void> gone;
  std::optional<std::stop_callback<std::function<void()>>> heard;
  Serve([&](const CallContext& call) {
    return Reply::From([&, token = call.caller.gone](Reply::Receiver receive) {
      heard.emplace(token, [&gone, receive = std::move(receive)] {
        gone.set_value();
        receive(absl::CancelledError("the caller has gone"));
      });
      started.set_value();
    });
  });
  const auto context = BoundedContext();
  std::jthread caller([&] { Probe(*context); });
  started.get_future().wait();
  context->TryCancel();
  EXPECT_EQ(gone.get_future().wait_for(std::chrono::seconds(30)),
            std::future_status::ready);
}

// gRPC has few threads for all calls.
TEST_F(UnaryCallTest, CallsThatWaitHoldNoThread) {
  constexpr int kCalls = 200;
  std::mutex mutex;
  std::vector<Reply::Receiver> waiting;
  std::atomic<bool> wait = true;
  Serve([&](const CallContext&) -> Reply {
    if (!wait) return absl::OkStatus();
    return Reply::From([&](Reply::Receiver receive) {
      const std::lock_guard<std::mutex> lock(mutex);
      waiting.push_back(std::move(receive));
    });
  });
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::future<grpc::Status>> answers;
  const ::identity::ProbeRequest request;
  std::vector<::identity::ProbeResponse> responses(kCalls);
  for (int i = 0; i < kCalls; ++i) {
    contexts.push_back(BoundedContext());
    auto answer = std::make_shared<std::promise<grpc::Status>>();
    answers.push_back(answer->get_future());
    stub_->async()->Probe(contexts.back().get(), &request,
                          &responses[static_cast<size_t>(i)],
                          [answer](grpc::Status status) {
                            answer->set_value(std::move(status));
                          });
  }
  const auto all_wait = [&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return waiting.size() == kCalls;
  };
  const SteadyTime until = RealClock().Now() + std::chrono::seconds(30);
  while (!all_wait() && RealClock().Now() < until) std::this_thread::yield();
  ASSERT_TRUE(all_wait());
  wait = false;
  EXPECT_TRUE(Probe(*BoundedContext()).ok());
  for (const Reply::Receiver& receive : waiting) receive(absl::OkStatus());
  for (std::future<grpc::Status>& answer : answers) {
    EXPECT_TRUE(answer.get().ok());
  }
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
