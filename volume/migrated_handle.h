#ifndef ADDONS_VOLUME_MIGRATED_HANDLE_H_
#define ADDONS_VOLUME_MIGRATED_HANDLE_H_

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace addons {

/// Whether this is the handle of a volume that was migrated from Kubernetes'
/// in-tree plugin: no journal has it.
inline bool IsMigratedHandle(absl::string_view handle) {
  return absl::StartsWith(handle, "mig_");
}

}  // namespace addons

#endif  // ADDONS_VOLUME_MIGRATED_HANDLE_H_
