#include "volume/volume_journal.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "volume/default_image_name.h"

namespace addons {
namespace {

// Names are ceph-csi's; its other keys are not needed.
constexpr char kObjectPrefix[] = "csi.volume.";
constexpr char kKeyPrefix[] = "csi.";
constexpr char kRequestName[] = "csi.volname";
constexpr char kImageName[] = "csi.imagename";
constexpr char kImageId[] = "csi.imageid";
constexpr char kOwner[] = "csi.volume.owner";
constexpr char kKmsId[] = "csi.volume.encryptKMS";
constexpr char kEncryptionType[] = "csi.volume.encryptionType";

std::string ObjectName(const std::string& uuid) {
  return absl::StrCat(kObjectPrefix, uuid);
}

std::optional<std::string> Find(const OmapValues& values, const char* key) {
  const auto found = values.find(key);
  if (found == values.end()) return std::nullopt;
  return found->second;
}

std::string Describe(const Pool& pool, const std::string& uuid) {
  std::string text = absl::StrCat("journal object '", ObjectName(uuid),
                                  "' in pool '", pool.name(), "'");
  if (!pool.rados_namespace().empty()) {
    absl::StrAppend(&text, " namespace '", pool.rados_namespace(), "'");
  }
  return text;
}

}  // namespace

absl::StatusOr<VolumeAttributes> VolumeJournal::Read(const std::string& uuid) {
  const auto values = pool_.ReadOmap(ObjectName(uuid), kKeyPrefix);
  if (absl::IsNotFound(values.status())) {
    return absl::NotFoundError(
        absl::StrCat("there is no ", Describe(pool_, uuid)));
  }
  if (!values.ok()) {
    return Annotate(values.status(),
                    absl::StrCat("Failed to read ", Describe(pool_, uuid)));
  }
  const auto request_name = Find(*values, kRequestName);
  if (!request_name) {
    return absl::NotFoundError(absl::StrCat(
        Describe(pool_, uuid), " is a stub: it has no ", kRequestName));
  }
  VolumeAttributes attributes;
  attributes.request_name = *request_name;
  attributes.image_name = ImageName(Find(*values, kImageName).value_or(""));
  if (attributes.image_name.empty()) {
    attributes.image_name = ImageName(DefaultImageName(uuid));
  }
  attributes.image_id = Find(*values, kImageId).value_or("");
  attributes.owner = Find(*values, kOwner).value_or("");
  attributes.kms_id = Find(*values, kKmsId).value_or("");
  attributes.encryption_type = Find(*values, kEncryptionType).value_or("");
  return attributes;
}

absl::StatusOr<bool> VolumeJournal::CorrectImageId(
    const std::string& uuid, const std::string& image_id) {
  if (image_id.empty()) {
    return absl::InternalError(absl::StrCat("Failed to correct ",
                                            Describe(pool_, uuid),
                                            ": the new image id is empty"));
  }
  const std::string object = ObjectName(uuid);
  const auto values = pool_.ReadOmap(object, kKeyPrefix);
  if (absl::IsNotFound(values.status())) return false;
  if (!values.ok()) {
    return Annotate(values.status(),
                    absl::StrCat("Failed to read ", Describe(pool_, uuid)));
  }
  if (!Find(*values, kRequestName)) return false;
  const std::optional<std::string> current = Find(*values, kImageId);
  if (current == image_id) return false;

  const auto replaced =
      pool_.ReplaceOmapValue(object, kImageId, current, image_id);
  if (replaced.ok() && *replaced) return true;
  if (replaced.ok() || absl::IsNotFound(replaced.status())) {
    return absl::AbortedError(absl::StrCat(
        "Failed to correct ", Describe(pool_, uuid),
        ": another client changed it at the same moment; try again"));
  }
  return Annotate(replaced.status(),
                  absl::StrCat("Failed to correct ", Describe(pool_, uuid)));
}

absl::Status VolumeJournal::Put(const std::string& uuid, const std::string& key,
                                const std::optional<std::string>& current,
                                const std::string& value) {
  if (current == value) return absl::OkStatus();
  const auto replaced =
      pool_.ReplaceOmapValue(ObjectName(uuid), key, current, value);
  if (replaced.ok() && *replaced) return absl::OkStatus();
  if (replaced.ok() || absl::IsNotFound(replaced.status())) {
    return absl::AbortedError(absl::StrCat(
        "Failed to write ", key, " of ", Describe(pool_, uuid),
        ": another client changed it at the same moment; try again"));
  }
  return Annotate(
      replaced.status(),
      absl::StrCat("Failed to write ", key, " of ", Describe(pool_, uuid)));
}

absl::Status VolumeJournal::Remove(const std::string& uuid) {
  return Annotate(pool_.RemoveObject(ObjectName(uuid)),
                  absl::StrCat("Failed to remove ", Describe(pool_, uuid)));
}

absl::StatusOr<bool> VolumeJournal::Write(const std::string& uuid,
                                          const VolumeAttributes& attributes,
                                          const std::string& former) {
  OmapValues there;
  const absl::Status created = pool_.CreateObject(ObjectName(uuid));
  if (absl::IsAlreadyExists(created)) {
    ADDONS_ASSIGN_OR_RETURN(there,
                            pool_.ReadOmap(ObjectName(uuid), kKeyPrefix));
  } else if (!created.ok()) {
    return Annotate(created,
                    absl::StrCat("Failed to make ", Describe(pool_, uuid)));
  }
  const std::optional<std::string> name = Find(there, kRequestName);
  // It came last.
  if (name == attributes.request_name) return true;
  if (name.has_value() && (former.empty() || *name != former)) return false;
  std::vector<std::pair<const char*, std::string>> values = {
      {kImageName, attributes.image_name.text()},
      {kImageId, attributes.image_id}};
  if (!attributes.owner.empty()) {
    values.emplace_back(kOwner, attributes.owner);
  }
  if (!attributes.kms_id.empty()) {
    values.emplace_back(kKmsId, attributes.kms_id);
    values.emplace_back(kEncryptionType, attributes.encryption_type);
  }
  values.emplace_back(kRequestName, attributes.request_name);
  for (const auto& [key, value] : values) {
    ADDONS_RETURN_IF_ERROR(Put(uuid, key, Find(there, key), value));
  }
  return true;
}

}  // namespace addons
