#ifndef ADDONS_POINTS_WHOLE_POINT_H_
#define ADDONS_POINTS_WHOLE_POINT_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "operation/operation_context.h"
#include "points/content.h"
#include "points/record.h"
#include "replication/look/point.h"
#include "replication/session.h"

namespace addons {

// What reads a point needs before it reads: the image of this site, the record
// of the point, and the proof that all of the point is here.

/// An image of this site, and what it is.
struct SeenImage {
  std::string action;  // "verify a point of", for messages
  OpenedVolume opened;
  MirrorView view;

  /// "Failed to <action> image ...: <reason>".
  absl::Status Refuse(absl::StatusCode code, absl::string_view reason) const {
    return FailedTo(action, opened.volume, code, reason);
  }
};

/// Looks at the image without opening it. `access`: what follows from that is
/// changed on the cluster where it was found. FAILED_PRECONDITION: its
/// replication is off. Errors of OpenVolume() and LookWithoutOpening().
absl::StatusOr<SeenImage> SeeImage(OperationContext& context,
                                   ReplicationEnvironment& environment,
                                   const VolumeTarget& target,
                                   std::string action,
                                   Access access = Access::kRead);

/// The metadata under kPointRecordKey of the image with this id.
absl::StatusOr<std::map<std::string, std::string>> ReadPointMetadata(
    Pool& reads, const std::string& image_id);

/// The image's content at a snapshot of it. FAILED_PRECONDITION: it was a clone
/// then, or no record can describe it.
absl::StatusOr<ContentSource> SourceAt(const SeenImage& seen, uint64_t snapshot,
                                       uint64_t bytes_per_second);

/// While a snapshot is removed its objects read as others: what is there now,
/// after it was read. UNAVAILABLE: it is not the same one any more.
absl::StatusOr<SeenImage> StillThere(OperationContext& context,
                                     ReplicationEnvironment& environment,
                                     const VolumeTarget& target,
                                     const SeenImage& before,
                                     const Point& point);

/// A point that is whole on this site, with its record.
struct WholePoint {
  SeenImage seen;
  RecordReader record;
  Point point;
  ContentSource source;
};

/// The point of the image's record. `name`: only that one; empty: whichever it
/// is. Errors are those of ProvePoint() before it reads.
absl::StatusOr<WholePoint> FindWholePoint(OperationContext& context,
                                          ReplicationEnvironment& environment,
                                          const VolumeTarget& target,
                                          std::string action,
                                          const std::string& name,
                                          uint64_t bytes_per_second);

}  // namespace addons

#endif  // ADDONS_POINTS_WHOLE_POINT_H_
