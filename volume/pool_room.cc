#include "volume/pool_room.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
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

std::optional<uint64_t> RoomOf(int64_t pool_id, const nlohmann::json& answer) {
  if (!answer.is_object()) return std::nullopt;
  const auto pools = answer.find("pools");
  if (pools == answer.end() || !pools->is_array()) return std::nullopt;
  for (const nlohmann::json& pool : *pools) {
    if (!pool.is_object()) continue;
    const auto id = pool.find("id");
    if (id == pool.end() || !id->is_number_integer()) continue;
    if (id->get<int64_t>() == pool_id) return RoomIn(pool);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<uint64_t> ReadPoolRoom(Cluster& cluster, int64_t pool_id) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::string text,
      cluster.MonCommand(
          R"({"prefix": "df", "detail": "detail", "format": "json"})"));
  const std::optional<uint64_t> room = RoomOf(pool_id, ParseJson(text));
  if (room.has_value()) return *room;
  return absl::InternalError(absl::StrCat(
      "the monitors' answer (`ceph df detail`) does not tell how much room the "
      "pool with id ",
      pool_id, " has"));
}

}  // namespace addons
