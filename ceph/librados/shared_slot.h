#ifndef ADDONS_CEPH_LIBRADOS_SHARED_SLOT_H_
#define ADDONS_CEPH_LIBRADOS_SHARED_SLOT_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace addons {

/// Holds one shared object that is made when it is first needed and made anew
/// when it is no longer usable, once for all callers that ask meanwhile. Making
/// it may block: no lock is held then. Thread-safe.
template <typename T>
class SharedSlot {
 public:
  using Result = absl::StatusOr<std::shared_ptr<T>>;

  SharedSlot() = default;
  SharedSlot(const SharedSlot&) = delete;
  SharedSlot& operator=(const SharedSlot&) = delete;

  /// Returns the object if there is one and `usable` says so; else makes one
  /// with `make`, or waits until `until` for another caller that does. A
  /// failure goes to all who waited and is not kept; so does an exception,
  /// which goes on in the caller whose `make` threw it and is UNAVAILABLE for
  /// the others. UNAVAILABLE when `until` passes. `usable` is called under the
  /// lock and must not block.
  Result Get(absl::FunctionRef<bool(const T&)> usable,
             absl::FunctionRef<Result()> make, SteadyTime until) {
    std::shared_ptr<T> old;  // its end may block: after the lock
    std::shared_ptr<Flight> flight;
    {
      MutexLock lock(mutex_);
      if (value_ != nullptr && usable(*value_)) return value_;
      if (flight_ != nullptr) return Join(flight_, until);
      old = std::exchange(value_, nullptr);
      flight = std::make_shared<Flight>();
      flight_ = flight;
    }
    std::optional<Result> result;
    const Landing landing(*this, *flight, result);
    old.reset();
    result = make();
    return *result;
  }

  /// What is there now, usable or not; may be null.
  std::shared_ptr<T> Peek() const {
    MutexLock lock(mutex_);
    return value_;
  }

  /// True while nobody makes an object and nobody but the slot holds it.
  bool Idle() const {
    MutexLock lock(mutex_);
    return flight_ == nullptr && value_.use_count() <= 1;
  }

 private:
  struct Flight {
    bool landed = false;
    std::optional<Result> result;  // nullopt: `make` threw
  };

  /// Ends a flight, however it ends: who waits for it must not do so for ever.
  class Landing {
   public:
    Landing(SharedSlot& slot, Flight& flight,
            const std::optional<Result>& result)
        : slot_(slot), flight_(flight), result_(result) {}
    ~Landing() { slot_.Land(flight_, result_); }
    Landing(const Landing&) = delete;
    Landing& operator=(const Landing&) = delete;

   private:
    SharedSlot& slot_;
    Flight& flight_;
    const std::optional<Result>& result_;
  };

  // Allocates nothing.
  void Land(Flight& flight, const std::optional<Result>& result) {
    MutexLock lock(mutex_);
    if (result && result->ok()) value_ = **result;
    flight.result = result;
    flight.landed = true;
    flight_ = nullptr;
    landed_.NotifyAll();
  }

  // A copy of the pointer: the flight may be over, and another one begun,
  // before this thread runs again.
  Result Join(std::shared_ptr<Flight> flight, SteadyTime until)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (!flight->landed) {
      if (!landed_.WaitUntil(mutex_, until) && !flight->landed) {
        return absl::UnavailableError(
            "another request is still connecting to the cluster");
      }
    }
    if (flight->result) return *flight->result;
    return absl::UnavailableError(
        "another request failed to connect to the cluster; repeat the call");
  }

  mutable Mutex mutex_;
  CondVar landed_;
  std::shared_ptr<T> value_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Flight> flight_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_SHARED_SLOT_H_
