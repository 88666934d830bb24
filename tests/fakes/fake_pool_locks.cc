// Locks with an end on objects of our own.

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ceph/image_objects.h"
#include "tests/fakes/fake_pool.h"
#include "tests/fakes/locks.h"

namespace addons {

using model::Model;
using model::Site;

namespace {

/// librbd's own lock of an image; none where there is no such header.
std::vector<Locker> LockersOfImage(const Model& model, const Site& site,
                                   const model::Namespace& space,
                                   const ObjectLock& lock) {
  for (const auto& [name, image] : space.images) {
    if (lock.object == HeaderObject(image->id)) {
      return model.Lockers(site, *image);
    }
  }
  return {};
}

}  // namespace

int FakePool::ChangeLock(
    const char* call, const ObjectLock& lock,
    const std::function<int(model::Namespace&, SteadyTime)>& change) {
  if (!MayChange(connection_->access)) {
    world_.AddViolation(
        absl::StrCat("lock of ", lock.object, " through a read connection"));
    return -EROFS;
  }
  return Run(call, lock.object, Needs::kOsd, false,
             [&](Model& model, Site& site, SteadyDuration*) {
               return change(Space(site), model.now());
             });
}

absl::StatusOr<bool> FakePool::TakeObjectLock(const ObjectLock& lock,
                                              std::chrono::seconds duration) {
  const auto take = [&](model::Namespace& space, SteadyTime now) {
    return model::TakeLock(space, lock, connection_->client, now, duration);
  };
  int r = ChangeLock("rados_lock_exclusive", lock, take);
  if (lock.although_full && (r == -EDQUOT || r == -ENOSPC)) {
    r = ChangeLock("lock.lock", lock,
                   [&](model::Namespace& space, SteadyTime now) {
                     space.omap.try_emplace(lock.object);
                     return take(space, now);
                   });
  }
  if (r == -EBUSY) return false;
  if (r < 0) return Error(r, "lock", lock.object);
  return true;
}

absl::StatusOr<bool> FakePool::RenewObjectLock(const ObjectLock& lock,
                                               std::chrono::seconds duration) {
  const int r =
      ChangeLock("rados_lock_exclusive", lock,
                 [&](model::Namespace& space, SteadyTime now) {
                   return model::RenewLock(space, lock, connection_->client,
                                           now, duration);
                 });
  if (r == -EBUSY || r == -ENOENT) return false;
  if (r < 0) return Error(r, "renew the lock of", lock.object);
  return true;
}

absl::StatusOr<std::vector<Locker>> FakePool::ObjectLockers(
    const ObjectLock& lock) {
  std::vector<Locker> lockers;
  const int r =
      Run("rados_list_lockers", lock.object, Needs::kOsd, false,
          [&](Model& model, Site& site, SteadyDuration*) {
            if (lock.name == kImageLockName) {
              lockers = LockersOfImage(model, site, Space(site), lock);
              return 0;
            }
            const auto locker = model::LockerOf(Space(site), lock, model.now());
            if (locker) lockers.push_back(*locker);
            return 0;
          });
  if (r == -ENOENT) return lockers;
  if (r < 0) return Error(r, "list the lockers of", lock.object);
  return lockers;
}

absl::Status FakePool::BreakObjectLock(const ObjectLock& lock,
                                       const Locker& locker) {
  const int r = ChangeLock("rados_break_lock", lock,
                           [&](model::Namespace& space, SteadyTime now) {
                             return model::BreakLock(space, lock, locker, now);
                           });
  return r < 0 && r != -ENOENT ? Error(r, "break the lock of", lock.object)
                               : absl::OkStatus();
}

absl::StatusOr<bool> FakePool::RemoveLockedObject(const ObjectLock& lock) {
  const int r = ChangeLock(
      "lock.assert_locked", lock, [&](model::Namespace& space, SteadyTime now) {
        return model::RemoveLocked(space, lock, connection_->client, now);
      });
  if (r == -EBUSY || r == -ENOENT) return false;
  if (r < 0) return Error(r, "remove", lock.object);
  return true;
}

}  // namespace addons
