#ifndef ADDONS_CEPH_LIBRADOS_LOCK_ENCODING_H_
#define ADDONS_CEPH_LIBRADOS_LOCK_ENCODING_H_

#include <chrono>
#include <string>

#include "ceph/pool.h"

namespace addons {

/// What the method assert_locked of the class "lock" takes: version 1 of
/// Ceph's cls_lock_assert_op, for an exclusive lock without a tag. The C
/// interface of librados has no call for it.
std::string EncodeAssertLocked(const ObjectLock& lock);

/// What the method lock of the class "lock" takes: version 1 of Ceph's
/// cls_lock_lock_op, for an exclusive lock without a tag, a description or
/// flags. The call of the C interface takes no flags of the operation.
std::string EncodeLock(const ObjectLock& lock, std::chrono::seconds duration);

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_LOCK_ENCODING_H_
