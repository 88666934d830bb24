#ifndef ADDONS_RPC_UNARY_CALL_H_
#define ADDONS_RPC_UNARY_CALL_H_

#include <google/protobuf/message.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "rpc/access_log.h"
#include "rpc/call_context.h"
#include "rpc/call_stats.h"
#include "rpc/secrets.h"

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

 private:
  Clock& clock_;
  const std::string process_mark_;
  std::atomic<uint64_t> next_id_{1};
  CallStats stats_;
  AccessLog access_log_;
};

using CallHandler = std::function<absl::Status(const CallContext&)>;

/// UnaryCall() without its last step.
grpc::Status ServeUnary(Rpc& rpc, const grpc::ServerContext& context,
                        const google::protobuf::Message& request,
                        const google::protobuf::Message& response,
                        const CallHandler& handler);

/// The one way into the daemon: every method of every service is this call and
/// nothing else,
///
///   grpc::Status PromoteVolume(grpc::ServerContext* context,
///                              const pb::PromoteVolumeRequest* request,
///                              pb::PromoteVolumeResponse* response) override {
///     return UnaryCall(rpc_, *context, *request, *response,
///                      [&](const CallContext& call) { ... });
///   }
///
/// In this order: request id, limits (ValidateRequest), the handler, counters,
/// one line in the access log. A request that breaks a limit never reaches the
/// handler. An exception becomes INTERNAL. Request and response are logged at
/// trace level, redacted.
///
/// When it is served, the secrets in the request are overwritten: what the
/// handler needs of them beyond its own end it has taken (TakeSecrets).
template <typename Request>
grpc::Status UnaryCall(Rpc& rpc, const grpc::ServerContext& context,
                       const Request& request,
                       const google::protobuf::Message& response,
                       const CallHandler& handler) {
  const grpc::Status status =
      ServeUnary(rpc, context, request, response, handler);
  if constexpr (requires { request.secrets(); }) {
    WipeSecrets(request, "secrets", request.secrets());
  }
  return status;
}

/// The same without gRPC: `call` has a request id and a method already.
absl::Status RunCall(Rpc& rpc, const CallContext& call,
                     const google::protobuf::Message& request,
                     const google::protobuf::Message& response,
                     const CallHandler& handler);

/// When the caller stops waiting, on the monotonic clock whose time is `now`;
/// nullopt when it set no deadline, or one in more than a year.
std::optional<SteadyTime> DeadlineOf(const grpc::ServerContext& context,
                                     SteadyTime now);

}  // namespace addons

#endif  // ADDONS_RPC_UNARY_CALL_H_
