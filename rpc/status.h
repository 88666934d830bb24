#ifndef ADDONS_RPC_STATUS_H_
#define ADDONS_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace addons {

/// The one place where a Status becomes what a caller gets. The code stays. The
/// message, which ends up in conditions of Kubernetes objects, becomes one line
/// of at most 2 KiB with " (request <id>)" behind it; there are never details.
grpc::Status ToGrpc(const absl::Status& status, absl::string_view request_id);

}  // namespace addons

#endif  // ADDONS_RPC_STATUS_H_
