#ifndef ADDONS_VOLUME_VOLUME_DIRECTORY_H_
#define ADDONS_VOLUME_VOLUME_DIRECTORY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/image_name.h"

namespace addons {

class Pool;

/// ceph-csi's directory of volumes in one pool and namespace: the object
/// csi.volumes.<instance id>, which leads from the name of a PersistentVolume
/// to the uuid of the volume. Read only. Threads and blocking as Pool.
class VolumeDirectory {
 public:
  struct Entry {
    std::string uuid;
    std::optional<int64_t> pool_id;  // of the image; nullopt: this pool
  };

  /// `pool` is not owned. `instance_id` is the driver's --instanceid.
  VolumeDirectory(Pool& pool, const std::string& instance_id)
      : pool_(pool), object_(ObjectOf(instance_id)) {}

  /// What the object is called.
  static std::string ObjectOf(const std::string& instance_id) {
    return "csi.volumes." + instance_id;
  }

  /// nullopt: no volume has this name. DATA_LOSS: its entry is broken.
  absl::StatusOr<std::optional<Entry>> Find(const std::string& request_name);

 private:
  Pool& pool_;
  const std::string object_;
};

/// The uuid of the volume that has the image of this name: ceph-csi ends the
/// name with it, and the journal's entry of that uuid names the image.
/// NOT_FOUND: the journal of this pool has no such entry.
absl::StatusOr<std::string> UuidOfImage(Pool& pool, const ImageName& image);

}  // namespace addons

#endif  // ADDONS_VOLUME_VOLUME_DIRECTORY_H_
