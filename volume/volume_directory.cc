#include "volume/volume_directory.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/uuid.h"
#include "ceph/pool.h"
#include "volume/reserved_name.h"
#include "volume/volume_journal.h"

namespace addons {
namespace {

constexpr size_t kPoolIdLength = 16;
constexpr char kNamePrefix[] = "csi.volume.";

std::string KeyOf(const std::string& request_name) {
  return absl::StrCat(kNamePrefix, request_name);
}

/// "<uuid>", or "<pool id, 16 hex digits>/<uuid>" where the image is in another
/// pool.
std::optional<VolumeDirectory::Entry> Parse(const std::string& value) {
  std::vector<std::string> parts = absl::StrSplit(value, '/');
  if (parts.back().size() != kUuidLength || parts.size() > 2) {
    return std::nullopt;
  }
  VolumeDirectory::Entry entry{parts.back(), std::nullopt};
  if (parts.size() == 1) return entry;
  const std::string& pool = parts.front();
  uint64_t id = 0;
  // SimpleHexAtoi would forgive blanks, signs and 0x.
  const bool digits =
      pool.size() == kPoolIdLength &&
      std::all_of(pool.begin(), pool.end(),
                  [](unsigned char c) { return absl::ascii_isxdigit(c); });
  if (!digits || !absl::SimpleHexAtoi(pool, &id)) return std::nullopt;
  entry.pool_id = static_cast<int64_t>(id);
  return entry;
}

}  // namespace

absl::StatusOr<std::optional<VolumeDirectory::Entry>> VolumeDirectory::Find(
    const std::string& request_name) {
  const auto value = pool_.ReadOmapKey(object_, KeyOf(request_name));
  if (absl::IsNotFound(value.status())) return std::nullopt;
  ADDONS_RETURN_IF_ERROR(value.status());
  if (!value->has_value()) return std::nullopt;
  auto entry = Parse(**value);
  if (entry.has_value()) return entry;
  return absl::DataLossError(absl::StrCat("the entry of '", request_name,
                                          "' in '", object_, "' of pool '",
                                          pool_.name(), "' is broken"));
}

absl::StatusOr<std::map<std::string, std::string>> VolumeDirectory::ReadAll() {
  const auto read = pool_.ReadOmap(object_, kNamePrefix);
  std::map<std::string, std::string> values;
  if (absl::IsNotFound(read.status())) return values;
  ADDONS_RETURN_IF_ERROR(read.status());
  for (const auto& [key, value] : *read) {
    values.emplace(key.substr(sizeof(kNamePrefix) - 1), value);
  }
  return values;
}

absl::StatusOr<bool> VolumeDirectory::Reserve(const std::string& request_name,
                                              const std::string& uuid) {
  const std::string key = KeyOf(request_name);
  auto reserved = ReserveName(pool_, object_, key, uuid);
  if (!reserved.ok() || *reserved) return reserved;
  ADDONS_ASSIGN_OR_RETURN(const auto value, pool_.ReadOmapKey(object_, key));
  return value == uuid;
}

absl::Status VolumeDirectory::Release(const std::string& request_name,
                                      const std::string& uuid) {
  return ReleaseName(pool_, object_, KeyOf(request_name), uuid);
}

std::string UuidIn(const ImageName& image) {
  const std::string& name = image.text();
  if (name.size() < kUuidLength) return "";
  std::string uuid = name.substr(name.size() - kUuidLength);
  for (size_t i = 0; i < uuid.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool right =
        dash ? uuid[i] == '-'
             : absl::ascii_isxdigit(static_cast<unsigned char>(uuid[i])) != 0;
    if (!right) return "";
  }
  return uuid;
}

absl::StatusOr<EntryOfImage> FindEntryOfImage(Pool& pool,
                                              const ImageName& image) {
  const std::string& name = image.text();
  if (name.size() >= kUuidLength) {
    std::string uuid = name.substr(name.size() - kUuidLength);
    auto entry = VolumeJournal(pool).Read(uuid);
    if (entry.ok() && entry->image_name == image) {
      return EntryOfImage{std::move(uuid), *std::move(entry)};
    }
    if (!entry.ok() && !absl::IsNotFound(entry.status())) {
      return entry.status();
    }
  }
  return absl::NotFoundError(absl::StrCat("no volume of the journal in pool '",
                                          pool.name(), "' has the image '",
                                          name, "'"));
}

}  // namespace addons
