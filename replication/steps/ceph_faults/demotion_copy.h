#ifndef ADDONS_REPLICATION_STEPS_CEPH_FAULTS_DEMOTION_COPY_H_
#define ADDONS_REPLICATION_STEPS_CEPH_FAULTS_DEMOTION_COPY_H_

#include "replication/look/mirror_view.h"
#include "volume/resolved.h"

namespace addons {

/// An rbd-mirror that begins anew in the middle of the copy of a demotion does
/// not go on with it: it takes the half copy for a demotion of this site's own,
/// says "remote image is not primary", and the move waits for ever (16.2.15;
/// 20.2.4 goes on). With the copy of an ordinary snapshot it does go on.
///
/// So the half copy is made one of an ordinary snapshot where nobody has the
/// image open; complete, it is made the copy of a demotion again, while
/// rbd-mirror still finds the peer's image not primary. In between it is what
/// it was: incomplete, so that a forced promotion knows, or complete with the
/// right content.
///
/// Does the one or the other to the newest snapshot of `view`, as the rows
/// "demotion-to-resume" of DecidePromote() have judged. Takes no lease: nothing
/// is changed unless the snapshot is still what was seen. A failure is logged
/// only; the next look asks again. Blocks for some reads and two writes.
void ResumeDemotionCopy(const ResolvedVolume& volume, const MirrorView& view);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_CEPH_FAULTS_DEMOTION_COPY_H_
