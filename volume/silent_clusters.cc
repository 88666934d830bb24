#include "volume/silent_clusters.h"

#include <iterator>

namespace addons {

SilentClusters::Contact SilentClusters::Look(const Key& key, SteadyTime now) {
  const MutexLock lock(mutex_);
  const auto found = states_.find(key);
  if (found == states_.end()) return Contact::kAnswers;
  State& state = found->second;
  if (state.failed) {
    if (!state.running.empty() || now - *state.failed < memory_) {
      return Contact::kSilent;
    }
    state.failed = now;
    return Contact::kSilentProbeDue;
  }
  const auto oldest = state.running.upper_bound(state.last_answer);
  const bool silent = oldest != state.running.end() && now - *oldest >= grace_;
  return silent ? Contact::kSilent : Contact::kAnswers;
}

std::optional<SteadyTime> SilentClusters::SilentSince(const Key& key) {
  const MutexLock lock(mutex_);
  const auto found = states_.find(key);
  if (found == states_.end()) return std::nullopt;
  const State& state = found->second;
  std::optional<SteadyTime> since;
  const auto oldest = state.running.upper_bound(state.last_answer);
  if (oldest != state.running.end()) since = *oldest;
  if (state.failed.has_value() &&
      (!since.has_value() || *since - *state.failed <= kSilenceGap)) {
    since = state.silent_since;
  }
  return since;
}

void SilentClusters::Begin(const Key& key, SteadyTime now) {
  const MutexLock lock(mutex_);
  if (states_.size() >= kMaxRemembered && states_.count(key) == 0) DropIdle();
  states_[key].running.insert(now);
}

void SilentClusters::End(const Key& key, SteadyTime begun, SteadyTime now,
                         Result result) {
  const MutexLock lock(mutex_);
  State& state = states_[key];
  const auto own = state.running.find(begun);
  if (own != state.running.end()) state.running.erase(own);
  if (result == Result::kAnswered) {
    state.failed.reset();
    state.last_answer = now;
  } else if (result == Result::kNoAnswer && begun >= state.last_answer) {
    // An older lookup says less than a newer answer.
    if (!state.failed || begun - *state.failed > kSilenceGap) {
      state.silent_since = begun;
    }
    state.failed = now;
  }
  if (state.running.empty() && !state.failed) states_.erase(key);
}

void SilentClusters::DropIdle() {
  for (auto it = states_.begin(); it != states_.end();) {
    it = it->second.running.empty() ? states_.erase(it) : std::next(it);
  }
}

}  // namespace addons
