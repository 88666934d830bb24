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
#include "volume/volume_journal.h"

namespace addons {
namespace {

constexpr size_t kPoolIdLength = 16;

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
  const auto value =
      pool_.ReadOmapKey(object_, absl::StrCat("csi.volume.", request_name));
  if (absl::IsNotFound(value.status())) return std::nullopt;
  ADDONS_RETURN_IF_ERROR(value.status());
  if (!value->has_value()) return std::nullopt;
  auto entry = Parse(**value);
  if (entry.has_value()) return entry;
  return absl::DataLossError(absl::StrCat("the entry of '", request_name,
                                          "' in '", object_, "' of pool '",
                                          pool_.name(), "' is broken"));
}

absl::StatusOr<std::string> UuidOfImage(Pool& pool, const ImageName& image) {
  const std::string& name = image.text();
  if (name.size() >= kUuidLength) {
    std::string uuid = name.substr(name.size() - kUuidLength);
    const auto entry = VolumeJournal(pool).Read(uuid);
    if (entry.ok() && entry->image_name == image) return uuid;
    if (!entry.ok() && !absl::IsNotFound(entry.status())) {
      return entry.status();
    }
  }
  return absl::NotFoundError(absl::StrCat("no volume of the journal in pool '",
                                          pool.name(), "' has the image '",
                                          name, "'"));
}

}  // namespace addons
