#ifndef ADDONS_IDENTITY_READINESS_H_
#define ADDONS_IDENTITY_READINESS_H_

#include <functional>

#include "absl/status/statusor.h"

namespace addons {

/// Whether the daemon can serve: true when it can, false while it is starting,
/// an error that says what is missing when it cannot. Cheap and never blocks:
/// the sidecar asks once a second. Thread-safe.
using Readiness = std::function<absl::StatusOr<bool>()>;

}  // namespace addons

#endif  // ADDONS_IDENTITY_READINESS_H_
