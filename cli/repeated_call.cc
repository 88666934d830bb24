#include "cli/repeated_call.h"

#include <algorithm>
#include <stop_token>
#include <utility>

#include "absl/strings/match.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/call.h"
#include "cli/channel.h"

namespace addons {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

/// One call waits so long at most, so that the reason is seen soon.
constexpr seconds kOneCall{30};
constexpr seconds kPause{2};

/// The daemon's messages name the request; those of a connection that fails do
/// not.
bool IsOfDaemon(const absl::Status& status) {
  return absl::StrContains(status.message(), "(request ");
}

}  // namespace

bool MustBeRepeated(const absl::Status& status) {
  if (absl::IsDeadlineExceeded(status)) return true;
  return (absl::IsUnavailable(status) || absl::IsAborted(status)) &&
         IsOfDaemon(status);
}

std::string ReasonToWait(const absl::Status& status) {
  std::string line = ErrorLine(status);
  const size_t request = line.rfind(" (request ");
  return request == std::string::npos ? line : line.substr(0, request);
}

absl::StatusOr<std::unique_ptr<google::protobuf::Message>> MakeVerbRequest(
    const google::protobuf::MethodDescriptor& method,
    const absl::StatusOr<std::string>& json, const std::string& secrets_file) {
  ADDONS_RETURN_IF_ERROR(json.status());
  ADDONS_ASSIGN_OR_RETURN(const std::string secrets,
                          ReadOptionalFile(secrets_file));
  return MakeRequest(method, *json, TextSource::kCommandLine, secrets);
}

absl::Status CallUntilDone(const RepeatedCall& call,
                           const google::protobuf::MethodDescriptor& method,
                           google::protobuf::Message& request,
                           google::protobuf::Message& response,
                           Streams& streams) {
  ADDONS_ASSIGN_OR_RETURN(const auto channel, OpenChannel(call.endpoint));
  const auto end = steady_clock::now() + call.timeout;
  std::string last_reason;
  while (true) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    absl::Status status = CallMethod(
        channel, method, request,
        std::clamp<milliseconds>(left, milliseconds(1), kOneCall), response);
    if (status.ok()) {
      if (call.judge) status = call.judge(request, response);
      if (status.ok()) return status;
    } else if (!MustBeRepeated(status)) {
      return status;
    }
    if (steady_clock::now() + kPause >= end) return status;
    if (std::string reason = ReasonToWait(status); reason != last_reason) {
      streams.err << "waiting: " << reason << std::endl;
      last_reason = std::move(reason);
    }
    RealClock().SleepFor(kPause, std::stop_token());
  }
}

int FailCall(const absl::Status& status, Streams& streams) {
  const bool wrong_use = absl::IsInvalidArgument(status) && !IsOfDaemon(status);
  return Fail(status, wrong_use ? kCliUsage : status.raw_code(), streams);
}

}  // namespace addons
