#include "rpc/unary_call.h"

#include <grpc/support/time.h>

#include <chrono>
#include <exception>
#include <memory>
#include <random>
#include <stop_token>
#include <typeinfo>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "rpc/method.h"
#include "rpc/redact.h"
#include "rpc/status.h"
#include "rpc/trailers.h"
#include "rpc/valid_texts.h"
#include "rpc/validate.h"

namespace addons {
namespace {

using google::protobuf::Message;

std::string RandomMark() {
  std::random_device random;
  return absl::StrCat(absl::Hex(random() & 0xFFFFFFU, absl::kZeroPad6));
}

void Trace(const char* what, const CallContext& call, const Message& message) {
  if (!Log().should_log(LogLevel::kTrace)) return;
  Log().trace("{} method={} req={} body={}", what, call.method,
              call.caller.request_id, Redacted(message));
}

absl::Status Unexpected(const CallContext& call) {
  return absl::InternalError(absl::StrCat(
      "Failed to serve ", call.method,
      ": unexpected error; the daemon's log has it under the request's id"));
}

/// One call, from its request to its answer. Whoever is to answer it shares it;
/// when the last of them dies, for an exception, it answers itself.
class RunningCall {
 public:
  RunningCall(Rpc& rpc, CallContext call, const Message& request,
              const Message& response, std::function<void()> wipe,
              Reply::Receiver receive)
      : rpc_(rpc),
        call_(std::move(call)),
        request_(request),
        response_(response),
        wipe_(std::move(wipe)),
        receive_(std::move(receive)),
        begin_(rpc.clock().Now()) {
    rpc_.stats().Started();
  }
  ~RunningCall() { FinishUnexpected("lost on the way"); }
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

  static void Run(const std::shared_ptr<RunningCall>& self,
                  const CallHandler& handler) {
    try {
      Trace("request", self->call_, self->request_);
      absl::Status invalid = ValidateRequest(self->request_);
      if (!invalid.ok()) {
        self->valid_ = false;
        self->Finish(std::move(invalid));
        return;
      }
      Reply reply = handler(self->call_);
      // Here, because others may finish the call as soon as it is started.
      self->LeaveRequest();
      std::move(reply).Start(
          [self](absl::Status status) { self->Finish(std::move(status)); });
      return;
    } catch (const std::exception& e) {
      // Only the type: what() may quote the request, secrets included.
      self->FinishUnexpected(typeid(e).name());
    } catch (...) {
      self->FinishUnexpected("");
    }
  }

 private:
  void FinishUnexpected(const char* type) noexcept {
    if (finished_) return;
    absl::Status status(absl::StatusCode::kInternal, "");
    try {
      Log().error("exception in handler method={} req={} type={}", call_.method,
                  call_.caller.request_id, type);
      status = Unexpected(call_);
    } catch (...) {  // no memory for the text
    }
    Finish(std::move(status));
  }

  /// Nobody needs the request any more, but for its object in the log. What
  /// broke a limit is not worth repeating there.
  void LeaveRequest() {
    if (std::exchange(left_, true)) return;
    try {
      if (valid_) object_ = ObjectOfRequest(request_);
    } catch (...) {  // no memory
    }
    if (wipe_ != nullptr) wipe_();
    wipe_ = nullptr;
  }

  void Finish(absl::Status status) {
    finished_ = true;
    try {
      LeaveRequest();
      Note(status);
    } catch (...) {  // no memory for the line
    }
    receive_(std::move(status));
  }

  void Note(const absl::Status& status) {
    if (status.ok()) Trace("response", call_, response_);
    const SteadyDuration took = rpc_.clock().Now() - begin_;
    rpc_.stats().Finished(call_.method, status.code(), took);
    rpc_.access_log().Write(
        {call_.caller.request_id, call_.method, object_, status,
         std::chrono::duration_cast<std::chrono::milliseconds>(took)});
  }

  Rpc& rpc_;
  const CallContext call_;
  const Message& request_;
  const Message& response_;
  std::function<void()> wipe_;
  const Reply::Receiver receive_;
  const SteadyTime begin_;
  std::string object_;  // of the request, since it was left
  bool left_ = false;
  bool valid_ = true;
  bool finished_ = false;
};

/// gRPC's side of a call. It deletes itself when gRPC has done with it, which
/// is after Finish() only, and when the answer was written or never will be.
class Reactor final : public grpc::ServerUnaryReactor {
 public:
  explicit Reactor(UnreadAnswers& unread) : unread_(unread) {}

  std::stop_token gone() const { return gone_.get_token(); }
  /// Frees what cannot be sent for now.
  absl::Status TakeRoomFor(Message& response) {
    MakeTextsValid(response);
    const size_t bytes = response.ByteSizeLong();
    if (unread_.Take(bytes)) {
      bytes_ = bytes;
      return absl::OkStatus();
    }
    response.Clear();
    return absl::ResourceExhaustedError(absl::StrCat(
        "the answer of ", bytes, " bytes is ready, but others of ",
        unread_.bytes(),
        " bytes wait for callers that do not read them; ask again"));
  }
  void OnCancel() override { gone_.request_stop(); }
  void OnDone() override {
    unread_.Release(bytes_);
    delete this;
  }

 private:
  UnreadAnswers& unread_;
  size_t bytes_ = 0;
  std::stop_source gone_;
};

}  // namespace

Rpc::Rpc(Clock& clock)
    : clock_(clock), process_mark_(RandomMark()), access_log_(clock) {}

std::string Rpc::NextRequestId() {
  return absl::StrCat(process_mark_, "-",
                      next_id_.fetch_add(1, std::memory_order_relaxed));
}

std::optional<SteadyTime> DeadlineOf(const grpc::ServerContextBase& context,
                                     SteadyTime now) {
  constexpr std::chrono::hours kForEver(24 * 365);
  const gpr_timespec left = gpr_time_sub(
      gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_MONOTONIC),
      gpr_now(GPR_CLOCK_MONOTONIC));
  if (left.tv_sec >= std::chrono::seconds(kForEver).count())
    return std::nullopt;
  return now + std::chrono::seconds(left.tv_sec) +
         std::chrono::nanoseconds(left.tv_nsec);
}

CallContext NewCall(Rpc& rpc, grpc::ServerContextBase& context,
                    const Message& request, std::stop_token gone) {
  const std::string request_id = rpc.NextRequestId();
  context.AddTrailingMetadata(kRequestIdTrailer, request_id);
  // Callers wait in real time, whatever the clock is.
  return {{DeadlineOf(context, RealClock().Now()), std::move(gone), request_id},
          MethodOfRequest(request)};
}

Reply RunCall(Rpc& rpc, const CallContext& call, const Message& request,
              const Message& response, const CallHandler& handler,
              std::function<void()> wipe) {
  return Reply::From([&rpc, call, &request, &response, handler,
                      wipe = std::move(wipe)](Reply::Receiver receive) {
    RunningCall::Run(std::make_shared<RunningCall>(rpc, call, request, response,
                                                   wipe, std::move(receive)),
                     handler);
  });
}

grpc::ServerUnaryReactor* ServeUnary(Rpc& rpc,
                                     grpc::CallbackServerContext& context,
                                     const Message& request, Message& response,
                                     std::function<void()> wipe,
                                     const CallHandler& handler) {
  auto* const reactor = new Reactor(rpc.unread_answers());
  const CallContext call = NewCall(rpc, context, request, reactor->gone());
  const auto bounded = [reactor, &response,
                        &handler](const CallContext& running) {
    return handler(running).Then(
        [reactor, &response](const absl::Status& status) {
          return status.ok() ? reactor->TakeRoomFor(response) : status;
        });
  };
  RunCall(rpc, call, request, response, bounded, std::move(wipe))
      .Start([reactor,
              request_id = call.caller.request_id](const absl::Status& status) {
        grpc::Status answer(grpc::StatusCode::INTERNAL, "");
        try {
          answer = ToGrpc(status, request_id);
        } catch (...) {  // no memory for the text
        }
        reactor->Finish(std::move(answer));
      });
  return reactor;
}

}  // namespace addons
