#ifndef ADDONS_REPLICATION_STEPS_HALF_DEMOTION_H_
#define ADDONS_REPLICATION_STEPS_HALF_DEMOTION_H_

#include <string>

#include "replication/look/mirror_view.h"
#include "replication/session.h"

namespace addons {

/// An rbd-mirror that begins anew in the middle of the copy of a demotion does
/// not go on with it: it takes the half copy for a demotion of this site's own,
/// says "remote image is not primary", and the move waits for ever (16.2.15;
/// 20.2.4 goes on). With the copy of an ordinary snapshot it does go on.
///
/// So the half copy is made one of an ordinary snapshot where rbd-mirror of
/// this site has said that since the copy began, and nobody has the image open;
/// whole, it is made the copy of a demotion again, while rbd-mirror still finds
/// the peer's image not primary. In between it is what it was: incomplete, so
/// that a forced promotion knows, or whole with the right content.
///
/// For a promotion that waits, at each look: has that done aside, where there
/// is something to do. Where nobody but people can help, appends to `reason`
/// how. `view` was read of an image that is not primary. Does not lease the
/// volume: nothing is changed unless the snapshot is still what was seen.
void SetHalfDemotionGoingAside(Session& session, const MirrorView& view,
                               std::string* reason);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_HALF_DEMOTION_H_
