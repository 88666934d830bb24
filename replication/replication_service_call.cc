#include "replication/replication_service_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "replication/volume_operation.h"
#include "rpc/validate.h"
#include "volume/patience.h"

namespace addons {
namespace {

namespace pb = ::replication;

/// What a request is about.
struct Source {
  bool is_group = false;
  std::string id;  // of the volume or volume group
};

absl::StatusOr<Source> SourceOf(const pb::ReplicationSource& source,
                                const std::string& deprecated_id) {
  switch (source.type_case()) {
    case pb::ReplicationSource::kVolume: {
      const std::string& id = source.volume().volume_id();
      ADDONS_RETURN_IF_ERROR(
          Require("replication_source.volume.volume_id", id));
      if (!deprecated_id.empty() && deprecated_id != id) {
        return InvalidField("volume_id",
                            "differs from replication_source.volume.volume_id; "
                            "leave the deprecated field empty");
      }
      return Source{false, id};
    }
    case pb::ReplicationSource::kVolumegroup:
      ADDONS_RETURN_IF_ERROR(
          Require("replication_source.volumegroup.volume_group_id",
                  source.volumegroup().volume_group_id()));
      if (!deprecated_id.empty()) {
        return InvalidField("volume_id",
                            "names a volume, but replication_source names a "
                            "volume group");
      }
      return Source{true, source.volumegroup().volume_group_id()};
    case pb::ReplicationSource::TYPE_NOT_SET:
      break;
  }
  if (!deprecated_id.empty()) return Source{false, deprecated_id};
  return InvalidField("replication_source", "is missing");
}

}  // namespace

absl::StatusOr<SourceCall> PrepareSourceCall(
    Resolver& resolver, const pb::ReplicationSource& replication_source,
    const std::string& deprecated_id, const SecretMap& secrets,
    absl::string_view verb, const ParameterMap& parameters) {
  ADDONS_ASSIGN_OR_RETURN(const Source source,
                          SourceOf(replication_source, deprecated_id));
  SourceCall call;
  call.is_group = source.is_group;
  if (source.is_group) {
    call.group_id = GroupHandle(source.id);
  } else {
    call.target.volume_id = VolumeHandle(source.id);
  }
  ADDONS_ASSIGN_OR_RETURN(
      call.target.user,
      UserFromSecrets(secrets, SecretSource::kReplicationClass));
  ADDONS_ASSIGN_OR_RETURN(const OperationKey key,
                          source.is_group
                              ? resolver.KeyOfGroup(call.group_id)
                              : resolver.KeyOfVolume(call.target.volume_id));
  call.spec =
      SpecOn(key,
             absl::StrCat(source.is_group ? "volume group '" : "volume '",
                          source.id, "'"),
             verb, *call.target.user, parameters);
  call.spec.prove = [&resolver, is_group = call.is_group, target = call.target,
                     group_id = call.group_id](OperationContext& context) {
    const SteadyTime deadline = context.DeadlineWithin(kFindPatience);
    return is_group ? resolver
                          .ResolveGroup(group_id, target.user, Access::kRead,
                                        deadline)
                          .status()
                    : resolver
                          .Resolve(target.volume_id, target.user, Access::kRead,
                                   deadline)
                          .status();
  };
  return call;
}

const std::string& SourceIdOf(const SourceCall& call) {
  return call.is_group ? call.group_id.text() : call.target.volume_id.text();
}

void RecordAnswer(EventLog& history, const SourceCall& call,
                  const std::string& request_id, const absl::Status& status,
                  std::string text) {
  HistoryEvent event;
  event.object = SourceIdOf(call);
  event.verb = call.spec.verb;
  event.user = call.target.user->id;
  event.request = request_id;
  event.text = std::move(text);
  history.AddAnswered(std::move(event), status);
}

}  // namespace addons
