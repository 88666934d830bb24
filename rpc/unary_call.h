#ifndef ADDONS_RPC_UNARY_CALL_H_
#define ADDONS_RPC_UNARY_CALL_H_

#include <google/protobuf/message.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/later.h"
#include "rpc/access_log.h"
#include "rpc/call_context.h"
#include "rpc/call_stats.h"
#include "rpc/secrets.h"
#include "rpc/unread_answers.h"

namespace addons {

/// What all calls of a server share. Thread-safe.
class Rpc {
 public:
  /// `clock` is not owned.
  explicit Rpc(Clock& clock);

  /// "7f3a91-42": a mark of this process and a number.
  std::string NextRequestId();

  Clock& clock() { return clock_; }
  CallStats& stats() { return stats_; }
  AccessLog& access_log() { return access_log_; }
  UnreadAnswers& unread_answers() { return unread_answers_; }

 private:
  Clock& clock_;
  const std::string process_mark_;
  std::atomic<uint64_t> next_id_{1};
  CallStats stats_;
  AccessLog access_log_;
  UnreadAnswers unread_answers_;
};

/// What a handler answers: a status, or work that will bring one.
using Reply = Later<absl::Status>;
/// Must not block: it runs on one of gRPC's few threads.
using CallHandler = std::function<Reply(const CallContext&)>;

/// UnaryCall() for a request that `wipe` cleans when the handler has ended.
grpc::ServerUnaryReactor* ServeUnary(Rpc& rpc,
                                     grpc::CallbackServerContext& context,
                                     const google::protobuf::Message& request,
                                     google::protobuf::Message& response,
                                     std::function<void()> wipe,
                                     const CallHandler& handler);

/// The one way into the daemon: every method of every service is this call and
/// nothing else,
///
///   grpc::ServerUnaryReactor* PromoteVolume(
///       grpc::CallbackServerContext* context,
///       const pb::PromoteVolumeRequest* request,
///       pb::PromoteVolumeResponse* response) override {
///     return UnaryCall(rpc_, *context, *request, *response,
///                      [&](const CallContext& call) { ... });
///   }
///
/// In this order: request id, limits (ValidateRequest), the handler, counters,
/// one line in the access log. A request that breaks a limit never reaches the
/// handler. An exception becomes INTERNAL. Request and response are logged at
/// trace level, redacted. A large answer is RESOURCE_EXHAUSTED while callers
/// leave too many of them unread (UnreadAnswers).
///
/// The handler ends at once, and the call when its reply has come; until then
/// it holds no thread, and the response stays where it is. The caller's going
/// is passed on at once (Caller::gone).
///
/// What the handler needs of the request beyond its own end it has taken: then
/// the secrets in it are overwritten, and it is emptied, because it would take
/// memory for as long as the call waits.
template <typename Request>
grpc::ServerUnaryReactor* UnaryCall(Rpc& rpc,
                                    grpc::CallbackServerContext& context,
                                    const Request& request,
                                    google::protobuf::Message& response,
                                    const CallHandler& handler) {
  const auto wipe = [&request] {
    if constexpr (requires { request.secrets(); }) {
      WipeSecrets(request, "secrets", request.secrets());
    }
    if constexpr (requires { request.encryption_key(); }) {
      WipeText(request.encryption_key());
    }
    // It is the call's own, and nobody else's.
    Request().Swap(const_cast<Request*>(&request));
  };
  return ServeUnary(rpc, context, request, response, wipe, handler);
}

/// The same without gRPC: `call` has a request id and a method already. Request
/// and response outlive it. `wipe`, if there is one, is called once, when the
/// handler has ended.
Reply RunCall(Rpc& rpc, const CallContext& call,
              const google::protobuf::Message& request,
              const google::protobuf::Message& response,
              const CallHandler& handler, std::function<void()> wipe = nullptr);

/// A new call of `request`'s method: with a request id, which the caller is
/// told in its trailing metadata. `gone`: the caller's going, see Caller::gone.
CallContext NewCall(Rpc& rpc, grpc::ServerContextBase& context,
                    const google::protobuf::Message& request,
                    std::stop_token gone);

/// When the caller stops waiting, on the monotonic clock whose time is `now`;
/// nullopt when it set no deadline, or one in more than a year.
std::optional<SteadyTime> DeadlineOf(const grpc::ServerContextBase& context,
                                     SteadyTime now);

}  // namespace addons

#endif  // ADDONS_RPC_UNARY_CALL_H_
