#include "volume/told_entry.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace addons {
namespace {

using Metadata = std::map<std::string, std::string>;

// Names are ceph-csi's.
constexpr char kPvName[] = "csi.storage.k8s.io/pv/name";
constexpr char kPvcNamespace[] = "csi.storage.k8s.io/pvc/namespace";

constexpr char kUuidField[] = "uuid";
constexpr char kNameField[] = "name";
constexpr char kOwnerField[] = "owner";
constexpr char kKmsField[] = "kms";
constexpr char kEncryptionField[] = "encryption";

/// Names of Kubernetes have 253 bytes at most; those of others may be longer.
constexpr size_t kLongestName = 1024;

bool IsName(const std::string& text) {
  return !text.empty() && text.size() <= kLongestName &&
         std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return absl::ascii_iscntrl(c); });
}

std::string NameAt(const Metadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found != metadata.end() && IsName(found->second) ? found->second : "";
}

bool IsSet(const Metadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found != metadata.end() && !found->second.empty();
}

/// Absent is empty; false: it is no name.
bool TakeField(const nlohmann::json& note, const char* field,
               std::string* value) {
  const auto found = note.find(field);
  if (found == note.end()) return true;
  if (!found->is_string()) return false;
  *value = found->get<std::string>();
  return IsName(*value);
}

/// false: it is none for this volume.
bool ReadNote(const std::string& text, const std::string& uuid,
              ToldEntry* told) {
  const auto note = nlohmann::json::parse(text, nullptr, false);
  if (!note.is_object()) return false;
  std::string whose;
  ToldEntry read;
  if (!TakeField(note, kUuidField, &whose) || whose != uuid ||
      !TakeField(note, kNameField, &read.request_name) ||
      !TakeField(note, kOwnerField, &read.owner) ||
      !TakeField(note, kKmsField, &read.kms_id) ||
      !TakeField(note, kEncryptionField, &read.encryption_type) ||
      read.request_name.empty()) {
    return false;
  }
  read.source = ToldEntry::Source::kNote;
  read.encrypted = !read.kms_id.empty();
  *told = std::move(read);
  return true;
}

bool TellsAll(const ToldEntry& told, const VolumeAttributes& entry) {
  return told.request_name == entry.request_name && told.owner == entry.owner &&
         told.kms_id == entry.kms_id &&
         told.encryption_type == entry.encryption_type;
}

}  // namespace

ToldEntry ReadToldEntry(const Metadata& metadata, const std::string& uuid) {
  ToldEntry told;
  const auto note = metadata.find(kVolumeNoteKey);
  if (note == metadata.end() || !ReadNote(note->second, uuid, &told)) {
    told.request_name = NameAt(metadata, kPvName);
    told.owner = NameAt(metadata, kPvcNamespace);
    if (!told.request_name.empty()) told.source = ToldEntry::Source::kCephCsi;
  }
  told.encrypted = told.encrypted || IsSet(metadata, kEncryptedKey) ||
                   IsSet(metadata, kPassphraseKey);
  return told;
}

std::string ReadToldClaim(const Metadata& metadata) {
  constexpr size_t kLongest = 253;
  const auto name = metadata.find("csi.storage.k8s.io/pvc/name");
  const auto space = metadata.find(kPvcNamespace);
  if (name == metadata.end() || space == metadata.end() ||
      name->second.empty() || space->second.empty() ||
      name->second.size() > kLongest || space->second.size() > kLongest) {
    return "";
  }
  return absl::StrCat(space->second, "/", name->second);
}

std::string VolumeNoteDue(const VolumeAttributes& entry,
                          const std::string& uuid, const Metadata& metadata) {
  if (!IsName(entry.request_name) ||
      entry.request_name == GeneratedRequestName(entry.image_name) ||
      TellsAll(ReadToldEntry(metadata, uuid), entry)) {
    return "";
  }
  nlohmann::ordered_json note;
  note[kUuidField] = uuid;
  note[kNameField] = entry.request_name;
  if (!entry.owner.empty()) note[kOwnerField] = entry.owner;
  if (!entry.kms_id.empty()) {
    note[kKmsField] = entry.kms_id;
    note[kEncryptionField] = entry.encryption_type;
  }
  const std::string text = note.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  // What cannot be told as it is, is not told again and again.
  const auto same = metadata.find(kVolumeNoteKey);
  return same != metadata.end() && same->second == text ? "" : text;
}

}  // namespace addons
