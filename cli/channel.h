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

namespace addons {

/// A channel to the daemon at `endpoint`; connects with the first call.
/// INVALID_ARGUMENT as SocketPath().
absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(
    const std::string& endpoint);

/// Somebody listens at `endpoint`, and this user may connect. Says nothing of
/// whether calls are answered. Does not block.
bool IsListening(const std::string& endpoint);

/// Calls `method` and fills `response`. Blocks for at most `timeout`. Any error
/// is the daemon's, or DEADLINE_EXCEEDED or UNAVAILABLE when it does not
/// answer, or CANCELLED after `stop`, which ends the waiting at once: what the
/// daemon has begun to change it goes on with. `request_id`, unless it is null,
/// gets what the daemon calls the request in its log, where it says so. Several
/// threads may share a channel.
absl::Status CallMethod(const std::shared_ptr<grpc::Channel>& channel,
                        const google::protobuf::MethodDescriptor& method,
                        const google::protobuf::Message& request,
                        std::chrono::milliseconds timeout,
                        google::protobuf::Message& response,
                        const std::stop_token& stop = {},
                        std::string* request_id = nullptr);

}  // namespace addons

#endif  // ADDONS_CLI_CHANNEL_H_
