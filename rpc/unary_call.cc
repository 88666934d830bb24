#include "rpc/unary_call.h"

#include <grpc/support/time.h>

#include <chrono>
#include <exception>
#include <random>
#include <typeinfo>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "rpc/method.h"
#include "rpc/redact.h"
#include "rpc/status.h"
#include "rpc/validate.h"

namespace addons {
namespace {

using google::protobuf::Message;

std::string RandomMark() {
  std::random_device random;
  return absl::StrCat(absl::Hex(random() & 0xFFFFFFU, absl::kZeroPad6));
}

void Trace(const char* what, const CallContext& call, const Message& message) {
  if (!Log().should_log(spdlog::level::trace)) return;
  Log().trace("{} method={} req={} body={}", what, call.method,
              call.caller.request_id, Redacted(message));
}

absl::Status Guarded(const CallHandler& handler, const CallContext& call) {
  try {
    return handler(call);
  } catch (const std::exception& e) {
    // Only the type: what() may quote the request, secrets included.
    Log().error("exception in handler method={} req={} type={}", call.method,
                call.caller.request_id, typeid(e).name());
  } catch (...) {
    Log().error("exception in handler method={} req={}", call.method,
                call.caller.request_id);
  }
  return absl::InternalError(absl::StrCat(
      "Failed to serve ", call.method,
      ": unexpected error; the daemon's log has it under the request's id"));
}

}  // namespace

Rpc::Rpc(Clock& clock)
    : clock_(clock), process_mark_(RandomMark()), access_log_(clock) {}

std::string Rpc::NextRequestId() {
  return absl::StrCat(process_mark_, "-",
                      next_id_.fetch_add(1, std::memory_order_relaxed));
}

std::optional<SteadyTime> DeadlineOf(const grpc::ServerContext& context,
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

absl::Status RunCall(Rpc& rpc, const CallContext& call, const Message& request,
                     const Message& response, const CallHandler& handler) {
  const SteadyTime begin = rpc.clock().Now();
  rpc.stats().Started();
  Trace("request", call, request);
  absl::Status status = ValidateRequest(request);
  const bool valid = status.ok();
  if (valid) status = Guarded(handler, call);
  if (status.ok()) Trace("response", call, response);
  const SteadyDuration took = rpc.clock().Now() - begin;
  rpc.stats().Finished(call.method, status.code(), took);
  rpc.access_log().Write(
      {call.caller.request_id, call.method,
       // What broke a limit is not worth repeating in the log.
       valid ? ObjectOfRequest(request) : "", status,
       std::chrono::duration_cast<std::chrono::milliseconds>(took)});
  return status;
}

grpc::Status ServeUnary(Rpc& rpc, const grpc::ServerContext& context,
                        const Message& request, const Message& response,
                        const CallHandler& handler) {
  const CallContext call{
      // Callers wait in real time, whatever the clock is.
      {DeadlineOf(context, RealClock().Now()),
       [&context] { return context.IsCancelled(); }, rpc.NextRequestId()},
      MethodOfRequest(request)};
  return ToGrpc(RunCall(rpc, call, request, response, handler),
                call.caller.request_id);
}

}  // namespace addons
