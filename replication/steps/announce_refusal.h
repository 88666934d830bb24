#ifndef ADDONS_REPLICATION_STEPS_ANNOUNCE_REFUSAL_H_
#define ADDONS_REPLICATION_STEPS_ANNOUNCE_REFUSAL_H_

#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "replication/environment.h"
#include "replication/look/mirror_view.h"
#include "replication/session.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"

namespace addons {

/// AnnounceRefusal() would change nothing: the other site knows of `workload`.
/// `now` is the wall clock's.
bool RefusalIsTold(const MirrorView& view, const std::string& workload,
                   WallTime now);

/// Tells the other site that `workload` keeps the image, which is primary, from
/// being demoted, as `refusal` says: writes a note into its metadata and, in
/// snapshot mode, takes the mirror snapshot that it travels with. Changes
/// nothing when a note of the last minutes names the same workload and has
/// travelled, or when the image is not primary any more.
///
/// Where the manager may be making a mirror snapshot just now, none is taken. A
/// first note of an image that has a schedule of a minute or two is written all
/// the same, and travels with the manager's next one; a later call sees whether
/// it has. Otherwise that moment is waited for, 40 s at most, while somebody
/// waits for the refusal: as `waits` says, SaysLookAgain() then.
absl::Status AnnounceRefusal(Session& session, const std::string& workload,
                             const absl::Status& refusal, TurnWaits waits);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_ANNOUNCE_REFUSAL_H_
