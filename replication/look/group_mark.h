#ifndef ADDONS_REPLICATION_LOOK_GROUP_MARK_H_
#define ADDONS_REPLICATION_LOOK_GROUP_MARK_H_

#include "replication/look/mirror_view.h"
#include "volume/resolver.h"

namespace addons {

/// Metadata of an image whose mirroring was switched on for the volume group
/// that it is in: it ends when the volume leaves the group. Without it the
/// mirroring is the volume's own. Written before mirroring is switched on,
/// removed after it is off; it arrives on the peer site with the first mirror
/// snapshot. The value is the uuid of the volume, because clones inherit
/// metadata.
inline constexpr char kGroupMark[] = "rbd-addons.mirrored-for-group";

inline bool HasGroupMark(const MirrorView& view) {
  return view.marks.contains(kGroupMark);
}

/// Whether the mark counts for this volume.
inline bool MirroredForGroup(const MirrorView& view,
                             const ResolvedVolume& volume) {
  const auto mark = view.marks.find(kGroupMark);
  return mark != view.marks.end() && mark->second == volume.uuid;
}

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_GROUP_MARK_H_
