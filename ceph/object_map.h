#ifndef ADDONS_CEPH_OBJECT_MAP_H_
#define ADDONS_CEPH_OBJECT_MAP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ceph/pool.h"

namespace addons {

// What librbd notes of the objects of an image with the feature object-map, for
// the image as it is now and for each of its snapshots. rbd-mirror copies no
// object that these maps call unchanged.

/// In the order of the numbers that librbd writes.
enum class ObjectState : uint8_t {
  kNonexistent = 0,
  kExists = 1,       // and was changed since the snapshot before
  kPending = 2,      // it is being removed
  kExistsClean = 3,  // as in the snapshot before
};

/// The map of one state of an image.
class ObjectMap {
 public:
  ObjectMap() = default;
  /// `packed` has two bits for each of so many objects.
  ObjectMap(uint64_t objects, std::string packed)
      : objects_(objects), packed_(std::move(packed)) {}

  uint64_t objects() const { return objects_; }
  /// kNonexistent beyond the last one.
  ObjectState At(uint64_t object) const;

 private:
  uint64_t objects_ = 0;
  std::string packed_;
};

/// The name of the object with the map of a snapshot, or of the image as it is
/// now (kHead). It lies in the pool of the image, not of its data.
std::string ObjectMapObject(absl::string_view image_id, uint64_t snapshot);

/// A map as librbd writes it up to Ceph 20, and back. Its checksums are left
/// out, and not looked at. INTERNAL: it is written in another way.
std::string EncodeObjectMap(const std::vector<ObjectState>& states);
absl::StatusOr<ObjectMap> DecodeObjectMap(absl::string_view bytes);

/// The map of a snapshot of the image with `image_id`, or of the image as it is
/// now (kHead), which has `objects` objects; nullopt: there is none. One read.
/// Blocking and errors as Pool::ReadObject(). INTERNAL: as DecodeObjectMap().
absl::StatusOr<std::optional<ObjectMap>> ReadObjectMap(
    Pool& pool, const std::string& image_id, uint64_t snapshot,
    uint64_t objects);

/// Whether a copy takes the object for unchanged between two states: `maps` are
/// those of the earlier one, of all snapshots between, and of the later one.
bool CalledUnchanged(const std::vector<ObjectMap>& maps, uint64_t object);

}  // namespace addons

#endif  // ADDONS_CEPH_OBJECT_MAP_H_
