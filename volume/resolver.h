#ifndef ADDONS_VOLUME_RESOLVER_H_
#define ADDONS_VOLUME_RESOLVER_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "ceph/cluster.h"
#include "volume/config_store.h"
#include "volume/group_journal.h"
#include "volume/volume_id.h"
#include "volume/volume_journal.h"

namespace addons {

/// Where something that has a handle is: nothing here is cached, every call
/// looks anew.
struct ResolvedPlace {
  std::string cluster_id;  // of config.json, after mapping
  int64_t pool_id = 0;     // after mapping
  std::string pool_name;
  std::string rados_namespace;
  std::string uuid;
  std::shared_ptr<Cluster> cluster;

  /// Opens the pool and namespace.
  absl::StatusOr<std::unique_ptr<Pool>> OpenPool(Access access) const;
  /// "pool/name" or "pool/namespace/name", as the rbd command writes it.
  std::string Spec(const std::string& name) const;
};

struct ResolvedVolume : ResolvedPlace {
  std::string volume_id;  // as the caller wrote it
  VolumeAttributes attributes;

  const std::string& image_name() const { return attributes.image_name; }
  /// "image 'pool/ns/csi-vol-...' (volume '0001-...')", for messages.
  std::string Describe() const;
};

struct ResolvedGroup : ResolvedPlace {
  std::string group_id;  // as the caller wrote it
  GroupAttributes attributes;

  /// Volume ids as the journal has them, sorted. On a peer site they may name
  /// the other site's clusters: Resolve() and OperationKey() map them.
  const std::vector<std::string>& members() const { return attributes.members; }
  /// "rbd group 'pool/ns/csi-vol-group-...' (volume group '0001-...')".
  std::string Describe() const;
  /// Makes the rbd group if there is none, on the mutation connection.
  absl::Status MakeRbdGroup() const;
};

/// How long a cluster may be silent.
struct ResolverTimes {
  /// Once another cluster has the volume, a silent one that goes before it is
  /// waited for this long.
  SteadyDuration grace = std::chrono::seconds(2);
  /// A cluster that did not answer is not asked again for this time, unless
  /// nobody else has the volume.
  SteadyDuration memory = std::chrono::seconds(30);
};

/// Finds volumes and volume groups through config.json, cluster-mapping.json
/// and the journal.
///
/// The cluster that the id names is asked together with those it is mapped to.
/// If it has the volume, it is used; if it answers "not here", refuses the user
/// or is not configured, the first mapped one that has it is used; if it does
/// not answer while a mapped one has the volume, the mapped one is used after a
/// short grace time. A cluster that did not answer is remembered (the negative
/// cache) and not waited for any more while another one has the volume; from
/// time to time it is asked in the background until it answers. So a dead site
/// never delays a living one. Writes nothing. Thread-safe.
class Resolver {
 public:
  /// Neither is owned.
  Resolver(ConfigStore& config, ClusterProvider& clusters,
           const ResolverTimes& times = {});
  /// Waits for the lookups still under way; their time is bounded by Ceph's own
  /// timeouts.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// The key of the operation table for a volume: cluster id after mapping,
  /// pool id, namespace, uuid. Asks no cluster. INVALID_ARGUMENT: not a volume
  /// id. NOT_FOUND: no configured cluster belongs to it. UNAVAILABLE: no usable
  /// configuration.
  absl::StatusOr<std::string> OperationKey(const std::string& volume_id);

  /// Blocks until found or `deadline` (of the real clock); when only one
  /// cluster comes into question, until that answers or Ceph's own timeouts are
  /// over.
  ///
  /// INVALID_ARGUMENT: not a volume id, or a snapshot's or a group's.
  /// NOT_FOUND: no configured cluster belongs to it, or all that do say that
  /// there is no such pool or journal entry, or that this user may not look.
  /// UNAUTHENTICATED: the cluster that the id names refuses the user, or all
  /// do. UNAVAILABLE: a cluster that could have it did not answer, or no usable
  /// configuration.
  absl::StatusOr<ResolvedVolume> Resolve(const std::string& volume_id,
                                         const CephUser& user,
                                         SteadyTime deadline);

  /// OperationKey() for a volume group.
  absl::StatusOr<std::string> GroupOperationKey(const std::string& group_id);

  /// Resolve() for a volume group: its members, and where it is. NOT_FOUND also
  /// on a peer site, until the journal there has the group.
  absl::StatusOr<ResolvedGroup> ResolveGroup(const std::string& group_id,
                                             const CephUser& user,
                                             SteadyTime deadline);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace addons

#endif  // ADDONS_VOLUME_RESOLVER_H_
