#include "server/grpc_log.h"

#include <grpc/support/log.h>
#include <grpcpp/version_info.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "base/mutex.h"

namespace addons {

#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR < 65

namespace {

/// gRPC calls a plain function.
struct Limit {
  Mutex mutex;
  LogLimit lines ABSL_GUARDED_BY(mutex){std::chrono::seconds(1)};
};
Limit& TheLimit() {
  static Limit* const limit = new Limit;  // gRPC's threads outlive main()
  return *limit;
}

LogLevel LevelOf(gpr_log_severity severity) {
  switch (severity) {
    case GPR_LOG_SEVERITY_DEBUG:
      return LogLevel::kDebug;
    case GPR_LOG_SEVERITY_INFO:
      return LogLevel::kInfo;
    case GPR_LOG_SEVERITY_ERROR:
      break;
  }
  return LogLevel::kWarn;  // what it means for the daemon is said elsewhere
}

void Write(gpr_log_func_args* message) {
  const auto level = LevelOf(message->severity);
  if (!Log().should_log(level)) return;
  std::optional<uint64_t> left_out;
  {
    Limit& limit = TheLimit();
    const MutexLock lock(limit.mutex);
    left_out = limit.lines.Admit(RealClock().Now());
  }
  if (!left_out.has_value()) return;
  const std::string file = message->file;
  Log().log(level, "grpc at={}:{} left_out={} text={}",
            file.substr(file.rfind('/') + 1), message->line, *left_out,
            Quoted(message->message));
}

}  // namespace

void TakeGrpcLog() { gpr_set_log_function(&Write); }

#else

void TakeGrpcLog() {}

#endif

}  // namespace addons
