#ifndef ADDONS_WATCH_TURNED_IMAGE_H_
#define ADDONS_WATCH_TURNED_IMAGE_H_

#include "base/clock.h"
#include "replication/look/mirror_view.h"
#include "replication/look/role_turn.h"
#include "watch/watch_snapshot.h"

namespace addons {

// What a call has changed, or has seen to be changed, is newer than the last
// look for some seconds, and than rbd-mirror's reports for up to a minute.
// Advice that rests on what was so before it can cost data: none of it is
// shown.

/// The image was looked at since `turn`, which `view` is, and rbd-mirror of
/// this site was not seen to have reported since.
void AddAwaitedReport(const RoleTurn& turn, const MirrorView& view,
                      SteadyTime now, WatchedImage* image);

/// What no report says, and the last call has seen, or a comparison.
void AddDamage(WatchedImage* image);

/// Leaves out of `image`, which is of `pool` and counted there, what a look
/// before `turn` has seen.
void LeaveOutLook(const RoleTurn& turn, WatchedPool* pool, WatchedImage* image);

/// Its role as the call has seen it.
WatchedRole RoleOf(const RoleTurn& turn);

}  // namespace addons

#endif  // ADDONS_WATCH_TURNED_IMAGE_H_
