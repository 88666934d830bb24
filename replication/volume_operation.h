#ifndef ADDONS_REPLICATION_VOLUME_OPERATION_H_
#define ADDONS_REPLICATION_VOLUME_OPERATION_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ceph/cluster.h"
#include "operation/operation_spec.h"
#include "replication/environment.h"
#include "replication/parameters.h"
#include "volume/operation_key.h"

namespace addons {

/// How a verb on a volume or volume group is told to the table of operations.
/// `object` is "volume 'ID'", for messages; `parameters` tell it from others of
/// the verb. Nothing is asked of Ceph.
OperationSpec SpecOn(const OperationKey& key, std::string object,
                     absl::string_view verb, const CephUser& user,
                     const ParameterMap& parameters);

/// The same of a volume, for what no request has asked for. Errors of
/// Resolver::KeyOfVolume().
absl::StatusOr<OperationSpec> SpecOnVolume(ReplicationEnvironment& environment,
                                           const VolumeTarget& target,
                                           absl::string_view verb,
                                           const ParameterMap& parameters = {});

}  // namespace addons

#endif  // ADDONS_REPLICATION_VOLUME_OPERATION_H_
