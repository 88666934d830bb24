#ifndef ADDONS_LEASE_NAMESPACE_ID_H_
#define ADDONS_LEASE_NAMESPACE_ID_H_

#include <string>

#include "absl/strings/string_view.h"

namespace addons {

/// "4026531836": this process's namespace of a kind ("pid", "net"), told from
/// all others of this boot that exist. Empty: not known.
std::string NamespaceId(absl::string_view kind);

}  // namespace addons

#endif  // ADDONS_LEASE_NAMESPACE_ID_H_
