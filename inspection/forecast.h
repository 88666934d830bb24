#ifndef ADDONS_INSPECTION_FORECAST_H_
#define ADDONS_INSPECTION_FORECAST_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "replication/decide/next.h"
#include "replication/decide/wait_clock.h"

namespace addons {

/// Whether a verb would do what it is for, if it was called now. In order of
/// trouble.
enum class Verdict {
  kWorks,    // it would do it, or has nothing to do
  kWaits,    // not now; it waits for something, and may do it later
  kRefuses,  // it would not
  kUnclear,  // what it takes to know was not seen
};

/// What a verb would answer.
struct Forecast {
  Verdict verdict = Verdict::kUnclear;
  /// Of its answer, for kWaits if what it waits for does not come in time; for
  /// kUnclear what the look ended with.
  absl::StatusCode code = absl::StatusCode::kUnknown;
  /// For a person: what is seen, and what comes of it.
  std::string reason;
  /// The row of the verb's table that says so (docs/replication-decisions.md);
  /// empty: it is no row's.
  std::string row = {};
  /// Of a promotion that would wait for another site.
  std::optional<WaitClock> clock = std::nullopt;
  /// DescribeWaitClock(); empty: there is nothing to tell.
  std::string clock_text = {};
};

/// Of what a verb's table says comes next.
Forecast ForecastOf(const Next& next);

/// The forecast of every verb on a volume that could not be looked at. That it
/// is not there is an answer, anything else is none.
Forecast NotSeen(const absl::Status& status);

}  // namespace addons

#endif  // ADDONS_INSPECTION_FORECAST_H_
