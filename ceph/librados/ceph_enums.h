#ifndef ADDONS_CEPH_LIBRADOS_CEPH_ENUMS_H_
#define ADDONS_CEPH_LIBRADOS_CEPH_ENUMS_H_

#include <cstdint>

#include "ceph/image.h"
#include "ceph/mirror.h"

namespace addons {

// Between librbd's numbers and ours. They are taken as int because a newer
// cluster may send values that the C enums of this build do not have.

PoolMirrorMode ToPoolMirrorMode(int rbd_mirror_mode);
MirrorMode ToMirrorMode(int rbd_mirror_image_mode);
MirrorImageState ToMirrorImageState(int rbd_mirror_image_state);
MirrorStatusState ToMirrorStatusState(int rbd_mirror_image_status_state);
MirrorSnapshotKind ToMirrorSnapshotKind(int rbd_snap_mirror_state);
/// Of a kind that is known.
int FromMirrorSnapshotKind(MirrorSnapshotKind kind);
SnapshotKind ToSnapshotKind(int rbd_snap_namespace_type);
/// Of RBD_FEATURE_* and RBD_FLAG_*.
ImageFeatures ToImageFeatures(uint64_t features, uint64_t flags);

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_CEPH_ENUMS_H_
