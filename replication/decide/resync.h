#ifndef ADDONS_REPLICATION_DECIDE_RESYNC_H_
#define ADDONS_REPLICATION_DECIDE_RESYNC_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "ceph/image.h"
#include "replication/look/mirror_view.h"

namespace addons {

/// What a resync does.
enum class ResyncAction {
  kRefuse,        // with the code of the decision
  kAwaitReports,  // of now: look again, and refuse when they do not come
  kNotReady,      // it has begun and will end by itself
  kReady,         // this copy is in step
  kAskError,      // decide again with what is known of the error
  kRequest,       // delete this copy and have it copied anew
};

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

/// What a decision rests on. Nothing is owned.
struct ResyncEvidence {
  /// nullptr: the journal has the volume, and the pool no image.
  const MirrorView* view = nullptr;
  Force force = Force::kNo;
  /// How long ago a look has shown a living primary; nullopt: never.
  std::optional<SteadyDuration> since_primary{};
  std::optional<ResyncError> error{};
  /// "pool/image".
  std::string spec{};
};

struct ResyncDecision {
  ResyncAction action = ResyncAction::kRefuse;
  /// Of its answer; OK of what goes on.
  absl::StatusCode code = absl::StatusCode::kUnavailable;
  /// For a person: what is seen, what is missing, what to do.
  std::string reason;
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

/// Decides from one look; a pure function. `site_name` gives a peer's name.
ResyncDecision DecideResync(const ResyncEvidence& seen, SteadyDuration settle,
                            const SiteNameFn& site_name);

}  // namespace addons

#endif  // ADDONS_REPLICATION_DECIDE_RESYNC_H_
