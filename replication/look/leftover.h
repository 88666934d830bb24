#ifndef ADDONS_REPLICATION_LOOK_LEFTOVER_H_
#define ADDONS_REPLICATION_LOOK_LEFTOVER_H_

#include "replication/look/mirror_view.h"

namespace addons {

// What a daemon that dies in the middle of enable or disable leaves behind, and
// what rbd-mirror does.

/// An enable died between its first and its last step: the image stays
/// "creating" although nobody creates it. Never true of an image that
/// rbd-mirror is making as the copy of a peer's: that one carries the mark of a
/// secondary, or has been reported on.
bool HalfEnabled(const MirrorView& view);

/// It is not mirrored, and has the mark of a copy all the same: what was
/// restored from the trash of rbd-mirror, which the removal of its primary has
/// filled (rbd_mirroring_delete_delay; 16.2.15,
/// findings/copy-from-the-trash-is-read-only.sh).
bool LeftCopy(const MirrorView& view);
inline constexpr char kLeftCopyText[] =
    "the image has the mark of another site's copy and is not mirrored any "
    "more, as what was restored from the trash: it takes no write, and Ceph "
    "does not mirror it again; `rbd cp` makes an image that does both";

/// Why a verb cannot go on with an image that is "disabling", and the way out:
/// a disable that died leaves it so for ever.
inline constexpr char kDisablingText[] =
    "replication is being disabled; if that does not end, it was interrupted: "
    "disable it once more (DisableVolumeReplication, or `rbd mirror image "
    "disable` of this image)";

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_LEFTOVER_H_
