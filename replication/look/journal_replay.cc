#include "replication/look/journal_replay.h"

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace addons {

absl::StatusOr<bool> JournalReplayBegan(Pool& pool,
                                        const std::string& image_id) {
  const auto value =
      pool.ReadOmapKey(absl::StrCat("journal.", image_id), "next_tag_tid");
  if (absl::IsNotFound(value.status())) return false;
  ADDONS_RETURN_IF_ERROR(value.status());
  if (!value->has_value() || (*value)->size() != sizeof(uint64_t)) return false;
  uint64_t tags = 0;
  for (size_t i = 0; i < sizeof(uint64_t); ++i) {
    tags |= uint64_t{static_cast<unsigned char>((**value)[i])} << (8 * i);
  }
  return tags > 1;
}

}  // namespace addons
