#ifndef ADDONS_VOLUME_CREDENTIALS_H_
#define ADDONS_VOLUME_CREDENTIALS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ceph/cluster.h"

namespace addons {

/// The secrets map of a request. Values are secrets; keys are not.
using SecretMap = std::map<std::string, Secret>;

/// The Ceph user in `secrets` (keys userID and userKey). UNAUTHENTICATED,
/// naming the missing or malformed key and never its value. A "client." before
/// the user id is refused with a hint.
absl::StatusOr<CephUser> UserFromSecrets(const SecretMap& secrets);

/// What must be equal for a call to be joined to another one: the verb, who
/// calls, the parameters and the objects. Of the user's key it holds a hash
/// only. Two different calls never have the same.
std::string CallFingerprint(
    absl::string_view verb, const CephUser& user,
    const std::map<std::string, std::string>& parameters,
    const std::vector<std::string>& objects = {});

}  // namespace addons

#endif  // ADDONS_VOLUME_CREDENTIALS_H_
