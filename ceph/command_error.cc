#include "ceph/command_error.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/errors.h"

namespace addons {

absl::Status CommandError(int result, absl::string_view action,
                          absl::string_view object, absl::string_view more) {
  const absl::Status plain = CephError(result, action, object);
  return Recode(
      plain,
      absl::IsNotFound(plain) ? absl::StatusCode::kUnavailable : plain.code(),
      absl::StrCat(plain.message(), more));
}

}  // namespace addons
