#ifndef ADDONS_REPLICATION_HALF_ENABLE_H_
#define ADDONS_REPLICATION_HALF_ENABLE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "replication/session.h"
#include "replication/state/mirror_view.h"

namespace addons {

/// Whether an image that HalfEnabled() was said of in the look `seen` is so
/// still, unchanged, after a poll interval: an enable of a client without our
/// lease (`rbd mirror image enable`) looks the same for a moment. Waits that
/// long, and no longer: an rbd-mirror of this site takes an image that stays so
/// for a copy that failed, and removes it. Changes nothing. CANCELLED: nobody
/// waits for it.
absl::StatusOr<bool> StaysHalfEnabled(Session& session, const MirrorView& seen);

/// Takes an enable back that died in the middle, by force: no peer has a copy,
/// and there is nothing that it could copy. A mutation.
absl::Status ClearHalfEnable(Session& session);

}  // namespace addons

#endif  // ADDONS_REPLICATION_HALF_ENABLE_H_
