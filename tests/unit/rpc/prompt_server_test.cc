#include "rpc/prompt_server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "identity/identity.grpc.pb.h"
#include "identity/probe.h"
#include "rpc/trailers.h"
#include "tests/rpc/raw_call.h"
#include "tests/testing/gate.h"
#include "tests/testing/in_process_server.h"
#include "tests/testing/no_threads.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

namespace pb = ::identity;

using ::addons::testing::Gate;
using ::addons::testing::InProcessServer;
using ::addons::testing::NoThreads;
using ::addons::testing::RawCall;
using ::addons::testing::StatusIs;
using ::testing::HasSubstr;

using Methods = pb::Identity::WithCallbackMethod_GetCapabilities<
    pb::Identity::WithRawMethod_Probe<pb::Identity::Service>>;

/// Probe is prompt, and GetCapabilities holds gRPC's thread.
class BusyService final : public Methods {
 public:
  grpc::ServerUnaryReactor* GetCapabilities(
      grpc::CallbackServerContext* context,
      const pb::GetCapabilitiesRequest* /*request*/,
      pb::GetCapabilitiesResponse* /*response*/) override {
    gate_.Pass();
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  PromptMethod ProbeMethod() {
    return MakeProbe<pb::ProbeRequest, pb::ProbeResponse>(*this, rpc_,
                                                          readiness_);
  }

  Gate& gate() { return gate_; }
  Rpc& rpc() { return rpc_; }
  void Answer(absl::Status status) {
    readiness_ = [status]() -> absl::StatusOr<bool> { return status; };
  }

 private:
  Gate gate_;
  Rpc rpc_{RealClock()};
  Readiness readiness_ = [] { return true; };
};

std::unique_ptr<grpc::ClientContext> Bounded(
    std::chrono::milliseconds time = std::chrono::seconds(20)) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + time);
  return context;
}

grpc::Status Probe(const std::shared_ptr<grpc::Channel>& channel,
                   pb::ProbeResponse* response) {
  return pb::Identity::NewStub(channel)->Probe(Bounded().get(), {}, response);
}

/// How many calls ended with `code`.
uint64_t Counted(Rpc& rpc, absl::StatusCode code) {
  uint64_t count = 0;
  for (const CallCount& each : rpc.stats().Counts()) {
    if (each.method == "identity.Identity/Probe" && each.code == code) {
      count += each.calls;
    }
  }
  return count;
}

TEST(PromptServerTest, AreAnsweredWhileAllOfGrpcsThreadsAreBusy) {
  BusyService service;
  InProcessServer server(service, {service.ProbeMethod()});
  const auto channel = server.Channel();
  // More than gRPC has threads for callbacks.
  constexpr int kCallers = 40;
  std::atomic<int> served{0};
  std::vector<std::jthread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&channel, &served] {
      pb::GetCapabilitiesResponse response;
      const auto context = Bounded(std::chrono::seconds(60));
      if (pb::Identity::NewStub(channel)
              ->GetCapabilities(context.get(), {}, &response)
              .ok()) {
        ++served;
      }
    });
  }
  service.gate().AwaitArrivals(2);
  for (int i = 0; i < 5; ++i) {
    pb::ProbeResponse response;
    const grpc::Status status = Probe(channel, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(response.ready().value());
  }
  EXPECT_EQ(served, 0);
  service.gate().Open();
  callers.clear();
  EXPECT_EQ(served, kCallers);
}

TEST(PromptServerTest, AreAnsweredOnceEach) {
  constexpr int kCallers = 8;
  constexpr int kTimes = 100;
  BusyService service;
  InProcessServer server(service, {service.ProbeMethod()});
  std::atomic<int> answered{0};
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&, channel = server.Channel()] {
        for (int n = 0; n < kTimes; ++n) {
          pb::ProbeResponse response;
          if (Probe(channel, &response).ok()) ++answered;
        }
      });
    }
  }
  EXPECT_EQ(answered, kCallers * kTimes);
  EXPECT_EQ(Counted(service.rpc(), absl::StatusCode::kOk),
            uint64_t{kCallers} * kTimes);
}

TEST(PromptServerTest, AnErrorHasItsCodeItsTextAndTheIdOfTheRequest) {
  BusyService service;
  service.Answer(absl::FailedPreconditionError("config.json is missing"));
  InProcessServer server(service, {service.ProbeMethod()});
  pb::ProbeResponse response;
  const auto context = Bounded();
  const grpc::Status status = pb::Identity::NewStub(server.Channel())
                                  ->Probe(context.get(), {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("config.json is missing"));
  EXPECT_FALSE(response.has_ready());
  EXPECT_EQ(context->GetServerTrailingMetadata().count(kRequestIdTrailer), 1U);
  EXPECT_EQ(Counted(service.rpc(), absl::StatusCode::kFailedPrecondition), 1U);
}

TEST(PromptServerTest, ARequestThatCannotBeReadIsInvalid) {
  BusyService service;
  InProcessServer server(service, {service.ProbeMethod()});
  const auto result =
      RawCall(server.Channel(), "/identity.Identity/Probe", "\xff\xff");
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(result.status.error_message(), HasSubstr("cannot be read"));
  EXPECT_EQ(Counted(service.rpc(), absl::StatusCode::kInvalidArgument), 1U);
  pb::ProbeResponse response;
  EXPECT_TRUE(Probe(server.Channel(), &response).ok());
}

TEST(PromptServerTest, WithoutAThreadThereIsAnErrorAndAnEnd) {
  BusyService service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  EXPECT_THAT(
      PromptServer::Start(builder, {service.ProbeMethod()}, NoThreads()),
      StatusIs(absl::StatusCode::kResourceExhausted,
               HasSubstr("answers Probe")));
}

TEST(PromptServerTest, TheEndMayComeBeforeTheThreadHasLooked) {
  // What is used after its end is not missed each time, and an end that waits
  // for ever was one of some thousand.
  for (int i = 0; i < 20; ++i) {
    BusyService service;
    PromptMethod probe = service.ProbeMethod();
    probe.request = [request = probe.request](auto&&... arguments) {
      request(arguments...);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    };
    const InProcessServer server(service, {probe});
  }
}

}  // namespace
}  // namespace addons
