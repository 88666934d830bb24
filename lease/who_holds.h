#ifndef ADDONS_LEASE_WHO_HOLDS_H_
#define ADDONS_LEASE_WHO_HOLDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "ceph/pool.h"
#include "lease/target.h"

namespace addons {

/// The lock that is the lease on `target`.
ObjectLock LeaseLockOf(const LeaseTarget& target, const std::string& cookie);

/// For messages: the daemon and its verb.
std::string DescribeLeaseLocker(const Locker& locker);

/// Who has the lease on `target` now, this daemon included; empty: nobody.
/// `pool` is a read pool of the target's place. Errors of
/// Pool::ObjectLockers().
absl::StatusOr<std::string> WhoHoldsLease(Pool& pool,
                                          const LeaseTarget& target);

}  // namespace addons

#endif  // ADDONS_LEASE_WHO_HOLDS_H_
