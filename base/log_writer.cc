#include "base/log_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/start_thread.h"

namespace addons {
namespace {

constexpr std::chrono::milliseconds kLastFlush = std::chrono::seconds(2);

bool IsPipeOrTerminal(int fd, const struct stat& info) {
  return S_ISFIFO(info.st_mode) || (S_ISCHR(info.st_mode) && isatty(fd) == 1);
}

/// The same file, of which nobody else can change the flags where that can be
/// had. Not valid: there is no such file.
UniqueFd OpenAnew(int fd, const struct stat& info) {
  if (IsPipeOrTerminal(fd, info)) {
    UniqueFd own(open(absl::StrCat("/proc/self/fd/", fd).c_str(),
                      O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (own.valid()) return own;
  }
  return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

/// Whole lines, as many as the kernel writes to a pipe in one piece, so that
/// they do not mix with those of others; or a piece of a line that is longer.
absl::string_view FirstPiece(absl::string_view text) {
  if (text.size() <= PIPE_BUF) return text;
  const size_t end = text.rfind('\n', PIPE_BUF - 1);
  return text.substr(0, end == absl::string_view::npos ? PIPE_BUF : end + 1);
}

uint64_t CountLines(absl::string_view text) {
  return static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

/// While it lives, no signal is delivered to this thread, nor to a thread that
/// it starts, except those that a fault of its own raises. The log's thread
/// begins before the daemon says what signals do to it.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
      sigdelset(&all, fault);
    }
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

absl::StatusOr<std::unique_ptr<LogWriter>> LogWriter::Start(
    int fd, LogWriterOptions options) {
  struct stat info {};
  UniqueFd file;
  if (fstat(fd, &info) == 0) {
    file = OpenAnew(fd, info);
    if (!file.valid()) {
      return absl::InternalError("Failed to open the log: no descriptor left");
    }
  }
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) {
    return absl::InternalError("Failed to open the log: no descriptor left");
  }
  std::unique_ptr<LogWriter> writer(
      new LogWriter(std::move(file), S_ISSOCK(info.st_mode), std::move(wake),
                    std::move(options)));
  const SignalsBlocked blocked;
  auto thread =
      StartThread("log-writer", [raw = writer.get()] { raw->Loop(); });
  if (!thread) {
    return absl::InternalError("Failed to open the log: no thread left");
  }
  writer->thread_ = *std::move(thread);
  return writer;
}

LogWriter::LogWriter(UniqueFd file, bool is_socket, UniqueFd wake,
                     LogWriterOptions options)
    : file_(std::move(file)),
      is_socket_(is_socket),
      wake_(std::move(wake)),
      options_(std::move(options)) {}

LogWriter::~LogWriter() {
  if (!thread_.joinable()) return;
  Flush(kLastFlush);
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void LogWriter::Write(absl::string_view line) noexcept {
  const MutexLock lock(mutex_);
  try {
    if (queue_.lines.size() + line.size() <= options_.queued_bytes) {
      queue_.lines.append(line.data(), line.size());
      ++queue_.count;
      ++lines_taken_;
      idle_ = false;
      changed_.NotifyAll();
      return;
    }
  } catch (...) {  // no memory: dropped like one for which there is no room
  }
  ++queue_.dropped_after;
  ++dropped_;
}

void LogWriter::CountDropped() noexcept {
  const MutexLock lock(mutex_);
  ++queue_.dropped_after;
  ++dropped_;
}

bool LogWriter::Flush(std::chrono::milliseconds at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  const MutexLock lock(mutex_);
  const uint64_t wanted = lines_taken_;
  while (lines_done_ < wanted) {
    if (!changed_.WaitUntil(mutex_, until)) return lines_done_ >= wanted;
  }
  return true;
}

bool LogWriter::Take(Batch& batch) {
  const MutexLock lock(mutex_);
  while (queue_.count == 0 && queue_.dropped_after == 0) {
    if (ending_) return false;
    changed_.Wait(mutex_);
  }
  batch = std::exchange(queue_, {});
  return true;
}

void LogWriter::Loop() {
  Batch batch;
  while (Take(batch)) {
    absl::string_view left = batch.lines;
    left.remove_prefix(WriteAll(left));
    dropped_ += CountLines(left);
    if (batch.dropped_after > 0 && options_.dropped_line) {
      try {
        WriteAll(options_.dropped_line(batch.dropped_after));
      } catch (...) {  // no memory: the metric has the number
      }
    }
    const MutexLock lock(mutex_);
    lines_done_ += batch.count;
    idle_ = queue_.count == 0;
    changed_.NotifyAll();
  }
}

size_t LogWriter::WriteAll(absl::string_view text) {
  size_t done = 0;
  while (file_.valid() && done < text.size()) {
    // First, because a write could block where the description is shared.
    if (!WaitWritable()) break;
    const absl::string_view piece = FirstPiece(text.substr(done));
    const ssize_t written =
        is_socket_ ? send(file_.get(), piece.data(), piece.size(),
                          MSG_NOSIGNAL | MSG_DONTWAIT)
                   : write(file_.get(), piece.data(), piece.size());
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno != EAGAIN && errno != EINTR) {
      break;
    }
  }
  return done;
}

bool LogWriter::WaitWritable() {
  std::array<pollfd, 2> events = {pollfd{file_.get(), POLLOUT, 0},
                                  pollfd{wake_.get(), POLLIN, 0}};
  while (poll(events.data(), events.size(), -1) < 0) {
    if (errno != EINTR) return false;
  }
  // At the end what can be written at once still is.
  return events[0].revents != 0;
}

}  // namespace addons
