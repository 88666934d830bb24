#include "cli/call_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/without_numbers.h"
#include "cli/channel.h"
#include "cli/methods.h"
#include "cli/volume_name.h"
#include "rbdaddons/admin.pb.h"
#include "rpc/method.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// How soon Ctrl-C is noticed.
constexpr milliseconds kTick{100};
constexpr milliseconds kOneLook{2000};
/// A line that changes must not wrap.
constexpr size_t kColumns = 79;
constexpr size_t kStepColumns = 40;

absl::Status ListOperations(const std::shared_ptr<grpc::Channel>& channel,
                            const std::stop_token& stop,
                            admin_pb::ListOperationsResponse& list) {
  const admin_pb::ListOperationsRequest request;
  const auto method = FindMethod(MethodOfRequest(request));
  if (!method.ok()) return method.status();
  return CallMethod(channel, **method, request, kOneLook, list, stop);
}

/// What is counted in bytes; all else has units of its own.
bool CountsBytes(const admin_pb::Operation& operation) {
  return operation.verb() == "sparsify" || operation.verb() == "trim";
}

std::string DoingText(const admin_pb::Operation& operation) {
  return CleanLine(
      absl::StrCat(operation.verb(), " of ", operation.object(),
                   operation.step().empty() ? "" : ", ", operation.step()),
      kMaxShownName);
}

/// Without the object, which whoever waits knows.
std::string StepText(const admin_pb::Operation& operation) {
  return absl::StrCat(operation.verb(), operation.step().empty() ? "" : ", ",
                      CleanLine(operation.step(), kStepColumns));
}

/// Nobody needs its end. A primary that waits for its followers is none of
/// these: it gives the role back where one is promoted, while somebody waits.
bool MayBeInterrupted(const admin_pb::Operation& operation) {
  if (operation.mutating()) return false;
  return !operation.clock().empty() ||
         (absl::StartsWith(operation.step(), "waiting") &&
          !absl::StrContains(operation.step(), "start no workload"));
}

}  // namespace

CallWatch::CallWatch(std::shared_ptr<grpc::Channel> channel, Options options,
                     Streams& streams)
    : channel_(std::move(channel)),
      options_(std::move(options)),
      streams_(streams),
      next_look_(steady_clock::now() + options_.look_every),
      lines_(streams, options_.columns),
      next_line_(steady_clock::now() + options_.line_every),
      ticks_(std::in_place, "cli-watch", kTick, [this] { Tick(); }) {}

CallWatch::~CallWatch() {
  ended_.request_stop();
  ticks_.reset();
  const MutexLock lock(mutex_);
  lines_.Clear();
}

void CallWatch::SayReason(const std::string& reason) {
  const MutexLock lock(mutex_);
  std::string kind = WithoutNumbers(reason);
  if (kind != last_reason_) {
    lines_.Clear();
    streams_.err << "waiting: " << reason << std::endl;
    last_reason_ = std::move(kind);
    next_line_ = steady_clock::now() + options_.line_every;
    return;
  }
  const Progress progress = Progress::In(reason);
  if (progress.total == 0) return;
  reason_.Note(last_reason_, progress, steady_clock::now());
  Show(absl::StrCat("copied ", progress.done, " of ", progress.total,
                    " objects"),
       reason_.Text(/*in_bytes=*/false));
}

void CallWatch::Tick() {
  if (Interrupt::Came()) interrupted_.request_stop();
  if (interrupted_.stop_requested()) return;
  if (channel_ == nullptr || options_.subject.empty()) return;
  if (steady_clock::now() < next_look_) return;
  Look();
  next_look_ = steady_clock::now() + options_.look_every;
}

void CallWatch::Look() {
  admin_pb::ListOperationsResponse list;
  if (!ListOperations(channel_, ended_.get_token(), list).ok()) return;
  for (const admin_pb::Operation& operation : list.operations()) {
    if (operation.object() != options_.subject) continue;
    const MutexLock lock(mutex_);
    const bool safe = MayBeInterrupted(operation);
    if (!operation.clock().empty()) {
      const std::string line =
          absl::StrCat(CleanLine(operation.clock(), kMaxShownText),
                       safe ? "; Ctrl-C is safe" : "");
      said_safe_ |= safe;
      // What is new is said at once.
      if (std::string kind = WithoutNumbers(line); kind != last_clock_) {
        last_clock_ = std::move(kind);
        next_line_ = steady_clock::now();
      }
      ShowLine(line);
      return;
    }
    if (safe && !std::exchange(said_safe_, true)) {
      lines_.Clear();
      streams_.err << "nothing is changed while it waits: Ctrl-C is safe"
                   << std::endl;
    }
    const std::string doing = StepText(operation);
    operation_.Note(doing, Progress::Of(operation), steady_clock::now());
    Show(doing, operation_.Text(CountsBytes(operation)));
    return;
  }
}

void CallWatch::Show(const std::string& doing, const std::string& progress) {
  ShowLine(CleanLine(
      absl::StrCat(doing, progress.empty() ? "" : ": ", progress), kColumns));
}

/// Whole, however narrow the terminal is.
void CallWatch::ShowLine(const std::string& line) {
  if (streams_.err_is_terminal) {
    lines_.Draw(line);
    return;
  }
  if (steady_clock::now() < next_line_) return;
  next_line_ = steady_clock::now() + options_.line_every;
  streams_.err << line << std::endl;
}

void SayWhatGoesOn(const std::shared_ptr<grpc::Channel>& channel,
                   const std::string& subject, const std::string& where,
                   Streams& streams) {
  admin_pb::ListOperationsResponse list;
  if (channel == nullptr || !ListOperations(channel, {}, list).ok()) {
    streams.err << "what goes on" << where << " could not be seen\n";
    return;
  }
  bool any = false;
  for (const admin_pb::Operation& operation : list.operations()) {
    // What has changed nothing ends when nobody waits for it.
    if (!operation.mutating()) continue;
    if (!subject.empty() && operation.object() != subject) continue;
    any = true;
    streams.err << "goes on" << where << ": "
                << WithTypedNames(DoingText(operation), streams) << "\n";
  }
  if (!any && !subject.empty()) {
    streams.err << "nothing goes on with "
                << CleanLine(WithTypedNames(subject, streams), kMaxShownName)
                << "\n";
  }
}

}  // namespace addons
