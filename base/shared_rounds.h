#ifndef ADDONS_BASE_SHARED_ROUNDS_H_
#define ADDONS_BASE_SHARED_ROUNDS_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "base/mutex.h"

namespace addons {

/// Asks once for all who want to know the same at about the same time. What
/// Get() returns was asked for after Get() was called: who comes while a round
/// runs waits for the next one, which one of those who wait for it runs. So
/// nobody reads what was true before his own change. Thread-safe.
template <typename T>
class SharedRounds {
 public:
  /// Blocks for two runs at most. `make` is run by one caller of a round, on
  /// its own thread: those of all callers ask for the same. An exception goes
  /// on in the caller whose `make` threw it; another one runs its own then.
  T Get(absl::FunctionRef<T()> make) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<Round> round;
    {
      MutexLock lock(mutex_);
      if (gathering_ == nullptr) gathering_ = std::make_shared<Round>();
      round = gathering_;
      while (running_ && !round->value) changed_.Wait(mutex_);
      if (round->value) return *round->value;
      running_ = true;
      if (gathering_ == round) gathering_ = nullptr;
    }
    const Landing landing(*this);
    T value = make();
    MutexLock lock(mutex_);
    round->value = value;
    return value;
  }

 private:
  struct Round {
    std::optional<T> value;
  };

  /// Lets the others go on, however the run ended.
  class Landing {
   public:
    explicit Landing(SharedRounds& rounds) : rounds_(rounds) {}
    ~Landing() {
      MutexLock lock(rounds_.mutex_);
      rounds_.running_ = false;
      rounds_.changed_.NotifyAll();
    }
    Landing(const Landing&) = delete;
    Landing& operator=(const Landing&) = delete;

   private:
    SharedRounds& rounds_;
  };

  Mutex mutex_;
  CondVar changed_;
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  /// The round that has not begun; null: nobody waits for one.
  std::shared_ptr<Round> gathering_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_BASE_SHARED_ROUNDS_H_
