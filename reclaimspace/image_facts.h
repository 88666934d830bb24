#ifndef ADDONS_RECLAIMSPACE_IMAGE_FACTS_H_
#define ADDONS_RECLAIMSPACE_IMAGE_FACTS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/image_name.h"
#include "ceph/cluster.h"
#include "ceph/image.h"
#include "ceph/pool.h"

namespace addons {

/// Where the data of an image lies.
struct DataPool {
  bool erasure_coded = false;
  /// The release of an OSD that needs seconds there for each object of zeros;
  /// empty: none does.
  std::string slow_release;
};

/// What decides whether an image may be sparsified, read in one look.
struct ImageFacts {
  std::string image_id;
  ImageSize size;
  ImageFeatures features;
  bool secondary = false;  // mirrored, and not primary here
  std::vector<ImageSnapshot> snapshots;
  /// Watchers that are neither this process nor rbd-mirror.
  std::vector<Watcher> workloads;
  /// Owners of locks that are not this process.
  std::vector<Locker> lockers;
  /// The clients of the daemon that sparsifies this image, or was killed while
  /// it did.
  std::set<uint64_t> sparsifiers;
  int64_t data_pool_id = -1;  // where its data is
  DataPool data_pool;
};

/// Reads them, but ImageFacts::data_pool: where librbd keeps them, five reads.
/// An image that is mirrored, or marked as a secondary, and one of which
/// something is not understood, is opened read-only to learn what it is.
/// NOT_FOUND: no such image. UNAVAILABLE also: it vanished meanwhile. Otherwise
/// errors of Pool::OpenImageReadOnly() and of the reads.
absl::StatusOr<ImageFacts> ReadFacts(Cluster& cluster, Pool& pool,
                                     const ImageName& name);

/// ImageFacts::data_pool of an image in `pool`. Of one with a data pool of its
/// own the monitors are asked what that is. Errors of ReadReleases().
absl::StatusOr<DataPool> ReadDataPool(Cluster& cluster, const Pool& pool,
                                      const ImageFacts& facts);

/// The image metadata under which a daemon writes who it is while it
/// sparsifies. The leading dot keeps it on this site.
inline constexpr char kSparsifierKey[] = ".rbd.addons/sparsify";
/// Its value for this process.
std::string SparsifierMark(Cluster& cluster);

}  // namespace addons

#endif  // ADDONS_RECLAIMSPACE_IMAGE_FACTS_H_
