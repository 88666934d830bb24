#include "volume/pools.h"

#include "base/json.h"
#include "base/status_macros.h"

namespace addons {

absl::StatusOr<std::map<int64_t, std::string>> ListPools(Cluster& cluster) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::string text,
      cluster.MonCommand(R"({"prefix": "osd lspools", "format": "json"})"));
  const auto list = ParseJson(text);
  if (!list.is_array()) {
    return absl::InternalError(
        "Failed to list the pools: the monitor's answer is not a JSON array");
  }
  std::map<int64_t, std::string> pools;
  for (const auto& pool : list) {
    if (!pool.is_object()) continue;
    const auto id = pool.find("poolnum");
    const auto name = pool.find("poolname");
    if (id == pool.end() || !id->is_number_integer() || name == pool.end() ||
        !name->is_string()) {
      continue;
    }
    pools[id->get<int64_t>()] = name->get<std::string>();
  }
  return pools;
}

}  // namespace addons
