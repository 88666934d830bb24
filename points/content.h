#ifndef ADDONS_POINTS_CONTENT_H_
#define ADDONS_POINTS_CONTENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/image.h"
#include "ceph/pool.h"
#include "operation/operation_context.h"
#include "points/record.h"

namespace addons {

/// How an image is read at a point.
struct ContentSource {
  /// A handle of the pool and namespace of the image's data. Called a few
  /// times.
  std::function<absl::StatusOr<std::unique_ptr<Pool>>()> open_data;
  ImageLayout layout;  // at the point
  PointShape shape;    // of that
  uint64_t snapshot = 0;
  /// So fast at most, on the average of a round; 0: as fast as it goes.
  uint64_t bytes_per_second = 0;
};

/// Reads all objects as the OSDs have them, and makes the metadata of the
/// record: RecordWriter. Blocks for hours, maybe; shows its progress in
/// objects, ends when nobody waits, and holds 24 MiB of data at a time. Whoever
/// calls it sees afterwards that the snapshot is there still.
absl::StatusOr<std::map<std::string, std::string>> DigestContent(
    OperationContext& context, const ContentSource& source,
    const PointHeader& header, uint64_t* bytes_read);

/// What differs of an object, or of several that share a digest.
struct DamagedObjects {
  uint64_t object = 0;  // the first one, by its number
  uint64_t count = 1;   // of those with data from there on
  uint64_t offset = 0;  // of the first one in the image
};

/// What a comparison has found.
struct Comparison {
  uint64_t objects = 0;
  uint64_t with_data = 0;             // where the point was made
  uint64_t bytes_read = 0;            // here
  uint64_t damaged = 0;               // objects, or groups of objects
  std::vector<DamagedObjects> first;  // kMostNamed at most
  /// Old data here where the point has zeros: whole sectors.
  uint64_t not_cleared_bytes = 0;
  /// The record tells zeros by sectors. Where it does not, old data in a part
  /// of a block look like damage.
  bool sectors = true;

  static constexpr size_t kMostNamed = 100;
};

/// Gets what an image holds, in no order, some MiB at a time; nothing of ranges
/// that are zeros. An error ends the reading with it.
using ContentSink = std::function<absl::Status(std::vector<ImageData> data)>;

/// Compares what is read with a record, which is used up. As DigestContent().
/// DATA_LOSS: the record turns out to be damaged. `sink`, where there is one,
/// gets what was read, with zeros where the record has them: where nothing is
/// damaged, that is what the point held.
absl::StatusOr<Comparison> CompareContent(OperationContext& context,
                                          const ContentSource& source,
                                          RecordReader* record,
                                          const ContentSink& sink = nullptr);

}  // namespace addons

#endif  // ADDONS_POINTS_CONTENT_H_
