#ifndef ADDONS_REPLICATION_STEPS_HALF_ENABLE_H_
#define ADDONS_REPLICATION_STEPS_HALF_ENABLE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "replication/look/mirror_view.h"
#include "replication/session.h"

namespace addons {

/// Whether an image that HalfEnabled() is said of in the look `seen` has been
/// so, unchanged, for a poll interval: an enable of a client without our lease
/// (`rbd mirror image enable`) looks the same for a moment. If not, waits that
/// long, and no longer: an rbd-mirror of this site takes an image that stays so
/// for a copy that failed, and removes it. false: look again now. Changes
/// nothing. Errors of OperationContext::LookAgainAfter().
absl::StatusOr<bool> StaysHalfEnabled(Session& session, const MirrorView& seen);

/// Takes an enable back that died in the middle, by force: no peer has a copy,
/// and there is nothing that it could copy. A mutation.
absl::Status ClearHalfEnable(Session& session);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_HALF_ENABLE_H_
