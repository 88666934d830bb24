#ifndef ADDONS_CLI_CHANNEL_H_
#define ADDONS_CLI_CHANNEL_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/channel.h>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "cli/streams.h"

namespace addons {

/// A channel to the daemon at `endpoint`; connects with the first call.
/// INVALID_ARGUMENT as SocketPath().
absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(
    const std::string& endpoint);

/// OK: somebody listens at `endpoint`, and this user may connect. Says nothing
/// of whether calls are answered. UNAVAILABLE otherwise, with errno's text and
/// what to do; INVALID_ARGUMENT as SocketPath(). Does not block. Thread-safe.
absl::Status CheckListener(const std::string& endpoint);

/// The daemon's messages name the request; those of a connection that fails do
/// not.
bool IsOfDaemon(const absl::Status& status);

/// `status` of a call to `endpoint`. Where that is UNAVAILABLE because nobody
/// can be reached there: what CheckListener() says. Does not block.
absl::Status NamingListener(const absl::Status& status,
                            const std::string& endpoint);

/// Calls `method` and fills `response`. Blocks for at most `timeout`. Any error
/// is the daemon's, or DEADLINE_EXCEEDED or UNAVAILABLE when it does not
/// answer, or CANCELLED after `stop`, which ends the waiting at once: what the
/// daemon has begun to change it goes on with. `trailers` may be null. Several
/// threads may share a channel.
absl::Status CallMethod(const std::shared_ptr<grpc::Channel>& channel,
                        const google::protobuf::MethodDescriptor& method,
                        const google::protobuf::Message& request,
                        std::chrono::milliseconds timeout,
                        google::protobuf::Message& response,
                        const std::stop_token& stop = {},
                        Trailers* trailers = nullptr);

}  // namespace addons

#endif  // ADDONS_CLI_CHANNEL_H_
