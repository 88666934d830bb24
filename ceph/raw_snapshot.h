#ifndef ADDONS_CEPH_RAW_SNAPSHOT_H_
#define ADDONS_CEPH_RAW_SNAPSHOT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ceph/image.h"
#include "ceph/image_copy.h"
#include "ceph/pool.h"

namespace addons {

/// What object `number` of an image held at a snapshot; nullopt: it was not
/// there, which is asked for twice, because it stands for zeros. `data` is the
/// pool and namespace of the image's data. Where the snapshot is being removed
/// this is wrong: see afterwards that it is there. UNAVAILABLE: the OSD lists
/// the object and does not read it. Blocks for two reads at most.
absl::StatusOr<std::optional<std::string>> ReadObjectAt(
    Pool& data, const ImageLayout& layout, uint64_t number,
    uint64_t snapshot_id);

/// What an image without a parent held at a snapshot, as the OSDs have it.
/// librbd goes by the object map of the snapshot, which is wrong on a copy
/// where a snapshot of a user arrived (16.2.15, 20.2.4). For one thread.
class RawSnapshot {
 public:
  /// What an object, by its number, held then; nullopt: it was not there.
  using ReadObjectFn =
      std::function<absl::StatusOr<std::optional<std::string>>(uint64_t)>;

  /// `layout` is as Image::Layout() tells it.
  RawSnapshot(ImageLayout layout, ReadObjectFn read_object);
  /// Of the objects in `data`, the pool and namespace of the image's data,
  /// which is not owned.
  RawSnapshot(const ImageLayout& layout, Pool& data, uint64_t snapshot_id);

  /// As Image::Read(). Ranges may be of any length. Blocks for one read of each
  /// object, and holds one object in memory besides what it returns. Where the
  /// snapshot is being removed this is wrong: see afterwards that it is there.
  absl::StatusOr<std::vector<ImageData>> Read(
      const std::vector<ImageRange>& ranges);

  /// Something that was read was there, maybe with zeros only.
  bool found() const { return found_; }

 private:
  absl::Status ReadObject(uint64_t number);

  const ImageLayout layout_;
  const ReadObjectFn read_object_;
  bool found_ = false;
  // The object that was read last; empty where it was not there.
  uint64_t number_ = UINT64_MAX;
  std::string bytes_;
};

/// Of `snapshot`, which is not owned.
ReadRangesFn Reading(RawSnapshot& snapshot);

}  // namespace addons

#endif  // ADDONS_CEPH_RAW_SNAPSHOT_H_
