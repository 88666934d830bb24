#include "volume/reserved_name.h"

#include <optional>

namespace addons {

absl::StatusOr<bool> ReserveName(Pool& pool, const std::string& directory,
                                 const std::string& key,
                                 const std::string& uuid) {
  auto reserved = pool.ReplaceOmapValue(directory, key, std::nullopt, uuid);
  if (!absl::IsNotFound(reserved.status())) return reserved;
  const absl::Status created = pool.CreateObject(directory);
  if (!created.ok() && !absl::IsAlreadyExists(created)) return created;
  return pool.ReplaceOmapValue(directory, key, std::nullopt, uuid);
}

absl::Status ReleaseName(Pool& pool, const std::string& directory,
                         const std::string& key, const std::string& uuid) {
  const auto removed = pool.RemoveOmapValue(directory, key, uuid);
  return absl::IsNotFound(removed.status()) ? absl::OkStatus()
                                            : removed.status();
}

}  // namespace addons
