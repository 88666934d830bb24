#include "tests/fakes/locks.h"

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace addons::model {
namespace {

std::string NameOf(const Client& client) {
  return absl::StrCat("client.", client.id);
}

bool Holds(const std::optional<Locker>& locker, const ObjectLock& lock,
           const Client& client) {
  return locker && locker->client == NameOf(client) &&
         locker->cookie == lock.cookie;
}

}  // namespace

int TakeLock(Namespace& where, const ObjectLock& lock, const Client& client,
             SteadyTime now, std::chrono::seconds duration) {
  const auto locker = LockerOf(where, lock, now);
  if (locker) return Holds(locker, lock, client) ? -EEXIST : -EBUSY;
  if (where.full && !where.omap.contains(lock.object)) return -EDQUOT;
  where.omap.try_emplace(lock.object);
  where.locks[{lock.object, lock.name}] = {
      {NameOf(client), lock.cookie, absl::StrCat("v1:", client.address)},
      now + duration};
  return 0;
}

int RenewLock(Namespace& where, const ObjectLock& lock, const Client& client,
              SteadyTime now, std::chrono::seconds duration) {
  const auto locker = LockerOf(where, lock, now);
  if (!locker) return -ENOENT;
  if (!Holds(locker, lock, client)) return -EBUSY;
  where.locks[{lock.object, lock.name}].until = now + duration;
  return 0;
}

std::optional<Locker> LockerOf(const Namespace& where, const ObjectLock& lock,
                               SteadyTime now) {
  const auto found = where.locks.find({lock.object, lock.name});
  if (found == where.locks.end() || now >= found->second.until) {
    return std::nullopt;
  }
  return found->second.locker;
}

int BreakLock(Namespace& where, const ObjectLock& lock, const Locker& locker,
              SteadyTime now) {
  const auto present = LockerOf(where, lock, now);
  if (!present || present->client != locker.client ||
      present->cookie != locker.cookie) {
    return -ENOENT;
  }
  where.locks.erase({lock.object, lock.name});
  return 0;
}

int RemoveLocked(Namespace& where, const ObjectLock& lock, const Client& client,
                 SteadyTime now) {
  if (!Holds(LockerOf(where, lock, now), lock, client)) return -EBUSY;
  where.omap.erase(lock.object);
  where.locks.erase({lock.object, lock.name});
  return 0;
}

}  // namespace addons::model
