#include "ceph/errors.h"

#include <cerrno>
#include <system_error>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace addons {
namespace {

constexpr char kErrnoPayload[] = "rbd-addons/errno";

absl::StatusCode CodeFor(int error) {
  switch (error) {
    case ENOENT:
      return absl::StatusCode::kNotFound;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    case EBUSY:
    case EAGAIN:
    case ENOTCONN:
    case ESHUTDOWN:
    case EROFS:
    case EOPNOTSUPP:
    case ENOSYS:
      return absl::StatusCode::kUnavailable;
    case ETIMEDOUT:
      return absl::StatusCode::kDeadlineExceeded;
    case EACCES:
    case EPERM:
      return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
      return absl::StatusCode::kResourceExhausted;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

static_assert(kBlocklistedErrno == ESHUTDOWN);

absl::Status CephError(int result, absl::string_view action,
                       absl::string_view object) {
  // A hung mgr makes rados_mgr_command answer +110, so the sign is not trusted.
  const int error = result < 0 ? -result : result;
  absl::Status status(
      CodeFor(error),
      absl::StrCat("Failed to ", action, " ", object, ": (", error, ") ",
                   std::generic_category().message(error)));
  status.SetPayload(kErrnoPayload, absl::Cord(absl::StrCat(error)));
  return status;
}

int CephErrno(const absl::Status& status) {
  const auto payload = status.GetPayload(kErrnoPayload);
  int error = 0;
  if (!payload || !absl::SimpleAtoi(std::string(*payload), &error)) return 0;
  return error;
}

bool RefusesUser(const absl::Status& status) {
  return absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status);
}

}  // namespace addons
