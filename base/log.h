#ifndef ADDONS_BASE_LOG_H_
#define ADDONS_BASE_LOG_H_

#include <spdlog/spdlog.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace addons {

/// Sends the process's log to standard error, one line per fact:
/// `time level message key=value ...`. `level` is one of trace, debug, info,
/// warn, error. Call once, before threads start; INVALID_ARGUMENT otherwise.
absl::Status InitLog(absl::string_view level);

/// The logger. `Log().info("promoted volume={}", Quoted(id))`.
inline spdlog::logger& Log() { return *spdlog::default_logger_raw(); }

/// `text` for a log line: quoted if it has white space, quotes or is empty,
/// with control characters escaped and at most 1024 bytes of it shown.
std::string Quoted(absl::string_view text);

}  // namespace addons

#endif  // ADDONS_BASE_LOG_H_
