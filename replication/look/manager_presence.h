#ifndef ADDONS_REPLICATION_LOOK_MANAGER_PRESENCE_H_
#define ADDONS_REPLICATION_LOOK_MANAGER_PRESENCE_H_

#include <chrono>
#include <compare>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace addons {

/// Whether the managers of clusters answer, asked once for all calls that want
/// to know it within a few seconds. Kept in memory; a restart only asks again.
/// Thread-safe; no lock is held while a manager is asked.
class ManagerPresence {
 public:
  /// For how long an answer counts, from when it was asked for. The monitors
  /// take a manager for gone after 30 s without its beacon, and a schedule is
  /// due once a minute at most: one that went so short a time ago has missed
  /// nothing that two intervals, which HEALTHY allows a copy, do not cover.
  static constexpr std::chrono::seconds kCounts{5};
  /// Of how many clusters and users answers are kept.
  static constexpr size_t kMostKept = 64;

  /// Who asks: the same manager may answer one user and refuse another.
  struct Asker {
    std::string fsid;  // of the cluster
    std::string user;  // without "client."
    auto operator<=>(const Asker&) const = default;
  };

  /// `clock` is not owned.
  explicit ManagerPresence(Clock& clock) : clock_(clock) {}

  /// OK: the manager has answered a question that was put less than kCounts
  /// before this call, or since. Where none has, and none is on its way, `ask`
  /// puts one, on this thread; what it returns goes to all who have come
  /// meanwhile. An error goes to them alone: who comes next asks again. Blocks
  /// for `ask`, or for that of another caller, until `deadline` of the real
  /// clock; then UNAVAILABLE. An exception goes on in the caller whose `ask`
  /// threw it; another one asks itself then.
  absl::Status Ask(const Asker& asker, SteadyTime deadline,
                   absl::FunctionRef<absl::Status()> ask)
      ABSL_LOCKS_EXCLUDED(mutex_);

  /// The manager has answered what somebody else has asked it at `asked_at`.
  /// Does not block; may be repeated, also with an older one.
  void NoteAnswer(const Asker& asker, SteadyTime asked_at)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Question {
    bool ended = false;
    absl::Status error;  // OK: it was answered, or was never put
  };
  struct Known {
    std::optional<SteadyTime> answered;  // what was asked then
    std::shared_ptr<Question> running;   // null: nobody asks

    bool CountsAt(SteadyTime time) const {
      return answered.has_value() && time - *answered < kCounts;
    }
  };
  class Landing;

  /// Null: there is no room for another one.
  Known* Find(const Asker& asker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Makes `*question` the one that is running, which the caller is to put. Not
  /// set: it is answered, by what this returns, or there is no room to share.
  absl::Status Join(const Asker& asker, SteadyTime deadline,
                    std::shared_ptr<Question>* question)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  Mutex mutex_;
  CondVar changed_;
  std::map<Asker, Known> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_MANAGER_PRESENCE_H_
