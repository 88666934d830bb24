#ifndef ADDONS_TESTS_FAKES_LOCKS_H_
#define ADDONS_TESTS_FAKES_LOCKS_H_

#include <chrono>
#include <optional>
#include <vector>

#include "tests/fakes/model.h"

namespace addons::model {

// Exclusive locks with an end, as Ceph's class "lock" keeps them. Results are
// those of the C API, or of the OSD.

/// EDQUOT: the pool is full, and the object is a new one.
int TakeLock(Namespace& where, const ObjectLock& lock, const Client& client,
             SteadyTime now, std::chrono::seconds duration);
int RenewLock(Namespace& where, const ObjectLock& lock, const Client& client,
              SteadyTime now, std::chrono::seconds duration);
/// nullopt: nobody has it.
std::optional<Locker> LockerOf(const Namespace& where, const ObjectLock& lock,
                               SteadyTime now);
int BreakLock(Namespace& where, const ObjectLock& lock, const Locker& locker,
              SteadyTime now);
int RemoveLocked(Namespace& where, const ObjectLock& lock, const Client& client,
                 SteadyTime now);

}  // namespace addons::model

#endif  // ADDONS_TESTS_FAKES_LOCKS_H_
