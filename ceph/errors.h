#ifndef ADDONS_CEPH_ERRORS_H_
#define ADDONS_CEPH_ERRORS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace addons {

/// Turns a negative result of librados or librbd into a Status. The text is
/// "Failed to <action> <object>: (16) Device or resource busy"; the errno rides
/// along as a payload.
///
/// The code is dull: ENOENT NOT_FOUND, EEXIST ALREADY_EXISTS, ETIMEDOUT
/// DEADLINE_EXCEEDED, EACCES/EPERM PERMISSION_DENIED, ENOSPC/EDQUOT
/// RESOURCE_EXHAUSTED, EBUSY/EAGAIN/ENOTCONN/ESHUTDOWN/EROFS/EOPNOTSUPP/ENOSYS
/// UNAVAILABLE, all others INTERNAL (docs/error-codes.md). Operations decide
/// from state that they read. Never a code by which others act: OK,
/// FAILED_PRECONDITION (forces a promotion), UNIMPLEMENTED (counts as done).
absl::Status CephError(int result, absl::string_view action,
                       absl::string_view object);

/// The positive errno that CephError() stored in `status`, 0 if none.
int CephErrno(const absl::Status& status);

/// The user is not let in, or may not do this: told apart from a cluster that
/// does not answer, and no sign of what is there.
bool RefusesUser(const absl::Status& status);

/// This client was put on the blocklist: its connection is useless.
inline constexpr int kBlocklistedErrno = 108;  // ESHUTDOWN

}  // namespace addons

#endif  // ADDONS_CEPH_ERRORS_H_
