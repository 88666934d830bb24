#ifndef ADDONS_BASE_LOG_H_
#define ADDONS_BASE_LOG_H_

#include <fmt/core.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/log_format.h"

namespace addons {

/// Sends the process's log to `fd`, standard error unless told otherwise, one
/// line per fact: `time level message key=value ...`. `level` is one of trace,
/// debug, info, warn, error; INVALID_ARGUMENT otherwise. INTERNAL: as
/// LogWriter::Start(). Call once, before threads start.
///
/// Who logs never waits for who reads: see LogWriter. Log().flush() waits until
/// all is written, for two seconds at most.
absl::Status InitLog(absl::string_view level,
                     LogFormat format = LogFormat::kText, int fd = 2);

/// A process that dies of a fault or abort() lets its log be written first, for
/// up to half a second, then its WriteCrashReport(). Once, after InitLog().
void FlushLogOnCrash();

/// As spdlog's, in the same order.
enum class LogLevel : uint8_t {
  kTrace,
  kDebug,
  kInfo,
  kWarn,
  kError,
  kCritical,
  kOff
};

/// The process's log, which is spdlog's default logger. Lines are formatted in
/// one place: whoever includes spdlog itself compiles all of fmt once more.
/// Thread-safe; never throws.
class Logger {
 public:
  template <typename... Args>
  void trace(fmt::format_string<Args...> text, Args&&... args) const {
    Line(LogLevel::kTrace, text, args...);
  }
  template <typename... Args>
  void debug(fmt::format_string<Args...> text, Args&&... args) const {
    Line(LogLevel::kDebug, text, args...);
  }
  template <typename... Args>
  void info(fmt::format_string<Args...> text, Args&&... args) const {
    Line(LogLevel::kInfo, text, args...);
  }
  template <typename... Args>
  void warn(fmt::format_string<Args...> text, Args&&... args) const {
    Line(LogLevel::kWarn, text, args...);
  }
  template <typename... Args>
  void error(fmt::format_string<Args...> text, Args&&... args) const {
    Line(LogLevel::kError, text, args...);
  }
  template <typename... Args>
  void critical(fmt::format_string<Args...> text, Args&&... args) const {
    Line(LogLevel::kCritical, text, args...);
  }
  template <typename... Args>
  void log(LogLevel level, fmt::format_string<Args...> text,
           Args&&... args) const {
    Line(level, text, args...);
  }

  bool should_log(LogLevel level) const;
  LogLevel level() const;
  /// What is below is left out.
  void set_level(LogLevel level) const;
  /// Waits until all is written, for two seconds at most.
  void flush() const;

 private:
  template <typename... Args>
  void Line(LogLevel level, fmt::string_view text, const Args&... args) const {
    Write(level, text, fmt::make_format_args(args...));
  }
  void Write(LogLevel level, fmt::string_view text,
             fmt::format_args args) const;
};

/// The logger. `Log().info("promoted volume={}", Quoted(id))`.
inline Logger Log() { return {}; }

/// The last lines since InitLog() as they were written, the oldest first: 1000
/// at most, in 256 KiB. None is below the level. Thread-safe; does not block.
std::string LastLogLines();

/// Lines that were lost since InitLog(), because nobody read them in time.
uint64_t LogLinesDropped();

/// `text` for a log line: quoted if it has white space, quotes or is empty,
/// with control characters escaped and at most 1024 bytes of it shown.
std::string Quoted(absl::string_view text);

}  // namespace addons

#endif  // ADDONS_BASE_LOG_H_
