#include "volume/group_journal.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/pool.h"

namespace addons {
namespace {

constexpr char kObjectPrefix[] = "csi.volume.group.";
constexpr char kRequestName[] = "csi.volname";
constexpr char kGroupName[] = "csi.groupname";
constexpr char kCreationTime[] = "csi.creationtime";

std::string Describe(const Pool& pool, const std::string& uuid) {
  std::string text = absl::StrCat("journal object '", kObjectPrefix, uuid,
                                  "' in pool '", pool.name(), "'");
  if (!pool.rados_namespace().empty()) {
    absl::StrAppend(&text, " namespace '", pool.rados_namespace(), "'");
  }
  return text;
}

std::string ObjectName(const std::string& uuid) {
  return absl::StrCat(kObjectPrefix, uuid);
}

/// What writing to the object of a group tells: it is there when that begins.
absl::Status Written(const absl::Status& status, const Pool& pool,
                     const std::string& uuid) {
  if (absl::IsNotFound(status)) {
    return absl::AbortedError(
        absl::StrCat("Failed to write ", Describe(pool, uuid),
                     ": the group was deleted at the same moment; try again"));
  }
  return Annotate(status,
                  absl::StrCat("Failed to write ", Describe(pool, uuid)));
}

}  // namespace

absl::StatusOr<GroupAttributes> GroupJournal::Read(const std::string& uuid) {
  // All keys: those of members have no prefix.
  auto values = pool_.ReadOmap(ObjectName(uuid), "");
  if (absl::IsNotFound(values.status())) {
    return absl::NotFoundError(
        absl::StrCat("there is no ", Describe(pool_, uuid)));
  }
  if (!values.ok()) {
    return Annotate(values.status(),
                    absl::StrCat("Failed to read ", Describe(pool_, uuid)));
  }
  GroupAttributes attributes;
  bool snapshot = false;
  for (auto& [key, value] : *values) {
    if (key == kRequestName) {
      attributes.request_name = std::move(value);
    } else if (key == kGroupName) {
      attributes.group_name = std::move(value);
    } else if (key == kCreationTime) {
      attributes.creation_time = std::move(value);
    } else {
      snapshot |= !value.empty();
      attributes.members.emplace_back(key);
    }
  }
  if (snapshot) {
    return absl::InvalidArgumentError(absl::StrCat(
        Describe(pool_, uuid),
        " is that of a volume group snapshot, not of a volume group"));
  }
  if (attributes.group_name.empty()) {
    return absl::NotFoundError(
        absl::StrCat(Describe(pool_, uuid),
                     " is an unfinished reservation: it has no ", kGroupName));
  }
  return attributes;
}

absl::Status GroupJournal::Create(const std::string& uuid,
                                  const GroupAttributes& attributes) {
  const absl::Status created = pool_.CreateObject(ObjectName(uuid));
  if (!created.ok() && !absl::IsAlreadyExists(created)) {
    return Written(created, pool_, uuid);
  }
  return Written(
      pool_.SetOmapValues(ObjectName(uuid),
                          {{kRequestName, attributes.request_name},
                           {kGroupName, attributes.group_name},
                           {kCreationTime, attributes.creation_time}}),
      pool_, uuid);
}

absl::StatusOr<std::string> GroupJournal::ReadClaim(const std::string& uuid) {
  auto values = pool_.ReadOmap(ObjectName(uuid), "csi.");
  if (absl::IsNotFound(values.status())) return std::string();
  if (!values.ok()) {
    return Annotate(values.status(),
                    absl::StrCat("Failed to read ", Describe(pool_, uuid)));
  }
  if (values->contains(kGroupName)) return std::string();
  return std::move((*values)[kRequestName]);
}

absl::StatusOr<bool> GroupJournal::Claim(const std::string& uuid,
                                         const std::string& request_name) {
  const std::string object = ObjectName(uuid);
  const absl::Status created = pool_.CreateObject(object);
  if (!created.ok() && !absl::IsAlreadyExists(created)) {
    return Written(created, pool_, uuid);
  }
  const auto claimed =
      pool_.ReplaceOmapValue(object, kRequestName, std::nullopt, request_name);
  if (!claimed.ok()) return Written(claimed.status(), pool_, uuid);
  if (*claimed) return true;
  ADDONS_ASSIGN_OR_RETURN(const std::string claim, ReadClaim(uuid));
  return claim == request_name;
}

absl::Status GroupJournal::Publish(const std::string& uuid,
                                   const GroupAttributes& attributes) {
  const std::string object = ObjectName(uuid);
  OmapValues values = {{kGroupName, attributes.group_name},
                       {kCreationTime, attributes.creation_time}};
  for (const VolumeHandle& member : attributes.members) {
    values[member.text()] = "";
  }
  // A driver may have written members to an object without names.
  const auto present = pool_.ReadOmap(object, "");
  if (!present.ok()) return Written(present.status(), pool_, uuid);
  std::vector<std::string> others;
  for (const auto& [key, value] : *present) {
    if (key != kRequestName && !values.contains(key)) others.push_back(key);
  }
  if (!others.empty()) {
    ADDONS_RETURN_IF_ERROR(
        Written(pool_.RemoveOmapKeys(object, others), pool_, uuid));
  }
  return Written(pool_.SetOmapValues(object, values), pool_, uuid);
}

absl::Status GroupJournal::Remove(const std::string& uuid) {
  return Written(pool_.RemoveObject(ObjectName(uuid)), pool_, uuid);
}

absl::Status GroupJournal::AddMembers(
    const std::string& uuid, const std::vector<VolumeHandle>& volumes) {
  OmapValues values;
  for (const VolumeHandle& volume : volumes) values[volume.text()] = "";
  return Written(pool_.SetOmapValues(ObjectName(uuid), values), pool_, uuid);
}

absl::Status GroupJournal::RemoveMembers(
    const std::string& uuid, const std::vector<VolumeHandle>& volumes) {
  return Written(pool_.RemoveOmapKeys(ObjectName(uuid), Texts(volumes)), pool_,
                 uuid);
}

}  // namespace addons
