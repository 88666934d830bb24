#ifndef ADDONS_BASE_LAST_LINES_H_
#define ADDONS_BASE_LAST_LINES_H_

#include <cstddef>
#include <deque>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"

namespace addons {

/// How much of a log is kept.
struct LastLinesBounds {
  size_t lines = 1000;
  size_t bytes = size_t{256} << 10;  // of all
  size_t line_bytes = 4096;          // of one
};

/// Keeps the last lines of a log in memory, within bounds. spdlog's ring
/// bounds lines only, and takes the memory for all of them at once.
/// Thread-safe; waits for nothing but a mutex that is held for a copy.
class LastLines {
 public:
  explicit LastLines(LastLinesBounds bounds = {}) : bounds_(bounds) {}

  /// Keeps `line`, which ends with a line feed. One that is too long loses its
  /// end. Does not throw: a line for which there is no memory is not kept.
  void Keep(absl::string_view line) noexcept;
  void Clear();
  /// All that is kept, the oldest line first; empty: none.
  std::string Text() const;

 private:
  const LastLinesBounds bounds_;
  mutable Mutex mutex_;
  std::deque<std::string> lines_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace addons

#endif  // ADDONS_BASE_LAST_LINES_H_
