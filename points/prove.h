#ifndef ADDONS_POINTS_PROVE_H_
#define ADDONS_POINTS_PROVE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "operation/operation_context.h"
#include "points/content.h"
#include "points/record.h"
#include "points/whole_point.h"
#include "replication/environment.h"
#include "replication/look/known_proofs.h"

namespace addons {

/// What a point of this site's primary held: for StoreRecord().
struct DigestedPoint {
  uint64_t snapshot = 0;
  uint64_t bytes_read = 0;
  std::map<std::string, std::string> record;
};

/// Reads a point of a primary, as DigestContent(). A read, without the lease:
/// nothing waits for it. FAILED_PRECONDITION: not primary, no such point, a
/// clone, or an image that no record describes. UNAVAILABLE: the point was
/// removed meanwhile.
absl::StatusOr<DigestedPoint> DigestPoint(OperationContext& context,
                                          ReplicationEnvironment& environment,
                                          const VolumeTarget& target,
                                          const std::string& name,
                                          uint64_t bytes_per_second);

/// What the image of this site holds, beside the record of its newest point.
struct Proof {
  PointHeader header;
  std::string image;     // of this site: POOL/[NAMESPACE/]IMAGE
  bool primary = false;  // of the image here
  Comparison found;
  /// Of a secondary: whether it could be kept in the pool (known_proofs.h), so
  /// that a promotion knows of damage.
  absl::Status kept;

  enum class Verdict {
    kWhole,       // each object holds what it held
    kNotCleared,  // likewise, but old data are where the point has zeros
    kUnclear,     // some differ, and the record does not tell how
    kDamaged,     // some differ
  };
  Verdict verdict() const;
};

/// Reads the point of the image's record on this site, compares it, and keeps
/// what it finds of a secondary. Without the lease. What it finds is about the
/// point, not about now. `name`: only of that point; empty: of the newest one
/// that is here with its record.
///
/// FAILED_PRECONDITION: replication is off, there is no record, it is of
/// another image, or it was made while another site was primary. UNAVAILABLE:
/// the point `name`, its record or all of it have not arrived yet, or it was
/// removed meanwhile. DATA_LOSS:
/// the record is damaged. UNIMPLEMENTED: a newer version wrote it.
absl::StatusOr<Proof> ProvePoint(OperationContext& context,
                                 ReplicationEnvironment& environment,
                                 const VolumeTarget& target,
                                 const std::string& name,
                                 uint64_t bytes_per_second);

/// The reading of ProvePoint(), of a point that was found, whose record is used
/// up. `sink` gets the content as the record says it, see CompareContent().
absl::StatusOr<Proof> ProveWholePoint(OperationContext& context,
                                      ReplicationEnvironment& environment,
                                      const VolumeTarget& target,
                                      WholePoint* whole,
                                      const ContentSink& sink = nullptr);

/// What it found, for people: "point x: whole, 3 objects with data compared".
std::string DescribeFound(const Proof& proof);

/// A point as this site has it.
struct ListedPoint {
  std::string name;
  uint64_t snapshot = 0;  // its id on this site
  bool recorded = false;  // the image's record is of it
  int64_t made = 0;       // of the record, unix seconds
};
struct SeenPoints {
  std::vector<ListedPoint> points;  // in the order in which they were made
  bool primary = false;
  std::string mirror_uuid;  // of the pool here
  /// Of a copy (IsCopy()): what was found last; without a name: nothing.
  KnownProof proof;
  bool copy = false;
};
/// FAILED_PRECONDITION: replication is off.
absl::StatusOr<SeenPoints> LookAtPoints(OperationContext& context,
                                        ReplicationEnvironment& environment,
                                        const VolumeTarget& target);

}  // namespace addons

#endif  // ADDONS_POINTS_PROVE_H_
