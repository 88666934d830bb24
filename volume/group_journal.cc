#include "volume/group_journal.h"

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
