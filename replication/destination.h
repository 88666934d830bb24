#ifndef ADDONS_REPLICATION_DESTINATION_H_
#define ADDONS_REPLICATION_DESTINATION_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "replication/environment.h"

namespace addons {

/// Finds out under which id the peer site knows a volume or volume group: by
/// replicationDestination of config.json, else by cluster-mapping.json, else it
/// is the same id. Mirroring need not be enabled. While this call fails the
/// operator repeats Enable and Promote, so names of pools are remembered and an
/// ill cluster does not matter once its pool was seen. Thread-safe.
class DestinationFinder {
 public:
  /// Not owned.
  explicit DestinationFinder(ReplicationEnvironment& environment)
      : environment_(environment) {}

  /// The destination id. NOT_FOUND: no such volume. FAILED_PRECONDITION: the
  /// configuration is contradictory; the message names the key. UNAVAILABLE:
  /// the cluster does not answer and the configuration alone does not tell.
  absl::StatusOr<std::string> Find(const VolumeTarget& target,
                                   SteadyTime deadline);
  /// The destination id of a volume group that was found on this site. Errors
  /// of Find() that are about the configuration.
  absl::StatusOr<std::string> IdOfGroup(const ResolvedGroup& group);

 private:
  absl::StatusOr<std::string> Compose(const ClusterConfig& config, VolumeId id,
                                      const std::string& source,
                                      const ClusterId& cluster_id,
                                      int64_t pool_id,
                                      const std::string* pool_name) const;
  const std::string* RememberedPool(const ClusterId& cluster_id,
                                    int64_t pool_id, std::string* storage);

  ReplicationEnvironment& environment_;
  Mutex mutex_;
  std::map<std::pair<ClusterId, int64_t>, std::string> pool_names_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_DESTINATION_H_
