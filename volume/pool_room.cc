#include "volume/pool_room.h"

#include <algorithm>

#include "base/json.h"
#include "base/status_macros.h"

namespace addons {
namespace {

/// nullopt: `object` has no such number.
std::optional<uint64_t> NumberIn(const nlohmann::json& object,
                                 const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) {
    return std::nullopt;
  }
  return found->get<uint64_t>();
}

std::optional<uint64_t> RoomIn(const nlohmann::json& pool) {
  const auto stats = pool.find("stats");
  if (stats == pool.end() || !stats->is_object()) return std::nullopt;
  std::optional<uint64_t> room = NumberIn(*stats, "max_avail");
  const uint64_t quota = NumberIn(*stats, "quota_bytes").value_or(0);
  const auto stored = NumberIn(*stats, "stored");
  if (room.has_value() && quota > 0 && stored.has_value()) {
    room = std::min(*room, quota - std::min(quota, *stored));
  }
  return room;
}

}  // namespace

absl::StatusOr<std::optional<uint64_t>> ReadPoolRoom(Cluster& cluster,
                                                     int64_t pool_id) {
  const auto text = cluster.MonCommand(
      R"({"prefix": "df", "detail": "detail", "format": "json"})");
  if (absl::IsPermissionDenied(text.status())) return std::nullopt;
  ADDONS_RETURN_IF_ERROR(text.status());
  const auto answer = ParseJson(*text);
  const auto pools = answer.is_object() ? answer.find("pools") : answer.end();
  if (!answer.is_object() || pools == answer.end() || !pools->is_array()) {
    return std::nullopt;
  }
  for (const nlohmann::json& pool : *pools) {
    const auto id = pool.is_object() ? pool.find("id") : pool.end();
    if (!pool.is_object() || id == pool.end() || !id->is_number_integer() ||
        id->get<int64_t>() != pool_id) {
      continue;
    }
    return RoomIn(pool);
  }
  return std::nullopt;
}

}  // namespace addons
