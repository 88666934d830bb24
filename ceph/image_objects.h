#ifndef ADDONS_CEPH_IMAGE_OBJECTS_H_
#define ADDONS_CEPH_IMAGE_OBJECTS_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace addons {

// The names of the objects that librbd keeps of an image, beside its data, in
// the pool and namespace of the image (the layout of format 2).

/// The object that has the internal id of the image with this name.
inline std::string IdObject(absl::string_view image_name) {
  return absl::StrCat("rbd_id.", image_name);
}

/// The object with the size, features, snapshots and metadata of the image with
/// this internal id. Who has the image open for writing watches it.
inline std::string HeaderObject(absl::string_view image_id) {
  return absl::StrCat("rbd_header.", image_id);
}

inline constexpr char kMetadataPrefix[] = "metadata_";

/// The lock of that object that librbd's exclusive lock is, and `rbd lock add`.
inline constexpr char kImageLockName[] = "rbd_lock";

/// The key of that object that has the image's metadata of this key.
inline std::string MetadataKey(absl::string_view key) {
  return absl::StrCat(kMetadataPrefix, key);
}

/// In that object: how many snapshots the image may have.
inline constexpr char kSnapshotLimitKey[] = "snap_limit";

}  // namespace addons

#endif  // ADDONS_CEPH_IMAGE_OBJECTS_H_
