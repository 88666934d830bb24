#ifndef ADDONS_VOLUME_RESOLVER_H_
#define ADDONS_VOLUME_RESOLVER_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/cluster_id.h"
#include "ceph/cluster.h"
#include "volume/config_store.h"
#include "volume/csi_handle.h"
#include "volume/operation_key.h"
#include "volume/resolved.h"

namespace addons {

struct ResolverOptions {
  /// Once another cluster has the volume, a silent one that goes before it is
  /// waited for this long.
  SteadyDuration grace = std::chrono::seconds(2);
  /// A cluster that did not answer is not asked again for this time, unless
  /// nobody else has the volume.
  SteadyDuration memory = std::chrono::seconds(30);
  /// A change goes past a silent cluster to a mapped one when the silence has
  /// lasted for so long.
  SteadyDuration settle = std::chrono::seconds(90);
  /// Ids of the clusters of this site: no other is looked at. Empty: all of
  /// config.json.
  std::vector<ClusterId> home{};
};

/// Finds volumes and volume groups through config.json, cluster-mapping.json
/// and the journal.
///
/// The cluster that the id names is asked together with those it is mapped to.
/// If it has the volume, it is used; if it answers "not here", refuses the user
/// or is not configured, the first mapped one that has it is used; if it does
/// not answer while a mapped one has the volume, the mapped one is used after a
/// short grace time to read, and to change something when it has been silent
/// for the settle time: a stall of two seconds must not send a Demote to the
/// other site. A cluster that did not answer is remembered (the negative cache)
/// and not waited for any more while another one has the volume; from time to
/// time it is asked in the background until it answers. So a dead site never
/// delays a living one. Writes nothing. Thread-safe.
class Resolver {
 public:
  /// Neither is owned.
  Resolver(ConfigStore& config, ClusterProvider& clusters,
           ResolverOptions options = {});
  /// Waits for the lookups still under way; their time is bounded by Ceph's own
  /// timeouts.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// What operations on a volume share and exclude each other by. Asks no
  /// cluster. INVALID_ARGUMENT: not a volume id. UNAVAILABLE: no usable
  /// configuration, or no configured cluster belongs to it, or only clusters of
  /// other sites do.
  absl::StatusOr<OperationKey> KeyOfVolume(const VolumeHandle& volume_id);

  /// `access` says whether the caller is going to change something there.
  /// Blocks until found or `deadline` (of the real clock); when only one
  /// cluster comes into question, until that answers or Ceph's own timeouts are
  /// over.
  ///
  /// INVALID_ARGUMENT: not a volume id, or a snapshot's or a group's.
  /// NOT_FOUND: all clusters that may have it say that there is no such pool or
  /// journal entry. UNAUTHENTICATED: the cluster that
  /// the id names refuses the user, or all do. PERMISSION_DENIED: one of them
  /// does, and the others say no. UNAVAILABLE: no configured cluster belongs to
  /// it, or a cluster that could have it did not answer (for a change also when
  /// a mapped one has it, see above), or has it in a pool that is not mapped
  /// (the message names the line that is missing), or no usable configuration.
  absl::StatusOr<ResolvedVolume> Resolve(const VolumeHandle& volume_id,
                                         const CephUserRef& user, Access access,
                                         SteadyTime deadline);

  /// KeyOfVolume() for a volume group.
  absl::StatusOr<OperationKey> KeyOfGroup(const GroupHandle& group_id);

  /// Resolve() for a volume group: its members, and where it is. NOT_FOUND also
  /// on a peer site, until the journal there has the group.
  absl::StatusOr<ResolvedGroup> ResolveGroup(const GroupHandle& group_id,
                                             const CephUserRef& user,
                                             Access access,
                                             SteadyTime deadline);

  /// Where a group that ResolveGroup() says is in no journal stands once this
  /// site's journal has it: in the first place that was asked and has the pool.
  /// NOT_FOUND: there is no such place, or cluster-mapping.json does not say
  /// which pool it is. Otherwise errors of Connect() and OpenPool(); blocks as
  /// they do.
  absl::StatusOr<ResolvedPlace> PlaceForGroup(const GroupHandle& group_id,
                                              const CephUserRef& user);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace addons

#endif  // ADDONS_VOLUME_RESOLVER_H_
