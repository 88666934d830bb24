#include "cli/repeated_call.h"

#include <algorithm>
#include <stop_token>

#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/call.h"
#include "cli/call_watch.h"
#include "cli/channel.h"
#include "cli/flag_names.h"
#include "cli/interrupt.h"
#include "cli/methods.h"
#include "rpc/method.h"

namespace addons {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kPause{2};

/// Nobody else's status is like it: FailCall().
absl::Status Interrupted() { return absl::CancelledError("interrupted"); }

/// CallUntilDone() without its end.
absl::Status CallAgainAndAgain(const RepeatedCall& call,
                               const std::shared_ptr<grpc::Channel>& channel,
                               const google::protobuf::MethodDescriptor& method,
                               google::protobuf::Message& request,
                               google::protobuf::Message& response,
                               CallWatch& watch, Streams& streams) {
  const std::stop_token interrupted = watch.interrupted();
  const auto end = steady_clock::now() + call.timeout;
  while (true) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    absl::Status status = CallMethod(
        channel, method, request,
        std::clamp<milliseconds>(left, milliseconds(1), call.one_call),
        response, interrupted, &streams.trailers);
    if (status.ok()) {
      if (call.judge) status = call.judge(request, response);
      if (status.ok()) return status;
    } else if (!MustBeRepeated(status)) {
      return NamingListener(status, call.endpoint);
    }
    if (steady_clock::now() + kPause >= end) return status;
    watch.SayReason(ReasonToWait(status));
    RealClock().SleepFor(kPause, interrupted);
    if (interrupted.stop_requested()) return status;
  }
}

}  // namespace

bool MustBeRepeated(const absl::Status& status) {
  if (absl::IsDeadlineExceeded(status)) return true;
  return (absl::IsUnavailable(status) || absl::IsAborted(status)) &&
         IsOfDaemon(status);
}

absl::Status OtherDaemon() {
  return absl::InvalidArgumentError(
      "this asks the administrators' socket of the daemon, too, and --endpoint "
      "names one that is not here: give --admin-endpoint as well");
}

std::string ReasonToWait(const absl::Status& status) {
  std::string line = ErrorLine(status);
  const size_t request = line.rfind(" (request ");
  return request == std::string::npos ? line : line.substr(0, request);
}

absl::StatusOr<std::unique_ptr<google::protobuf::Message>> MakeVerbRequest(
    const google::protobuf::MethodDescriptor& method,
    const absl::StatusOr<std::string>& json, const SecretsSource& secrets) {
  ADDONS_RETURN_IF_ERROR(json.status());
  ADDONS_ASSIGN_OR_RETURN(const std::string text, ReadSecrets(secrets));
  return MakeRequest(method, *json, TextSource::kCommandLine, text);
}

absl::Status CallUntilDone(const RepeatedCall& call,
                           const google::protobuf::MethodDescriptor& method,
                           google::protobuf::Message& request,
                           google::protobuf::Message& response,
                           Streams& streams) {
  ADDONS_ASSIGN_OR_RETURN(const auto channel, OpenChannel(call.endpoint));
  std::shared_ptr<grpc::Channel> admin;
  if (!call.admin_endpoint.empty()) {
    ADDONS_ASSIGN_OR_RETURN(admin, OpenChannel(call.admin_endpoint));
  }
  absl::Status status;
  bool interrupted = false;
  {
    CallWatch watch(admin, {call.subject}, streams);
    status = CallAgainAndAgain(call, channel, method, request, response, watch,
                               streams);
    interrupted = watch.interrupted().stop_requested();
  }
  if (!interrupted || status.ok()) return status;
  streams.err << "interrupted: nothing was cancelled\n";
  SayWhatGoesOn(admin, call.subject, "", streams);
  streams.err << "`rbd-addons operations` shows what still runs; the same "
                 "command goes on where this one ended\n";
  return Interrupted();
}

absl::Status CallAdminUntilDone(const std::string& endpoint,
                                milliseconds timeout, milliseconds one_call,
                                const SecretsSource& secrets,
                                const std::string& subject,
                                const google::protobuf::Message& request,
                                google::protobuf::Message& response,
                                Streams& streams) {
  ADDONS_ASSIGN_OR_RETURN(const auto* method,
                          FindMethod(MethodOfRequest(request)));
  ADDONS_ASSIGN_OR_RETURN(const auto asked,
                          MakeVerbRequest(*method, "{}", secrets));
  asked->MergeFrom(request);
  const RepeatedCall call{endpoint, endpoint, timeout,
                          nullptr,  subject,  one_call};
  return CallUntilDone(call, *method, *asked, response, streams);
}

absl::Status CallOnce(const std::string& endpoint, milliseconds timeout,
                      const google::protobuf::MethodDescriptor& method,
                      const google::protobuf::Message& request,
                      google::protobuf::Message& response, Streams& streams) {
  ADDONS_ASSIGN_OR_RETURN(const auto channel, OpenChannel(endpoint));
  const CallWatch watch(nullptr, {}, streams);
  const absl::Status status =
      NamingListener(CallMethod(channel, method, request, timeout, response,
                                watch.interrupted(), &streams.trailers),
                     endpoint);
  if (status.ok() || !watch.interrupted().stop_requested()) return status;
  streams.err << "interrupted; `rbd-addons operations` shows what still runs\n";
  return Interrupted();
}

absl::Status AskWithSecrets(const std::string& endpoint, milliseconds timeout,
                            const SecretsSource& secrets,
                            google::protobuf::Message& request,
                            google::protobuf::Message& response,
                            Streams& streams) {
  ADDONS_ASSIGN_OR_RETURN(const auto* method,
                          FindMethod(MethodOfRequest(request)));
  // Not every method takes them.
  if (request.GetDescriptor()->FindFieldByName("secrets") != nullptr) {
    ADDONS_ASSIGN_OR_RETURN(const auto with_secrets,
                            MakeVerbRequest(*method, "{}", secrets));
    request.MergeFrom(*with_secrets);
  }
  return CallOnce(endpoint, timeout, *method, request, response, streams);
}

int ExitCodeOf(const absl::Status& status) {
  if (absl::IsCancelled(status) && !IsOfDaemon(status) && Interrupt::Came()) {
    return kCliInterrupted;
  }
  const bool wrong_use = absl::IsInvalidArgument(status) && !IsOfDaemon(status);
  return wrong_use ? kCliUsage : status.raw_code();
}

int FailCall(const absl::Status& status, Streams& streams) {
  return FailRawCall(InWordsOfFlags(status), streams);
}

int FailRawCall(const absl::Status& status, Streams& streams) {
  const int code = ExitCodeOf(status);
  return code == kCliInterrupted ? code : Fail(status, code, streams);
}

}  // namespace addons
