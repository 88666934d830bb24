#ifndef ADDONS_VOLUME_SILENT_CLUSTERS_H_
#define ADDONS_VOLUME_SILENT_CLUSTERS_H_

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/cluster_id.h"
#include "base/mutex.h"

namespace addons {

/// Remembers which (cluster, user) did not answer: the resolver's negative
/// cache. Thread-safe.
class SilentClusters {
 public:
  using Key = std::pair<ClusterId, std::string>;  // with the user id

  /// Silent: a lookup has been without an answer for `grace`, and no later one
  /// got one. It is asked again in the background after `memory`.
  SilentClusters(SteadyDuration grace, SteadyDuration memory)
      : grace_(grace), memory_(memory) {}

  enum class Contact { kAnswers, kSilent, kSilentProbeDue };
  /// kSilentProbeDue is given to one caller per `memory`: that one asks again.
  Contact Look(const Key& key, SteadyTime now);

  /// Since when it has not answered anybody; nullopt: it answers, or was not
  /// asked. Silence begins anew when it was not asked for five minutes.
  std::optional<SteadyTime> SilentSince(const Key& key);

  enum class Result { kAnswered, kNoAnswer, kNotAsked };
  /// Around each lookup, from the moment when it is wanted: time in a queue
  /// counts.
  void Begin(const Key& key, SteadyTime now);
  void End(const Key& key, SteadyTime begun, SteadyTime now, Result result);

 private:
  struct State {
    std::multiset<SteadyTime> running;  // when they began
    SteadyTime last_answer = SteadyTime::min();
    std::optional<SteadyTime>
        failed;               // no answer since; time of the last failure
    SteadyTime silent_since;  // with `failed`: begin of the first of them
  };
  static constexpr size_t kMaxRemembered = 1024;
  static constexpr std::chrono::minutes kSilenceGap{5};

  void DropIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SteadyDuration grace_;
  const SteadyDuration memory_;
  Mutex mutex_;
  std::map<Key, State> states_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_VOLUME_SILENT_CLUSTERS_H_
