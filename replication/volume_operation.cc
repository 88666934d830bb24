#include "replication/volume_operation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "volume/credentials.h"

namespace addons {

OperationSpec SpecOn(const OperationKey& key, std::string object,
                     absl::string_view verb, const CephUser& user,
                     const ParameterMap& parameters) {
  OperationSpec spec;
  spec.share = WorkerShare::OfCluster(key.cluster_id);
  spec.keys = {key.ToString()};
  spec.verb = std::string(verb);
  spec.object = std::move(object);
  spec.parameters = CallFingerprint(verb, user, parameters);
  return spec;
}

absl::StatusOr<OperationSpec> SpecOnVolume(ReplicationEnvironment& environment,
                                           const VolumeTarget& target,
                                           absl::string_view verb,
                                           const ParameterMap& parameters) {
  ADDONS_ASSIGN_OR_RETURN(const OperationKey key,
                          environment.resolver.KeyOfVolume(target.volume_id));
  return SpecOn(key, absl::StrCat("volume '", target.volume_id.text(), "'"),
                verb, *target.user, parameters);
}

}  // namespace addons
