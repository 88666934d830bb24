#ifndef ADDONS_REPLICATION_LOOK_LEFTOVER_H_
#define ADDONS_REPLICATION_LOOK_LEFTOVER_H_

#include "replication/look/mirror_view.h"

namespace addons {

// What a daemon that dies in the middle of enable or disable leaves behind.

/// An enable died between its first and its last step: the image stays
/// "creating" although nobody creates it. Never true of an image that
/// rbd-mirror is making as the copy of a peer's: that one carries the mark of a
/// secondary, or has been reported on.
bool HalfEnabled(const MirrorView& view);

/// Why a verb cannot go on with an image that is "disabling", and the way out:
/// a disable that died leaves it so for ever.
inline constexpr char kDisablingText[] =
    "replication is being disabled; if that does not end, it was interrupted: "
    "disable it once more (DisableVolumeReplication, or `rbd mirror image "
    "disable` of this image)";

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_LEFTOVER_H_
