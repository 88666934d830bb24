#include "replication/replication_service_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "rpc/validate.h"

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
  call.target.volume_id = source.id;
  ADDONS_ASSIGN_OR_RETURN(call.target.user, UserFromSecrets(secrets));
  ADDONS_ASSIGN_OR_RETURN(
      std::string key, source.is_group ? resolver.GroupOperationKey(source.id)
                                       : resolver.OperationKey(source.id));
  call.spec.cluster = key.substr(0, key.find('/'));
  call.spec.keys = {std::move(key)};
  call.spec.verb = std::string(verb);
  call.spec.object = absl::StrCat(
      source.is_group ? "volume group '" : "volume '", source.id, "'");
  call.spec.parameters = CallFingerprint(verb, call.target.user, parameters);
  return call;
}

}  // namespace addons
