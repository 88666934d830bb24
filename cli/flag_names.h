#ifndef ADDONS_CLI_FLAG_NAMES_H_
#define ADDONS_CLI_FLAG_NAMES_H_

#include "absl/status/status.h"

namespace addons {

/// The same error in the words of the command line: the field of the request
/// that the daemon names at the beginning of an INVALID_ARGUMENT is the flag
/// that gives it. "cluster_id: is missing" becomes "--cluster: is missing".
/// Other errors are left as they are.
absl::Status InWordsOfFlags(const absl::Status& status);

}  // namespace addons

#endif  // ADDONS_CLI_FLAG_NAMES_H_
