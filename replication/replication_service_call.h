#ifndef ADDONS_REPLICATION_REPLICATION_SERVICE_CALL_H_
#define ADDONS_REPLICATION_REPLICATION_SERVICE_CALL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "history/event_log.h"
#include "operation/operation_table.h"
#include "replication/environment.h"
#include "replication/parameters.h"
#include "replication/replication.pb.h"
#include "rpc/secrets.h"
#include "rpc/validate.h"
#include "volume/credentials.h"
#include "volume/resolver.h"

namespace addons {

/// What an operation needs before its own parameters. Its keys are those of the
/// volume; of a group's the first one.
struct SourceCall {
  bool is_group = false;
  VolumeTarget target;   // of a group the user alone
  GroupHandle group_id;  // of a group
  OperationSpec spec;
};

/// The one place that reads the deprecated field 1, which sidecars up to v0.8.0
/// send instead of a source.
template <typename Request>
std::string OldVolumeId(const Request& request) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return request.volume_id();
#pragma GCC diagnostic pop
}

/// GetReplicationDestinationInfo is too new to have that field.
inline std::string OldVolumeId(
    const ::replication::GetReplicationDestinationInfoRequest&) {
  return "";
}

/// PrepareCall() of what it has taken from a request.
absl::StatusOr<SourceCall> PrepareSourceCall(
    Resolver& resolver, const ::replication::ReplicationSource& source,
    const std::string& deprecated_id, const SecretMap& secrets,
    absl::string_view verb, const ParameterMap& parameters);

/// Validates what all requests share and describes the operation. Asks no
/// cluster.
template <typename Request>
absl::StatusOr<SourceCall> PrepareCall(Resolver& resolver,
                                       const Request& request,
                                       absl::string_view verb,
                                       const ParameterMap& parameters = {}) {
  return PrepareSourceCall(resolver, request.replication_source(),
                           OldVolumeId(request), TakeSecrets(request.secrets()),
                           verb, parameters);
}

/// The same of a request of administrators, which names a volume alone. The key
/// is that of the volume's verbs: nothing else changes it meanwhile.
template <typename Request>
absl::StatusOr<SourceCall> PrepareVolumeCall(
    Resolver& resolver, const Request& request, absl::string_view verb,
    const ParameterMap& parameters = {}) {
  ADDONS_RETURN_IF_ERROR(Require("volume_id", request.volume_id()));
  ::replication::ReplicationSource source;
  source.mutable_volume()->set_volume_id(request.volume_id());
  return PrepareSourceCall(resolver, source, "", TakeSecrets(request.secrets()),
                           verb, parameters);
}

/// The same of a request of administrators that names a volume group.
template <typename Request>
absl::StatusOr<SourceCall> PrepareGroupCall(
    Resolver& resolver, const Request& request, absl::string_view verb,
    const ParameterMap& parameters = {}) {
  ADDONS_RETURN_IF_ERROR(Require("group_id", request.group_id()));
  ::replication::ReplicationSource source;
  source.mutable_volumegroup()->set_volume_group_id(request.group_id());
  return PrepareSourceCall(resolver, source, "", TakeSecrets(request.secrets()),
                           verb, parameters);
}

/// What a call is about: the id of its volume or group.
const std::string& SourceIdOf(const SourceCall& call);

/// Such a call is answered with `status`: an event of the volume's history.
void RecordAnswer(EventLog& history, const SourceCall& call,
                  const std::string& request_id, const absl::Status& status,
                  std::string text = "");

}  // namespace addons

#endif  // ADDONS_REPLICATION_REPLICATION_SERVICE_CALL_H_
