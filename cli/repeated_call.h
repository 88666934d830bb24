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
#include "cli/secrets.h"
#include "cli/streams.h"

namespace addons {

/// The request of a verb: `json` as MakeRequest() takes it, with `secrets`.
/// Errors are that of `json`, and those of MakeRequest() and ReadSecrets().
absl::StatusOr<std::unique_ptr<google::protobuf::Message>> MakeVerbRequest(
    const google::protobuf::MethodDescriptor& method,
    const absl::StatusOr<std::string>& json, const SecretsSource& secrets);

/// Whether the call goes on without this caller, or the daemon asks for it to
/// be repeated. False for a daemon that is not there, and all that a repetition
/// does not change.
bool MustBeRepeated(const absl::Status& status);

/// What is said where the administrators' socket has to be asked, and is not
/// known to be that of the daemon that --endpoint names.
absl::Status OtherDaemon();

/// ErrorLine() without the id of the request, which is another one each time.
std::string ReasonToWait(const absl::Status& status);

/// How a verb calls a method for a person.
struct RepeatedCall {
  std::string endpoint;
  std::string admin_endpoint;           // of the same daemon; may be empty
  std::chrono::milliseconds timeout{};  // for all of it
  /// Of an answer that is OK: OK when all is done, else why it is not, and the
  /// call is repeated with `request` as this leaves it. May be empty.
  std::function<absl::Status(google::protobuf::Message& request,
                             const google::protobuf::Message& response)>
      judge;
  /// What it is about, as the daemon's list of operations has it: how far that
  /// is is shown (CallWatch), and what goes on with it when a person interrupts
  /// the command, where `admin_endpoint` can be asked.
  std::string subject;
  /// One call waits so long at most, so that the reason is seen soon. What ends
  /// when nobody waits for it is called for all of `timeout`.
  std::chrono::milliseconds one_call = std::chrono::seconds(30);
};

/// Calls `method` as often as the daemon asks for it to be repeated; each new
/// reason to wait is a line on the error stream. The last error when the time
/// is over; CANCELLED when a person has interrupted the command, which has been
/// told then what goes on without it. Blocks.
absl::Status CallUntilDone(const RepeatedCall& call,
                           const google::protobuf::MethodDescriptor& method,
                           google::protobuf::Message& request,
                           google::protobuf::Message& response,
                           Streams& streams);

/// CallUntilDone() of the method that `request` belongs to, on the socket of
/// administrators `endpoint`, with the secrets. `one_call` is as above.
absl::Status CallAdminUntilDone(
    const std::string& endpoint, std::chrono::milliseconds timeout,
    std::chrono::milliseconds one_call, const SecretsSource& secrets,
    const std::string& subject, const google::protobuf::Message& request,
    google::protobuf::Message& response, Streams& streams);

/// Calls `method` once. CANCELLED when a person has interrupted the command.
/// Blocks.
absl::Status CallOnce(const std::string& endpoint,
                      std::chrono::milliseconds timeout,
                      const google::protobuf::MethodDescriptor& method,
                      const google::protobuf::Message& request,
                      google::protobuf::Message& response, Streams& streams);

/// The method that `request` belongs to is called once, with the secrets added
/// to it. Errors as those of CallUntilDone(). Blocks.
absl::Status AskWithSecrets(const std::string& endpoint,
                            std::chrono::milliseconds timeout,
                            const SecretsSource& secrets,
                            google::protobuf::Message& request,
                            google::protobuf::Message& response,
                            Streams& streams);

/// The same where `command` says.
template <typename Command>
absl::Status AskWithSecrets(const Command& command,
                            google::protobuf::Message& request,
                            google::protobuf::Message& response,
                            Streams& streams) {
  return AskWithSecrets(command.endpoint, command.timeout, command.secrets,
                        request, response, streams);
}

/// The exit code for what CallUntilDone() ended with: kCliUsage when no daemon
/// was asked, kCliInterrupted when a person has interrupted the command, else
/// the number of the gRPC code.
int ExitCodeOf(const absl::Status& status);
/// The same, after the error was printed, see InWordsOfFlags(); of an
/// interrupted command everything has been said already.
int FailCall(const absl::Status& status, Streams& streams);
/// FailCall() in the words of the protocol: for who wrote the request himself.
int FailRawCall(const absl::Status& status, Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_REPEATED_CALL_H_
