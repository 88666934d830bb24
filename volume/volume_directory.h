#ifndef ADDONS_VOLUME_VOLUME_DIRECTORY_H_
#define ADDONS_VOLUME_VOLUME_DIRECTORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/image_name.h"
#include "volume/volume_journal.h"

namespace addons {

class Pool;

/// ceph-csi's directory of volumes in one pool and namespace: the object
/// csi.volumes.<instance id>, which leads from the name of a PersistentVolume
/// to the uuid of the volume. Threads and blocking as Pool.
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
  /// The values of all entries by request name: in this pool the uuid alone.
  /// One read for each few hundred of them.
  absl::StatusOr<std::map<std::string, std::string>> ReadAll();

  // These need a mutation pool.
  /// Lets the name lead to `uuid`, whose image is in this pool, and makes the
  /// directory if need be. OK also when it does already. false: it leads
  /// elsewhere, which stays so.
  absl::StatusOr<bool> Reserve(const std::string& request_name,
                               const std::string& uuid);
  /// Frees the name if it leads to `uuid`.
  absl::Status Release(const std::string& request_name,
                       const std::string& uuid);

 private:
  Pool& pool_;
  const std::string object_;
};

/// What an image's name ends with when ceph-csi has made it for a volume;
/// empty: it has not. The journal is not asked.
std::string UuidIn(const ImageName& image);

/// An entry of the journal that names an image.
struct EntryOfImage {
  std::string uuid;
  VolumeAttributes attributes;
};
/// That of the volume that has the image of this name: ceph-csi ends the name
/// with its uuid. NOT_FOUND: the journal of this pool has no such entry.
absl::StatusOr<EntryOfImage> FindEntryOfImage(Pool& pool,
                                              const ImageName& image);

}  // namespace addons

#endif  // ADDONS_VOLUME_VOLUME_DIRECTORY_H_
