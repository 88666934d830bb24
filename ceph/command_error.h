#ifndef ADDONS_CEPH_COMMAND_ERROR_H_
#define ADDONS_CEPH_COMMAND_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace addons {

/// CephError() of what is about no object: a command to the monitors or the
/// manager, a map. Its ENOENT must not be taken for an answer that there is no
/// such volume, group or fence, and is UNAVAILABLE; CephErrno() still tells it.
/// `more`, where there is some, follows the text.
absl::Status CommandError(int result, absl::string_view action,
                          absl::string_view object,
                          absl::string_view more = "");

}  // namespace addons

#endif  // ADDONS_CEPH_COMMAND_ERROR_H_
