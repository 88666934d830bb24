#include "ceph/command_error.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "ceph/errors.h"

namespace addons {

absl::Status CommandError(int result, absl::string_view action,
                          absl::string_view object, absl::string_view more) {
  const absl::Status plain = CephError(result, action, object);
  absl::Status status(
      absl::IsNotFound(plain) ? absl::StatusCode::kUnavailable : plain.code(),
      more.empty() ? std::string(plain.message())
                   : absl::StrCat(plain.message(), more));
  plain.ForEachPayload(
      [&](absl::string_view type_url, const absl::Cord& payload) {
        status.SetPayload(type_url, payload);
      });
  return status;
}

}  // namespace addons
