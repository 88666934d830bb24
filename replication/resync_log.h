#ifndef ADDONS_REPLICATION_RESYNC_LOG_H_
#define ADDONS_REPLICATION_RESYNC_LOG_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace addons {

/// The operator asks ResyncVolume again and again for as long as a copy takes.
/// Of its answers those are logged that are new: other than the one before
/// (numbers do not count), or ten minutes after it. That a resync begins and
/// ends are role changes. Thread-safe.
class ResyncLog {
 public:
  /// Writes a line, or not. `object` is as in messages: "volume '0001-...'".
  void Answered(const std::string& object, bool ready,
                absl::string_view message, SteadyTime now);

 private:
  static constexpr size_t kMostObjects = 10000;
  struct Answer {
    bool ready = false;
    std::string text;  // without numbers
    SteadyTime logged;
  };

  Mutex mutex_;
  std::map<std::string, Answer> last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_RESYNC_LOG_H_
