#ifndef ADDONS_RPC_VALIDATE_H_
#define ADDONS_RPC_VALIDATE_H_

#include <google/protobuf/message.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace addons {

/// The limits that hold for every request, by the names of its fields: ids and
/// names at most 128 bytes without control characters (also tab and line ends,
/// which CSI allows: they stand in names of objects, logs and commands); paths
/// (and mount flags) at most 4096 bytes without NUL; a map at most 1 MiB, its
/// keys without control characters. Says nothing about missing fields.
/// INVALID_ARGUMENT, naming the field and never showing its value.
absl::Status ValidateRequest(const google::protobuf::Message& request);

/// INVALID_ARGUMENT "<field>: <reason>". `field` as the proto file calls it.
absl::Status InvalidField(absl::string_view field, absl::string_view reason);

/// INVALID_ARGUMENT when `value` is empty.
absl::Status Require(absl::string_view field, absl::string_view value);

/// INVALID_ARGUMENT unless `value` is empty or an absolute path.
absl::Status RequireAbsolute(absl::string_view field, absl::string_view value);

}  // namespace addons

#endif  // ADDONS_RPC_VALIDATE_H_
