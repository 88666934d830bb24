// Many calls that wait through a real server, and end in every way at once:
// answered by other threads, given up by their callers, unreadable from the
// beginning. It is here for the thread sanitizer, which sees what passes
// between gRPC's threads and ours.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "identity/identity.grpc.pb.h"
#include "rpc/malformed_requests.h"
#include "rpc/unary_call.h"
#include "tests/rpc/raw_call.h"
#include "tests/testing/temp_dir.h"

namespace addons {
namespace {

using ::addons::testing::RawCall;
using ::addons::testing::TempDir;

/// One call that waits. Whoever comes first ends it.
class Waiting : public std::enable_shared_from_this<Waiting> {
 public:
  explicit Waiting(Reply::Receiver receive) : receive_(std::move(receive)) {}

  void WatchCaller(const std::stop_token& gone) {
    heard_.emplace(gone, [self = weak_from_this()] {
      if (const auto call = self.lock()) {
        call->End(absl::CancelledError("the caller has gone"));
      }
    });
  }
  void End(absl::Status status) {
    Reply::Receiver receive;
    {
      const MutexLock lock(mutex_);
      receive = std::exchange(receive_, nullptr);
    }
    if (receive) receive(std::move(status));
  }

 private:
  Mutex mutex_;
  Reply::Receiver receive_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::stop_callback<std::function<void()>>> heard_;
};

/// Probe waits until it is told to answer.
class WaitingService final : public ::identity::Identity::CallbackService {
 public:
  grpc::ServerUnaryReactor* Probe(
      grpc::CallbackServerContext* context,
      const ::identity::ProbeRequest* request,
      ::identity::ProbeResponse* response) override {
    return UnaryCall(
        rpc_, *context, *request, *response, [this](const CallContext& call) {
          return Reply::From(
              [this, gone = call.caller.gone](Reply::Receiver receive) {
                auto waiting = std::make_shared<Waiting>(std::move(receive));
                waiting->WatchCaller(gone);
                const MutexLock lock(mutex_);
                waiting_.push_back(std::move(waiting));
              });
        });
  }
  Rpc& rpc() { return rpc_; }
  size_t waiting() {
    const MutexLock lock(mutex_);
    return waiting_.size();
  }
  std::shared_ptr<Waiting> TakeOne() {
    const MutexLock lock(mutex_);
    if (waiting_.empty()) return nullptr;
    auto one = std::move(waiting_.back());
    waiting_.pop_back();
    return one;
  }

 private:
  Rpc rpc_{RealClock()};
  Mutex mutex_;
  std::vector<std::shared_ptr<Waiting>> waiting_ ABSL_GUARDED_BY(mutex_);
};

/// The callers' side; they wait on no thread of their own.
class Callers {
 public:
  explicit Callers(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(::identity::Identity::NewStub(channel)) {}

  void Ask() {
    calls_.push_back(std::make_unique<Call>());
    Call& call = *calls_.back();
    call.context.set_deadline(std::chrono::system_clock::now() +
                              std::chrono::seconds(60));
    call.reader = stub_->AsyncProbe(&call.context, {}, &queue_);
    call.reader->Finish(&call.response, &call.status, &call);
  }
  void HangUpEverySecond() {
    for (size_t i = 0; i < calls_.size(); i += 2) {
      calls_[i]->context.TryCancel();
    }
  }
  void Await() {
    for (size_t i = 0; i < calls_.size(); ++i) {
      void* tag = nullptr;
      bool ok = false;
      ASSERT_TRUE(queue_.Next(&tag, &ok));
    }
  }
  size_t Count(grpc::StatusCode code) const {
    size_t count = 0;
    for (const auto& call : calls_) count += call->status.error_code() == code;
    return count;
  }

 private:
  struct Call {
    grpc::ClientContext context;
    ::identity::ProbeResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<::identity::ProbeResponse>>
        reader;
  };

  const std::unique_ptr<::identity::Identity::Stub> stub_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<Call>> calls_;
};

TEST(WaitingCallsTest, EndInEveryWayAtOnce) {
  constexpr size_t kCalls = 300;
  constexpr size_t kThreads = 4;
  WaitingService service;
  const TempDir folder;
  const std::string address = "unix:" + folder.File("s");
  std::vector<
      std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
      interceptors;
  interceptors.push_back(MakeMalformedRequestAnswerer(service.rpc()));
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  const auto server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  const auto channel =
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials());

  Callers callers(channel);
  for (size_t i = 0; i < kCalls; ++i) callers.Ask();
  const SteadyTime until = RealClock().Now() + std::chrono::seconds(60);
  while (service.waiting() < kCalls && RealClock().Now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_EQ(service.waiting(), kCalls);
  {
    std::vector<std::jthread> threads;
    threads.emplace_back([&] { callers.HangUpEverySecond(); });
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(RawCall(channel, "/identity.Identity/Probe", "\xFF")
                      .status.error_code(),
                  grpc::StatusCode::INVALID_ARGUMENT);
      }
    });
    for (size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        while (const auto one = service.TakeOne()) one->End(absl::OkStatus());
      });
    }
  }
  callers.Await();
  EXPECT_GE(callers.Count(grpc::StatusCode::OK), kCalls / 2);
  EXPECT_EQ(callers.Count(grpc::StatusCode::OK) +
                callers.Count(grpc::StatusCode::CANCELLED),
            kCalls);
}

}  // namespace
}  // namespace addons
