#ifndef ADDONS_CLI_METHODS_H_
#define ADDONS_CLI_METHODS_H_

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace addons {

/// "replication.Controller/PromoteVolume".
std::string MethodName(const google::protobuf::MethodDescriptor& method);

/// All methods that a daemon can have, in the order of the packages' names.
std::vector<const google::protobuf::MethodDescriptor*> AllMethods();

/// The method called `name`: in full, or as short as it is unambiguous
/// ("PromoteVolume", "identity.Identity/Probe"). NOT_FOUND; INVALID_ARGUMENT
/// when several match, naming them.
absl::StatusOr<const google::protobuf::MethodDescriptor*> FindMethod(
    const std::string& name);

}  // namespace addons

#endif  // ADDONS_CLI_METHODS_H_
