#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <exception>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/crash_report.h"
#include "base/json_log_line.h"
#include "base/last_lines.h"
#include "base/log_writer.h"
#include "base/mutex.h"
#include "base/status_macros.h"

namespace addons {
namespace {

constexpr char kTime[] = "%Y-%m-%dT%H:%M:%S.%e%z";
constexpr char kPattern[] = "%Y-%m-%dT%H:%M:%S.%e%z %l %v";
constexpr char kLoggerName[] = "rbd-addons";
constexpr std::chrono::milliseconds kFlush = std::chrono::seconds(2);
// What a process that dies leaves to its log: 50 times 10 ms.
constexpr int kCrashLooks = 50;
constexpr long kCrashLookNanoseconds = 10'000'000;

// That of the logger, which owns it; for signal handlers and the metric.
std::atomic<LogWriter*> log_writer{nullptr};
std::atomic<LogFormat> log_format{LogFormat::kText};

static_assert(static_cast<int>(LogLevel::kTrace) == SPDLOG_LEVEL_TRACE);
static_assert(static_cast<int>(LogLevel::kOff) == SPDLOG_LEVEL_OFF);
spdlog::level::level_enum ToSpdlog(LogLevel level) {
  return static_cast<spdlog::level::level_enum>(level);
}

/// Lives as long as the process: whoever asks may do so while a log ends.
LastLines& Kept() {
  static auto* const kKept = new LastLines;
  return *kKept;
}

spdlog::logger& Current() { return *spdlog::default_logger_raw(); }

void CountLostLine() {
  if (LogWriter* const current = log_writer) current->CountDropped();
}

/// One JSON object per line.
class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message,
              spdlog::memory_buf_t& line) override {
    spdlog::memory_buf_t time;
    time_.format(message, time);
    const auto level = spdlog::level::to_string_view(message.level);
    const std::string text =
        JsonLogLine({time.data(), time.size()}, {level.data(), level.size()},
                    {message.payload.data(), message.payload.size()});
    line.append(text.data(), text.data() + text.size());
    line.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }

 private:
  spdlog::pattern_formatter time_{kTime, spdlog::pattern_time_type::local, ""};
};

std::unique_ptr<spdlog::formatter> NewFormatter(LogFormat format) {
  if (format == LogFormat::kJson) return std::make_unique<JsonFormatter>();
  return std::make_unique<spdlog::pattern_formatter>(kPattern);
}

std::string DroppedLine(LogFormat format, uint64_t dropped) {
  const std::string text = absl::StrCat(
      "log lines were dropped: nobody read them in time count=", dropped);
  spdlog::memory_buf_t line;
  NewFormatter(format)->format(
      spdlog::details::log_msg(kLoggerName, spdlog::level::warn, text), line);
  return {line.data(), line.size()};
}

/// spdlog's own base class keeps everybody out while it flushes.
class QueueSink final : public spdlog::sinks::sink {
 public:
  QueueSink(std::unique_ptr<LogWriter> writer, LogFormat format)
      : writer_(std::move(writer)), formatter_(NewFormatter(format)) {
    log_writer = writer_.get();
  }
  ~QueueSink() override {
    LogWriter* mine = writer_.get();
    log_writer.compare_exchange_strong(mine, nullptr);
  }
  QueueSink(const QueueSink&) = delete;
  QueueSink& operator=(const QueueSink&) = delete;

  void log(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    {
      const MutexLock lock(mutex_);
      formatter_->format(message, line);
    }
    writer_->Write({line.data(), line.size()});
    Kept().Keep({line.data(), line.size()});
  }
  void flush() override { writer_->Flush(kFlush); }
  void set_pattern(const std::string& pattern) override {
    set_formatter(std::make_unique<spdlog::pattern_formatter>(pattern));
  }
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override {
    const MutexLock lock(mutex_);
    formatter_ = std::move(formatter);
  }

 private:
  const std::unique_ptr<LogWriter> writer_;
  Mutex mutex_;
  std::unique_ptr<spdlog::formatter> formatter_ ABSL_GUARDED_BY(mutex_);
};

constexpr std::array<int, 5> kFatal = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE,
                                       SIGILL};
std::array<struct sigaction, kFatal.size()> handlers_before;

// The first thread that dies is told of, 0: none yet. Others that die
// meanwhile, perhaps of what it broke, wait for the end of that.
std::atomic<pid_t> dying_thread{0};
std::atomic<bool> reported{false};
std::atomic<int> dies_of{0};  // the signal, for the alarm's handler
// The trace of a thread that died inside the loader may wait for ever.
constexpr unsigned kReportSeconds = 5;

void RestoreHandler(int signal) {
  for (size_t i = 0; i < kFatal.size(); ++i) {
    if (kFatal.at(i) == signal) {
      sigaction(signal, &handlers_before.at(i), nullptr);
    }
  }
}

/// To the process, since the thread that dies has its signal blocked.
void OnReportTakesTooLong(int /*signal*/) {
  const int signal = dies_of;
  std::signal(signal, SIG_DFL);  // NOLINT(cert-err33-c): nothing else to do
  kill(getpid(), signal);
}

// The log's thread goes on meanwhile. Then whoever handled the signal before
// gets it.
void OnFatalSignal(int signal, siginfo_t* info, void* context) {
  const int before = errno;
  const LogWriter* const writer = log_writer;
  const timespec pause{0, kCrashLookNanoseconds};
  for (int i = 0; i < kCrashLooks && writer != nullptr && !writer->idle();
       ++i) {
    nanosleep(&pause, nullptr);
  }
  pid_t nobody = 0;
  if (writer == nullptr) {
    reported = true;
  } else if (dying_thread.compare_exchange_strong(nobody, gettid())) {
    dies_of = signal;
    struct sigaction late {};
    late.sa_handler = OnReportTakesTooLong;
    sigaction(SIGALRM, &late, nullptr);
    alarm(kReportSeconds);
    WriteCrashReport({signal, info, context}, log_format, writer->file());
    alarm(0);
    reported = true;
  }
  // Unless it died in the report itself, which is then all that there is.
  while (!reported && dying_thread != gettid()) nanosleep(&pause, nullptr);
  RestoreHandler(signal);
  errno = before;
  raise(signal);  // blocked until this returns
}

}  // namespace

absl::Status InitLog(absl::string_view level, LogFormat format, int fd) {
  const std::string name(level);
  if (name != "trace" && name != "debug" && name != "info" && name != "warn" &&
      name != "error") {
    return absl::InvalidArgumentError(
        absl::StrCat("log level '", name,
                     "' is not one of trace, debug, info, warn, error"));
  }
  ADDONS_ASSIGN_OR_RETURN(
      std::unique_ptr<LogWriter> writer,
      LogWriter::Start(fd, {.dropped_line = [format](uint64_t dropped) {
                         return DroppedLine(format, dropped);
                       }}));
  log_format = format;
  auto logger = std::make_shared<spdlog::logger>(
      kLoggerName, std::make_shared<QueueSink>(std::move(writer), format));
  logger->set_level(spdlog::level::from_str(name));
  Kept().Clear();
  // spdlog's own would write to standard error, and wait for its reader.
  logger->set_error_handler([](const std::string&) { CountLostLine(); });
  spdlog::set_default_logger(std::move(logger));
  return absl::OkStatus();
}

bool Logger::should_log(LogLevel level) const {
  return Current().should_log(ToSpdlog(level));
}

LogLevel Logger::level() const {
  return static_cast<LogLevel>(Current().level());
}

void Logger::set_level(LogLevel level) const {
  Current().set_level(ToSpdlog(level));
}

void Logger::flush() const { Current().flush(); }

void Logger::Write(LogLevel level, fmt::string_view text,
                   fmt::format_args args) const {
  if (!should_log(level)) return;
  try {
    spdlog::memory_buf_t line;
    fmt::vformat_to(std::back_inserter(line), text, args);
    Current().log(ToSpdlog(level),
                  spdlog::string_view_t(line.data(), line.size()));
  } catch (const std::exception&) {
    CountLostLine();
  }
}

void FlushLogOnCrash() {
  PrepareCrashReport();
  struct sigaction action {};
  action.sa_sigaction = OnFatalSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (size_t i = 0; i < kFatal.size(); ++i) {
    sigaction(kFatal.at(i), &action, &handlers_before.at(i));
  }
}

std::string LastLogLines() { return Kept().Text(); }

uint64_t LogLinesDropped() {
  const LogWriter* const writer = log_writer;
  return writer == nullptr ? 0 : writer->dropped();
}

std::string Quoted(absl::string_view text) {
  constexpr size_t kShown = 1024;
  const bool cut = text.size() > kShown;
  // Within double quotes an apostrophe needs no escape, and messages are full
  // of them.
  std::string escaped = absl::StrReplaceAll(
      absl::CHexEscape(text.substr(0, kShown)), {{"\\'", "'"}});
  const bool plain = !escaped.empty() && escaped.size() == text.size() &&
                     escaped.find_first_of(" =") == std::string::npos;
  if (plain) return escaped;
  return absl::StrCat("\"", escaped, cut ? "...\"" : "\"");
}

}  // namespace addons
