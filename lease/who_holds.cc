#include "lease/who_holds.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "lease/holder.h"

namespace addons {
namespace {

constexpr char kLockName[] = "rbd-addons.lease";

}  // namespace

ObjectLock LeaseLockOf(const LeaseTarget& target, const std::string& cookie) {
  return {target.object, kLockName, cookie, target.although_full};
}

std::string DescribeLeaseLocker(const Locker& locker) {
  const auto holder = ParseLeaseHolder(locker.cookie);
  return holder.has_value()
             ? DescribeLeaseHolder(*holder)
             : absl::StrCat(locker.client, " at ", locker.address);
}

absl::StatusOr<std::string> WhoHoldsLease(Pool& pool,
                                          const LeaseTarget& target) {
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Locker> lockers,
                          pool.ObjectLockers(LeaseLockOf(target, "")));
  return lockers.empty() ? "" : DescribeLeaseLocker(lockers.front());
}

}  // namespace addons
