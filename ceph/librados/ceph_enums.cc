#include "ceph/librados/ceph_enums.h"

#include <rbd/librbd.h>

namespace addons {
namespace {

// librbd hands out cls_rbd's MIRROR_IMAGE_STATE_CREATING, which its header does
// not name: a non-primary image that rbd-mirror is making.
constexpr int kRbdMirrorImageCreating = 3;

// The numbers are part of librbd's ABI; ours must be read with the same ones.
static_assert(RBD_MIRROR_MODE_DISABLED == 0 && RBD_MIRROR_MODE_IMAGE == 1 &&
              RBD_MIRROR_MODE_POOL == 2);
static_assert(RBD_MIRROR_IMAGE_MODE_JOURNAL == 0 &&
              RBD_MIRROR_IMAGE_MODE_SNAPSHOT == 1);
static_assert(RBD_MIRROR_IMAGE_DISABLING == 0 &&
              RBD_MIRROR_IMAGE_ENABLED == 1 && RBD_MIRROR_IMAGE_DISABLED == 2);
static_assert(MIRROR_IMAGE_STATUS_STATE_UNKNOWN == 0 &&
              MIRROR_IMAGE_STATUS_STATE_ERROR == 1 &&
              MIRROR_IMAGE_STATUS_STATE_SYNCING == 2 &&
              MIRROR_IMAGE_STATUS_STATE_STARTING_REPLAY == 3 &&
              MIRROR_IMAGE_STATUS_STATE_REPLAYING == 4 &&
              MIRROR_IMAGE_STATUS_STATE_STOPPING_REPLAY == 5 &&
              MIRROR_IMAGE_STATUS_STATE_STOPPED == 6);
static_assert(RBD_SNAP_MIRROR_STATE_PRIMARY == 0 &&
              RBD_SNAP_MIRROR_STATE_PRIMARY_DEMOTED == 1 &&
              RBD_SNAP_MIRROR_STATE_NON_PRIMARY == 2 &&
              RBD_SNAP_MIRROR_STATE_NON_PRIMARY_DEMOTED == 3);

}  // namespace

PoolMirrorMode ToPoolMirrorMode(int rbd_mirror_mode) {
  switch (rbd_mirror_mode) {
    case RBD_MIRROR_MODE_DISABLED:
      return PoolMirrorMode::kDisabled;
    case RBD_MIRROR_MODE_IMAGE:
      return PoolMirrorMode::kImage;
    case RBD_MIRROR_MODE_POOL:
      return PoolMirrorMode::kPool;
    default:
      return PoolMirrorMode::kUnknown;
  }
}

MirrorMode ToMirrorMode(int rbd_mirror_image_mode) {
  switch (rbd_mirror_image_mode) {
    case RBD_MIRROR_IMAGE_MODE_JOURNAL:
      return MirrorMode::kJournal;
    case RBD_MIRROR_IMAGE_MODE_SNAPSHOT:
      return MirrorMode::kSnapshot;
    default:
      return MirrorMode::kUnknown;
  }
}

MirrorImageState ToMirrorImageState(int rbd_mirror_image_state) {
  switch (rbd_mirror_image_state) {
    case RBD_MIRROR_IMAGE_DISABLING:
      return MirrorImageState::kDisabling;
    case RBD_MIRROR_IMAGE_ENABLED:
      return MirrorImageState::kEnabled;
    case RBD_MIRROR_IMAGE_DISABLED:
      return MirrorImageState::kDisabled;
    case kRbdMirrorImageCreating:
      return MirrorImageState::kCreating;
    default:
      return MirrorImageState::kUnknown;
  }
}

MirrorStatusState ToMirrorStatusState(int rbd_mirror_image_status_state) {
  switch (rbd_mirror_image_status_state) {
    case MIRROR_IMAGE_STATUS_STATE_ERROR:
      return MirrorStatusState::kError;
    case MIRROR_IMAGE_STATUS_STATE_SYNCING:
      return MirrorStatusState::kSyncing;
    case MIRROR_IMAGE_STATUS_STATE_STARTING_REPLAY:
      return MirrorStatusState::kStartingReplay;
    case MIRROR_IMAGE_STATUS_STATE_REPLAYING:
      return MirrorStatusState::kReplaying;
    case MIRROR_IMAGE_STATUS_STATE_STOPPING_REPLAY:
      return MirrorStatusState::kStoppingReplay;
    case MIRROR_IMAGE_STATUS_STATE_STOPPED:
      return MirrorStatusState::kStopped;
    case MIRROR_IMAGE_STATUS_STATE_UNKNOWN:
      return MirrorStatusState::kUnknown;
    default:
      return MirrorStatusState::kUnrecognized;
  }
}

MirrorSnapshotKind ToMirrorSnapshotKind(int rbd_snap_mirror_state) {
  switch (rbd_snap_mirror_state) {
    case RBD_SNAP_MIRROR_STATE_PRIMARY:
      return MirrorSnapshotKind::kPrimary;
    case RBD_SNAP_MIRROR_STATE_PRIMARY_DEMOTED:
      return MirrorSnapshotKind::kPrimaryDemoted;
    case RBD_SNAP_MIRROR_STATE_NON_PRIMARY:
      return MirrorSnapshotKind::kNonPrimary;
    case RBD_SNAP_MIRROR_STATE_NON_PRIMARY_DEMOTED:
      return MirrorSnapshotKind::kNonPrimaryDemoted;
    default:
      return MirrorSnapshotKind::kUnknown;
  }
}

int FromMirrorSnapshotKind(MirrorSnapshotKind kind) {
  switch (kind) {
    case MirrorSnapshotKind::kPrimary:
      return RBD_SNAP_MIRROR_STATE_PRIMARY;
    case MirrorSnapshotKind::kPrimaryDemoted:
      return RBD_SNAP_MIRROR_STATE_PRIMARY_DEMOTED;
    case MirrorSnapshotKind::kNonPrimary:
      return RBD_SNAP_MIRROR_STATE_NON_PRIMARY;
    case MirrorSnapshotKind::kNonPrimaryDemoted:
      return RBD_SNAP_MIRROR_STATE_NON_PRIMARY_DEMOTED;
    case MirrorSnapshotKind::kUnknown:
      break;
  }
  return -1;
}

SnapshotKind ToSnapshotKind(int rbd_snap_namespace_type) {
  switch (rbd_snap_namespace_type) {
    case RBD_SNAP_NAMESPACE_TYPE_USER:
      return SnapshotKind::kUser;
    case RBD_SNAP_NAMESPACE_TYPE_GROUP:
      return SnapshotKind::kGroup;
    case RBD_SNAP_NAMESPACE_TYPE_TRASH:
      return SnapshotKind::kTrash;
    case RBD_SNAP_NAMESPACE_TYPE_MIRROR:
      return SnapshotKind::kMirror;
    default:
      return SnapshotKind::kUnknown;
  }
}

ImageFeatures ToImageFeatures(uint64_t features, uint64_t flags) {
  // The object map or its fast-diff is not to be trusted.
  constexpr uint64_t kInvalid =
      RBD_FLAG_OBJECT_MAP_INVALID | RBD_FLAG_FAST_DIFF_INVALID;
  ImageFeatures read;
  read.exclusive_lock = (features & RBD_FEATURE_EXCLUSIVE_LOCK) != 0;
  read.fast_diff =
      (features & RBD_FEATURE_FAST_DIFF) != 0 && (flags & kInvalid) == 0;
  read.migrating = (features & RBD_FEATURE_MIGRATING) != 0;
  return read;
}

}  // namespace addons
