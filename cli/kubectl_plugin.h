#ifndef ADDONS_CLI_KUBECTL_PLUGIN_H_
#define ADDONS_CLI_KUBECTL_PLUGIN_H_

#include "absl/strings/string_view.h"

namespace addons {

/// The script kubectl-rbd_addons, byte for byte as deploy/kubectl has it.
absl::string_view KubectlPlugin();

}  // namespace addons

#endif  // ADDONS_CLI_KUBECTL_PLUGIN_H_
