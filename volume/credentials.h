#ifndef ADDONS_VOLUME_CREDENTIALS_H_
#define ADDONS_VOLUME_CREDENTIALS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "ceph/cluster.h"

namespace addons {

/// The secrets map of a request. Values are secrets; keys are not.
using SecretMap = std::map<std::string, Secret>;

/// The Ceph user in `secrets` (keys userID and userKey). UNAUTHENTICATED,
/// naming the missing or malformed key and never its value. A "client." before
/// the user id is refused with a hint.
absl::StatusOr<CephUser> UserFromSecrets(const SecretMap& secrets);

}  // namespace addons

#endif  // ADDONS_VOLUME_CREDENTIALS_H_
