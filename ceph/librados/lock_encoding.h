#ifndef ADDONS_CEPH_LIBRADOS_LOCK_ENCODING_H_
#define ADDONS_CEPH_LIBRADOS_LOCK_ENCODING_H_

#include <string>

#include "ceph/pool.h"

namespace addons {

/// What the method assert_locked of the class "lock" takes: version 1 of
/// Ceph's cls_lock_assert_op, for an exclusive lock without a tag. The C
/// interface of librados has no call for it.
std::string EncodeAssertLocked(const ObjectLock& lock);

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_LOCK_ENCODING_H_
