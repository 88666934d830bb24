#ifndef ADDONS_REPLICATION_STEPS_SCHEDULE_JSON_H_
#define ADDONS_REPLICATION_STEPS_SCHEDULE_JSON_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "replication/parameters.h"

namespace addons {

/// nullopt: `object` has no such value, or it is no text.
std::optional<std::string> TextOf(const nlohmann::json& object,
                                  const char* name);

/// {"interval": "5m", "start_time": "03:00:00+00:00" or null}, as Ceph's
/// manager lists and keeps a schedule, and this daemon in metadata. It may be
/// one that does not run (SnapshotSchedule::Runs()). INTERNAL: it is none.
absl::StatusOr<SnapshotSchedule> ParseSchedule(const nlohmann::json& entry);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_SCHEDULE_JSON_H_
