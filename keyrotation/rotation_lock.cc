#include "keyrotation/rotation_lock.h"

#include <chrono>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace addons {
namespace {

constexpr std::chrono::seconds kDuration{60};

}  // namespace

ObjectLock RotationLockOf(const VolumeHandle& volume_id) {
  ObjectLock lock;
  lock.object = volume_id.text();
  lock.name = absl::StrCat(volume_id.text(), "-mutexlock");
  lock.cookie = absl::StrCat(volume_id.text(), "-enc-key-rotate");
  return lock;
}

RotationLock::RotationLock(Pool& reads, Pool& changes,
                           const VolumeHandle& volume_id)
    : reads_(reads), changes_(changes), lock_(RotationLockOf(volume_id)) {}

absl::StatusOr<std::string> RotationLock::Holder() {
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Locker> lockers,
                          reads_.ObjectLockers(lock_));
  if (lockers.empty()) return std::string();
  return absl::StrCat(lockers.front().client, " at ", lockers.front().address);
}

absl::StatusOr<bool> RotationLock::Take() {
  auto taken = changes_.TakeObjectLock(lock_, kDuration);
  // One operation of this daemon at a time works on a volume, so it is what an
  // earlier one could not give back.
  if (absl::IsAlreadyExists(taken.status())) {
    return changes_.RenewObjectLock(lock_, kDuration);
  }
  return taken;
}

absl::Status RotationLock::Renew() {
  ADDONS_ASSIGN_OR_RETURN(const bool renewed,
                          changes_.RenewObjectLock(lock_, kDuration));
  if (renewed) return absl::OkStatus();
  return absl::UnavailableError(
      "the lock on the rotation was lost, because this daemon stood still for "
      "a minute; the next call goes on");
}

void RotationLock::GiveBack() {
  const auto removed = changes_.RemoveLockedObject(lock_);
  if (removed.ok()) return;
  Log().info("the lock {} stays for up to a minute: {}", lock_.name,
             std::string(removed.status().message()));
}

}  // namespace addons
