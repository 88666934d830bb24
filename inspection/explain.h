#ifndef ADDONS_INSPECTION_EXPLAIN_H_
#define ADDONS_INSPECTION_EXPLAIN_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ceph/image.h"
#include "inspection/forecast.h"
#include "operation/operation_context.h"
#include "replication/environment.h"

namespace addons {

/// One thing that was seen, for a person: topic "image", name "size".
struct Fact {
  std::string topic;
  std::string name;
  std::string value;
};

struct VerbForecast {
  std::string verb;  // "promote", "demote", "resync", "disable"
  Force force = Force::kNo;
  Forecast forecast;
};

struct Explanation {
  std::vector<Fact> facts;  // those of a topic stand together
  /// What could not be seen, and why. A fact that is missing is one of these,
  /// or does not hold for such an image.
  std::vector<std::string> unseen;
  std::vector<VerbForecast> forecasts;
};

/// Everything that this site shows of a volume, and what the verbs would answer
/// now, from one look. Opens the image read-only, takes no key and no lease,
/// changes nothing, and leaves no trace that a verb would see. Blocks, also for
/// a manager that does not answer. A volume that cannot be found is explained,
/// too; UNAUTHENTICATED: Ceph refuses the user. INVALID_ARGUMENT: no volume id.
absl::StatusOr<Explanation> ExplainVolume(
    OperationContext& context, ReplicationEnvironment& environment,
    const VolumeTarget& target, std::optional<std::chrono::minutes> interval);

/// Of that only what the verbs other than promote would answer, for a member of
/// a group: neither the manager nor the pool's statuses are asked.
absl::StatusOr<std::vector<VerbForecast>> ForecastOtherVerbs(
    OperationContext& context, ReplicationEnvironment& environment,
    const VolumeTarget& target);

}  // namespace addons

#endif  // ADDONS_INSPECTION_EXPLAIN_H_
