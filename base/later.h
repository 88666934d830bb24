#ifndef ADDONS_BASE_LATER_H_
#define ADDONS_BASE_LATER_H_

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"

namespace addons {

template <typename T>
class Later;

namespace later_internal {

template <typename T>
struct ValueOf {
  using Type = T;
};
template <typename T>
struct ValueOf<Later<T>> {
  using Type = T;
};

}  // namespace later_internal

/// A value that is there already, or work that has not begun and delivers one:
/// what a handler returns that must not block. Whoever is interested begins the
/// work with Start(), or lets it be followed by more with Then(), and waits for
/// nothing.
///
/// The receiver is called once, on whichever thread has the value, also within
/// Start(). When the value is lost, to an exception on its way, the receiver is
/// destroyed uncalled; one that has to answer somebody does it then.
///
/// Each object is used by one thread, and once.
template <typename T>
class [[nodiscard]] Later {
 public:
  using Receiver = std::function<void(T)>;
  using Starter = std::function<void(Receiver)>;

  /// The value itself; so errors can be returned as they are. The order of the
  /// conditions matters: whether a std::any can be made of a Later depends on
  /// whether a Later can be copied, so on this constructor.
  template <typename U>
  requires(!std::same_as<std::remove_cvref_t<U>, Later> &&
           std::convertible_to<U&&, T>)
      // NOLINTNEXTLINE(*-explicit-constructor,*-forwarding-reference-overload)
      Later(U&& value)
      : value_(std::forward<U>(value)) {}

  /// What `start` hands to the receiver that it is given.
  static Later From(Starter start) {
    Later later;
    later.start_ = std::move(start);
    return later;
  }

  /// Begins the work.
  void Start(Receiver receive) && {
    if (value_.has_value()) {
      receive(*std::move(value_));
    } else {
      std::move(start_)(std::move(receive));
    }
  }

  /// What `next` makes of the value: a value again, or a Later.
  template <typename Next>
  auto Then(Next next) && {
    using Made = std::invoke_result_t<Next&, T>;
    using U = typename later_internal::ValueOf<Made>::Type;
    if (value_.has_value()) return Later<U>(next(*std::move(value_)));
    return Later<U>::From([start = std::move(start_), next = std::move(next)](
                              typename Later<U>::Receiver receive) mutable {
      std::move(start)([next = std::move(next),
                        receive = std::move(receive)](T value) mutable {
        Later<U>(next(std::move(value))).Start(std::move(receive));
      });
    });
  }

 private:
  Later() = default;

  std::optional<T> value_;
  Starter start_;
};

namespace later_internal {

/// Where Await() waits. std::promise asks for memory when it dies without a
/// value.
template <typename T>
class Slot {
 public:
  void Set(T value) {
    const MutexLock lock(mutex_);
    value_ = std::move(value);
    ended_ = true;
    changed_.NotifyAll();
  }
  void Lose() {
    const MutexLock lock(mutex_);
    ended_ = true;
    changed_.NotifyAll();
  }
  /// nullopt: it was lost.
  std::optional<T> Take() {
    const MutexLock lock(mutex_);
    while (!ended_) changed_.Wait(mutex_);
    return std::move(value_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<T> value_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace later_internal

/// Waits for the value; for threads that may block. INTERNAL: it was lost.
template <typename T>
requires(std::convertible_to<absl::Status, T>) T Await(Later<T> later) {
  const auto slot = std::make_shared<later_internal::Slot<T>>();
  // The receiver alone holds this, so that a lost value ends the wait.
  std::shared_ptr<void> receiver(nullptr, [slot](void*) { slot->Lose(); });
  std::move(later).Start([slot, receiver = std::move(receiver)](T value) {
    slot->Set(std::move(value));
  });
  std::optional<T> value = slot->Take();
  if (value.has_value()) return *std::move(value);
  return absl::InternalError("the result was lost");
}

}  // namespace addons

#endif  // ADDONS_BASE_LATER_H_
