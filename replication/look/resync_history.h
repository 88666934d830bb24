#ifndef ADDONS_REPLICATION_LOOK_RESYNC_HISTORY_H_
#define ADDONS_REPLICATION_LOOK_RESYNC_HISTORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"

namespace addons {

/// What this process remembers between the resync calls of a volume: when it
/// last saw a living primary to copy from, and how long rbd-mirror has been
/// reporting an error. Losing it (restart) makes answers more careful, nothing
/// else. Thread-safe; what nobody asked for in half an hour is dropped.
class ResyncHistory {
 public:
  /// `clock` is not owned.
  explicit ResyncHistory(Clock& clock) : clock_(clock) {}

  /// A look has just shown a peer that is alive and primary.
  void SawPrimary(const std::string& key);
  /// How long ago that was; nullopt: never, as far as is remembered.
  std::optional<SteadyDuration> SincePrimary(const std::string& key);

  /// The local rbd-mirror reports an error, in an entry stamped `last_update`.
  /// Any error counts: its words change while its cause stays.
  struct Standing {
    SteadyDuration stands_for{0};
    int rewrites = 0;  // how often the report was written anew meanwhile
  };
  Standing SawError(const std::string& key, int64_t last_update);
  void SawNoError(const std::string& key);

  /// Makes `copy`, which is new, remember all that this one does: for those who
  /// only want to know what a resync would answer.
  void CopyTo(ResyncHistory& copy) const;

 private:
  struct Error {
    SteadyTime since;
    int64_t last_update = 0;
    int rewrites = 0;
  };
  struct Volume {
    SteadyTime used_at;
    std::optional<SteadyTime> primary_at;
    std::optional<Error> error;
  };

  Volume& Touch(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  mutable Mutex mutex_;
  std::map<std::string, Volume> volumes_ ABSL_GUARDED_BY(mutex_);
  SteadyTime swept_at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_RESYNC_HISTORY_H_
