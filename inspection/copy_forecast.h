#ifndef ADDONS_INSPECTION_COPY_FORECAST_H_
#define ADDONS_INSPECTION_COPY_FORECAST_H_

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "replication/look/mirror_view.h"

namespace addons {

/// What rbd-mirror of this site has measured of its copies says about the next
/// ones. Estimates; absent where nothing was measured, never zero for that.
struct CopyForecast {
  /// Of the snapshot that is known of on the primary and not whole here: what
  /// is still to be copied of it, and all of it, which is what a promotion by
  /// force would lose (and what was written after it, too). Both by the mean of
  /// the snapshots before. 0 to come: every snapshot that is known of is here.
  std::optional<uint64_t> bytes_to_come;
  std::optional<uint64_t> missing_bytes;
  /// How long is copied until a demotion of the primary is here, at the pace of
  /// the last snapshot: the rest of the copy under way and the demotion's own,
  /// where it is another one. Never 0.
  std::optional<uint64_t> seconds_to_demotion;
};

/// From one look at a secondary whose rbd-mirror has reported within `settle`.
/// Snapshot mode only: in journal mode rbd-mirror measures entries. Numbers
/// that cannot be (negative, beyond the image's size, a copy of years) are not
/// known; rbd-mirror's own `seconds_until_synced` is not used, as it was seen
/// to be 0 and 2^57.
CopyForecast ForecastCopies(const MirrorView& view, SteadyDuration settle);

}  // namespace addons

#endif  // ADDONS_INSPECTION_COPY_FORECAST_H_
