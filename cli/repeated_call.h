#ifndef ADDONS_CLI_REPEATED_CALL_H_
#define ADDONS_CLI_REPEATED_CALL_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/streams.h"

namespace addons {

/// The request of a verb: `json` as MakeRequest() takes it, with the secrets of
/// `secrets_file`, or none where that is empty. Errors are that of `json`, and
/// those of MakeRequest() and ReadFile().
absl::StatusOr<std::unique_ptr<google::protobuf::Message>> MakeVerbRequest(
    const google::protobuf::MethodDescriptor& method,
    const absl::StatusOr<std::string>& json, const std::string& secrets_file);

/// Whether the call goes on without this caller, or the daemon asks for it to
/// be repeated. False for a daemon that is not there, and all that a repetition
/// does not change.
bool MustBeRepeated(const absl::Status& status);

/// ErrorLine() without the id of the request, which is another one each time.
std::string ReasonToWait(const absl::Status& status);

/// How a verb calls a method for a person.
struct RepeatedCall {
  std::string endpoint;
  std::chrono::milliseconds timeout{};  // for all of it
  /// Of an answer that is OK: OK when all is done, else why it is not, and the
  /// call is repeated with `request` as this leaves it. May be empty.
  std::function<absl::Status(google::protobuf::Message& request,
                             const google::protobuf::Message& response)>
      judge;
};

/// Calls `method` as often as the daemon asks for it to be repeated; each new
/// reason to wait is a line on the error stream. The last error when the time
/// is over. Blocks.
absl::Status CallUntilDone(const RepeatedCall& call,
                           const google::protobuf::MethodDescriptor& method,
                           google::protobuf::Message& request,
                           google::protobuf::Message& response,
                           Streams& streams);

/// Prints what CallUntilDone() ended with. The exit code: kCliUsage when no
/// daemon was asked, else the number of the gRPC code.
int FailCall(const absl::Status& status, Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_REPEATED_CALL_H_
