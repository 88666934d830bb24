#ifndef ADDONS_BASE_LOG_H_
#define ADDONS_BASE_LOG_H_

#include <spdlog/spdlog.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace addons {

/// Sends the process's log to `fd`, standard error unless told otherwise, one
/// line per fact: `time level message key=value ...`. `level` is one of trace,
/// debug, info, warn, error; INVALID_ARGUMENT otherwise. INTERNAL: as
/// LogWriter::Start(). Call once, before threads start.
///
/// Who logs never waits for who reads: see LogWriter. Log().flush() waits until
/// all is written, for two seconds at most.
absl::Status InitLog(absl::string_view level, int fd = 2);

/// A process that dies of a fault or abort() lets its log be written first, for
/// up to half a second, then its WriteCrashReport(). Once, after InitLog().
void FlushLogOnCrash();

/// The logger. `Log().info("promoted volume={}", Quoted(id))`.
inline spdlog::logger& Log() { return *spdlog::default_logger_raw(); }

/// Lines that were lost since InitLog(), because nobody read them in time.
uint64_t LogLinesDropped();

/// `text` for a log line: quoted if it has white space, quotes or is empty,
/// with control characters escaped and at most 1024 bytes of it shown.
std::string Quoted(absl::string_view text);

}  // namespace addons

#endif  // ADDONS_BASE_LOG_H_
