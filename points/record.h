#ifndef ADDONS_POINTS_RECORD_H_
#define ADDONS_POINTS_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/image.h"
#include "ceph/mirror.h"
#include "points/object_sum.h"
#include "replication/look/point.h"

namespace addons {

// What a point held, as the metadata of its image tells it at the other site:
// the digest of each object, and where it is zero. An image has one record, of
// its newest point: a header under kPointRecordKey, and parts under keys that
// begin with it.

/// How an image lies in objects at a point.
struct PointShape {
  uint64_t bytes = 0;
  uint64_t object_bytes = 0;
  uint64_t stripe_unit = 0;
  uint64_t stripe_count = 1;

  /// INVALID_ARGUMENT: a record cannot describe it.
  static absl::StatusOr<PointShape> Of(const ImageLayout& layout);
  uint64_t objects() const;
  /// How much of an object belongs to the image.
  uint64_t ExtentOf(uint64_t object) const;
  friend bool operator==(const PointShape&, const PointShape&) = default;
};

/// What one is about.
struct PointHeader {
  std::string point;      // its name
  uint64_t snapshot = 0;  // its id where it was made
  std::string global_id;  // of the image, the same on all sites
  std::string site;       // the mirror uuid of the pool where it was made
  int64_t made = 0;       // unix seconds, by the daemon that read it
  PointShape shape;

  /// It tells what that point, of the image of this site that `info` is about,
  /// held. The ids of snapshots are the same where they were made.
  bool IsOf(const Point& of, const MirrorImageInfo& info) const;
};

/// The size of the parts of a record together, at most: each look at the image
/// reads its metadata.
inline constexpr size_t kMostRecordBytes = size_t{256} * 1024;
/// So many objects share a digest at most, before the map gives up sectors.
inline constexpr uint64_t kGroupBeforeSectors = 16;

/// Takes the objects in ascending order, and makes the metadata of a record.
/// Memory: eight bytes an object that has data, and kMostRecordBytes twice.
class RecordWriter {
 public:
  explicit RecordWriter(PointHeader header, size_t most = kMostRecordBytes);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  /// RESOURCE_EXHAUSTED: the map alone is too large, so that the rest need not
  /// be read.
  absl::Status Add(const ObjectSum& sum);
  /// By key; all under kPointRecordKey. Where it would be larger than `most`:
  /// one digest for 2, 4 ... kGroupBeforeSectors objects, then the map without
  /// sectors, then one digest for more. RESOURCE_EXHAUSTED: as above.
  absl::StatusOr<std::map<std::string, std::string>> Finish();

 private:
  class Compressor;
  const PointHeader header_;
  const size_t most_;
  std::string present_;  // a bit for each object that has data
  uint64_t objects_ = 0;
  std::vector<uint64_t> digests_;
  std::unique_ptr<Compressor> sectors_;  // null: it is too large
  std::unique_ptr<Compressor> blocks_;
};

/// Gives back what a RecordWriter was told, in the same order.
class RecordReader {
 public:
  /// `metadata` is the image's. NOT_FOUND: there is no record. DATA_LOSS: it is
  /// damaged, a part is missing, or it names no point. UNIMPLEMENTED: a newer
  /// version wrote it.
  static absl::StatusOr<RecordReader> Open(
      const std::map<std::string, std::string>& metadata);
  ~RecordReader();
  RecordReader(RecordReader&&) noexcept;
  RecordReader& operator=(RecordReader&&) noexcept;

  const PointHeader& header() const { return header_; }
  /// So many objects that have data share a digest.
  uint64_t group() const { return group_; }
  uint64_t with_data() const { return with_data_; }
  /// The map tells sectors, and not only whole blocks.
  bool sectors() const { return sectors_; }

  /// Of the next object: ObjectSum::zeros, empty where it is all zeros.
  absl::StatusOr<std::string> NextZeros();
  /// Of the `index`-th group of objects that have data.
  uint64_t DigestOf(uint64_t index) const;

 private:
  class Decompressor;
  RecordReader();

  PointHeader header_;
  uint64_t group_ = 1;
  uint64_t with_data_ = 0;
  bool sectors_ = true;
  uint64_t next_ = 0;  // object
  std::string present_;
  std::string digests_;
  std::unique_ptr<Decompressor> zeros_;
};

}  // namespace addons

#endif  // ADDONS_POINTS_RECORD_H_
