#ifndef ADDONS_INSPECTION_GROUP_FORECAST_H_
#define ADDONS_INSPECTION_GROUP_FORECAST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "inspection/forecast.h"
#include "inspection/promote_forecast.h"
#include "replication/group/member_status.h"
#include "volume/csi_handle.h"

namespace addons {

/// What a promotion of a volume group would answer now.
struct GroupForecast {
  std::string group_id;
  std::string name;  // of the request that made it; empty: it was not found
  size_t members = 0;
  Forecast planned;
  Forecast forced;
  /// What a forced one would lose of all members together, where that is known
  /// of each.
  std::optional<uint64_t> lost_bytes;
  /// As of a member, where it is known of each: the bytes of all together, and
  /// how long the slowest takes.
  std::optional<uint64_t> lost_bytes_about;
  std::optional<uint64_t> bytes_to_come;
  std::optional<uint64_t> planned_seconds;
};

/// What is known of one member of a group.
struct MemberForecast {
  VolumeHandle volume_id;
  bool primary = false;
  PromoteForecast forecast;
};

/// What PromoteGroup() makes of its members' answers: planned all of them or
/// none, by force each that can be. Its codes are those of PromoteGroupCode().
GroupForecast ForecastGroup(const GroupHandle& group_id,
                            const std::vector<MemberForecast>& members);

/// A verb's forecast for one member.
struct MemberVerbForecast {
  VolumeHandle volume_id;
  Forecast forecast;
};

/// What a group verb other than promote makes of its members' answers: all of
/// them or none. Its codes are those of GroupCode(). `text` is the verb's.
Forecast ForecastAllOrNone(const GroupText& text,
                           const std::vector<MemberVerbForecast>& members);

/// The forecast of a group whose members could not be read.
GroupForecast UnseenGroup(const GroupHandle& group_id,
                          const absl::Status& status);

}  // namespace addons

#endif  // ADDONS_INSPECTION_GROUP_FORECAST_H_
