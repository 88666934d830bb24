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

/// Where the operator takes the secrets of a call from: whoever has to put them
/// right needs its name.
enum class SecretSource {
  kCaller,            // nothing is said of it
  kVolume,            // the PersistentVolume
  kReplicationClass,  // also for a volume group as the source
  kGroupClass,
  kFenceClass,
};

/// The Ceph user in `secrets` (keys userID and userKey). UNAUTHENTICATED,
/// naming the missing or malformed key, never its value, and the field that
/// `source` stands for. A "client." before the user id is refused with a hint.
absl::StatusOr<CephUserRef> UserFromSecrets(
    const SecretMap& secrets, SecretSource source = SecretSource::kCaller);

/// What must be equal for a call to be joined to another one: the verb, who
/// calls, the parameters and the objects. Of the user's key it holds a hash
/// only. Two different calls never have the same.
std::string CallFingerprint(
    absl::string_view verb, const CephUser& user,
    const std::map<std::string, std::string>& parameters,
    const std::vector<std::string>& objects = {});

}  // namespace addons

#endif  // ADDONS_VOLUME_CREDENTIALS_H_
