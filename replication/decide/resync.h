#ifndef ADDONS_REPLICATION_DECIDE_RESYNC_H_
#define ADDONS_REPLICATION_DECIDE_RESYNC_H_

#include <optional>
#include <string>

#include "absl/types/span.h"
#include "base/clock.h"
#include "ceph/image.h"
#include "replication/decide/next.h"
#include "replication/look/mirror_view.h"
#include "replication/look/rescue_record.h"

namespace addons {

/// How long rbd-mirror of this site has been reporting an error. Any error
/// counts: its words change while its cause stays.
struct ErrorStanding {
  SteadyDuration stands_for{0};
  int rewrites = 0;  // how often the report was written anew meanwhile
};

/// What is known of an error that rbd-mirror of this site reports.
struct ResyncError {
  ErrorStanding standing;
  /// This image is the one that this site has demoted, no copy made since; only
  /// read where MayBeStanding().
  bool demoted_incarnation = false;
};

/// What a resync's table is about. Nothing is owned.
struct ResyncSeen {
  const MirrorView& view;
  const SiteNameFn& site_name;
  SteadyDuration settle{0};
  Force force = Force::kNo;
  /// The journal has the volume, and the pool no image: `view` shows nothing.
  bool absent = false;
  /// How long ago a look has shown a living primary; nullopt: never.
  std::optional<SteadyDuration> since_primary{};
  std::optional<ResyncError> error{};  // nullopt: not read yet
  /// Of the rescue image; `view` is shown it, ShowMarked().
  std::optional<RescueRecord> rescue{};
  /// "pool/image".
  std::string spec{};
  /// Why rbd-mirror of this site is down, WhySilentHere().
  std::string sent_away{};
};

/// The peer is alive and primary, so that there is something to copy from; the
/// history is told of it.
bool LivingPrimary(const MirrorView& view, SteadyDuration settle);

/// The local rbd-mirror reports an error; the history is told when it does not.
bool ReportsError(const MirrorView& view);

/// The error may be one that does not pass by itself, as far as the reports
/// tell: whether this copy is broken depends on which incarnation it is.
bool MayBeStanding(const MirrorView& view, const ErrorStanding& standing,
                   SteadyDuration settle);

/// The rows of the table, from top to bottom.
absl::Span<const Rule<ResyncSeen>> ResyncTable();

/// What comes next, from one look; pure. An answer with OK is "not ready": it
/// has begun and will end by itself.
Next DecideResync(const ResyncSeen& seen);

}  // namespace addons

#endif  // ADDONS_REPLICATION_DECIDE_RESYNC_H_
