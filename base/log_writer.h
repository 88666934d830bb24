#ifndef ADDONS_BASE_LOG_WRITER_H_
#define ADDONS_BASE_LOG_WRITER_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "base/unique_fd.h"

namespace addons {

struct LogWriterOptions {
  /// What may wait for a reader that is slow. What comes on top is dropped.
  size_t queued_bytes = size_t{4} << 20;
  /// The line that says how many lines were dropped; empty: none.
  std::function<std::string(uint64_t dropped)> dropped_line = {};
};

/// Brings lines to a file, pipe, terminal or socket without ever keeping
/// whoever writes them waiting: they are queued, and a thread of its own writes
/// them. A reader that is slow loses nothing until the queue is full; one that
/// stands still costs the lines beyond that, which are counted, and a line in
/// their place says so as soon as there is room. Thread-safe.
///
/// librados makes the open file description of standard error non-blocking
/// when it is a pipe, and so every write(2) to a full pipe fails, whoever
/// shares it. A pipe or a terminal is therefore opened anew (an open file
/// description of its own), and where that is refused, waited for with poll(2).
class LogWriter {
 public:
  /// `fd` is not owned and may be closed afterwards. INTERNAL: no thread or no
  /// descriptor left.
  static absl::StatusOr<std::unique_ptr<LogWriter>> Start(
      int fd, LogWriterOptions options);
  /// Flush(), then what is left is dropped.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// Queues `line`, which ends with a line feed. Waits for nothing but a mutex
  /// that is held for the time of a copy. Does not throw: a line for which
  /// there is no memory counts as dropped.
  void Write(absl::string_view line) noexcept;
  /// Counts a line that could not even be made.
  void CountDropped() noexcept;

  /// Waits until all that was queued before is written, at most `at_most`.
  /// False: it is not.
  bool Flush(std::chrono::milliseconds at_most);

  /// Lines lost since the start, also to a file that could not be written.
  uint64_t dropped() const { return dropped_; }
  /// Nothing is queued or being written. Safe in a signal handler.
  bool idle() const { return idle_; }
  /// Where the lines go, for a process that dies. -1: nowhere. Safe in a signal
  /// handler.
  int file() const { return file_.get(); }

 private:
  LogWriter(UniqueFd file, bool is_socket, UniqueFd wake,
            LogWriterOptions options);

  struct Batch {
    std::string lines;
    uint64_t count = 0;
    uint64_t dropped_after = 0;
  };

  void Loop();
  // False: it is time to end.
  bool Take(Batch& batch);
  // How many bytes were written; less than all: the file cannot be written, or
  // it is time to end.
  size_t WriteAll(absl::string_view text);
  bool WaitWritable();

  const UniqueFd file_;
  const bool is_socket_;
  const UniqueFd wake_;  // readable: do not wait for the reader any longer
  const LogWriterOptions options_;
  std::atomic<uint64_t> dropped_{0};
  std::atomic<bool> idle_{true};
  Mutex mutex_;
  CondVar changed_;
  Batch queue_ ABSL_GUARDED_BY(mutex_);
  uint64_t lines_taken_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t lines_done_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace addons

#endif  // ADDONS_BASE_LOG_WRITER_H_
