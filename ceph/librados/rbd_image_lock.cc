// RbdImage: the exclusive lock, and how it changes hands.

#include <algorithm>
#include <bit>
#include <cerrno>
#include <future>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/start_thread.h"
#include "base/status_macros.h"
#include "ceph/librados/rbd_image.h"

namespace addons {
namespace {

/// RBD_LOCK_MODE_EXCLUSIVE_TRANSIENT, which the headers of older ones lack.
const auto kTransientLock =
    std::bit_cast<rbd_lock_mode_t>(std::underlying_type_t<rbd_lock_mode_t>{2});

/// Between two questions to a client that keeps the lock.
constexpr std::chrono::milliseconds kLongestPause{2000};

}  // namespace

absl::StatusOr<bool> RbdImage::HasLockFeature() {
  ADDONS_ASSIGN_OR_RETURN(const uint64_t features, FeatureBits());
  return (features & RBD_FEATURE_EXCLUSIVE_LOCK) != 0;
}

absl::StatusOr<bool> RbdImage::HoldsLock() {
  int owner = 0;
  const int result = connection_->Call("rbd_is_exclusive_lock_owner", [&] {
    return rbd_is_exclusive_lock_owner(image_.get(), &owner);
  });
  if (result < 0) return Error(result, "read the lock of");
  return owner != 0;
}

absl::Status RbdImage::AcquireLock(LockMode mode) {
  ADDONS_ASSIGN_OR_RETURN(const bool lockable, HasLockFeature());
  if (!lockable) return absl::OkStatus();
  return Mutate("rbd_lock_acquire", "lock", [&] {
    return rbd_lock_acquire(image_.get(), mode == LockMode::kTransient
                                              ? kTransientLock
                                              : RBD_LOCK_MODE_EXCLUSIVE);
  });
}

absl::Status RbdImage::ReleaseLock() {
  ADDONS_ASSIGN_OR_RETURN(const bool holds, HoldsLock());
  if (!holds) return absl::OkStatus();
  return Mutate("rbd_lock_release", "give back the lock of",
                [&] { return rbd_lock_release(image_.get()); });
}

absl::StatusOr<bool> RbdImage::HasTransientLock() {
  if (mode_ == Mode::kWritable) {
    return absl::InternalError(
        absl::StrCat("Failed to ask for the locks of ", text_,
                     ": it is open for writing, and would be locked"));
  }
  const int result = connection_->Call("rbd_lock_acquire", [&] {
    return rbd_lock_acquire(image_.get(), kTransientLock);
  });
  return result != -EOPNOTSUPP;
}

absl::Status RbdImage::Flush() {
  return Mutate("rbd_flush", "flush", [&] { return rbd_flush(image_.get()); });
}

// When another client asks for the lock in the middle of such a call, librbd
// gives it away and begins again. It may then leave the work to that client, or
// wait for as long as that one has the lock (measured on 16.2.15: in 3 and 6 of
// 60 tries with rbd_metadata_set and _remove). A flush asks for the lock as a
// write would, and the call goes on here; the client notices no more than a
// slow write.
absl::Status RbdImage::MutateWithLock(absl::string_view function,
                                      absl::string_view action,
                                      std::chrono::milliseconds patience,
                                      absl::FunctionRef<int()> call,
                                      absl::FunctionRef<void()> on_lost) {
  ADDONS_ASSIGN_OR_RETURN(const bool lockable, HasLockFeature());
  if (!lockable) return Mutate(function, action, call);
  std::packaged_task<absl::Status()> task(
      [&] { return Mutate(function, action, call); });
  std::future<absl::Status> result = task.get_future();
  // Joined before `task` and what it refers to are gone.
  const auto thread = StartThread("image-change", [&task] { task(); });
  if (!thread) {
    return absl::UnavailableError(
        absl::StrCat("Failed to ", action, " ", text_,
                     ": the system has no thread left for it"));
  }
  std::chrono::milliseconds pause = patience;
  bool told = false;
  while (result.wait_for(pause) != std::future_status::ready) {
    if (HoldsLock().value_or(true)) continue;
    on_lost();
    const absl::Status asked = Flush();
    if (!asked.ok()) pause = std::min(pause * 2, kLongestPause);
    if (std::exchange(told, true)) continue;
    Log().info("{} of {} asked for the lock: {}", std::string(function), text_,
               Quoted(asked.ToString()));
  }
  return result.get();
}

}  // namespace addons
