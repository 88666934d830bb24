#ifndef ADDONS_INSPECTION_FAILOVER_CHECK_H_
#define ADDONS_INSPECTION_FAILOVER_CHECK_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/cluster_id.h"
#include "inspection/group_forecast.h"
#include "inspection/promote_forecast.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "volume/resolved.h"

namespace addons {

/// Whether one volume could be made primary on this site.
struct FailoverFinding {
  /// Where it was asked for by its pool, as this site would give it out; empty:
  /// no entry of the journal is of this image.
  std::string volume_id;
  std::string group_id;  // of which it is a member; empty: asked for itself
  ClusterId cluster_id;  // empty: it was not found
  std::string image;     // "pool/image"; empty: it was not found
  /// csi.volname, the PersistentVolume's name mostly; empty: none is known.
  std::string volume_name;
  /// "namespace/name" of its claim, as the image tells it; empty: it does not.
  std::string claim;
  /// What a comparison with a point has found of the copy; empty: none was
  /// made.
  std::string proof;
  /// Of this site's image now, as in the log of role changes; empty: not seen.
  std::string role;
  PromoteForecast forecast;
  /// "site 'site-b'", which has reported within the settle time that its image
  /// is primary; empty: none has.
  std::string primary_elsewhere;
  /// Whether any other site has reported within that time.
  bool others_report = false;
  /// rbd-mirror of this site reports a split brain.
  bool split_brain = false;
  /// Of a pool's image: the journal of this site has no entry of it, so that no
  /// verb finds its volume. Both ways are refused with NOT_FOUND then.
  bool without_entry = false;
};

/// What was asked, and found.
struct FailoverFindings {
  std::vector<FailoverFinding> volumes;
  std::vector<GroupForecast> groups;
  /// What could not be looked at as a whole, and why.
  std::vector<std::string> unseen;
};

/// What Promote() of each volume would answer now, in the order of `volumes`.
/// Opens each image read-only, takes no key and no lease, changes nothing, and
/// leaves no trace that a promotion would see. Blocks; stops when nobody waits
/// any more. What cannot be looked at is a finding, no error.
absl::StatusOr<std::vector<FailoverFinding>> CheckFailover(
    OperationContext& context, ReplicationEnvironment& environment,
    const std::vector<VolumeTarget>& volumes,
    std::optional<std::chrono::minutes> interval);

/// The same for all members of each group, and what PromoteGroup() would make
/// of it. A group that cannot be read is a forecast, no error.
absl::StatusOr<FailoverFindings> CheckFailoverOfGroups(
    OperationContext& context, ReplicationEnvironment& environment,
    const std::vector<GroupHandle>& groups, const CephUserRef& user,
    std::optional<std::chrono::minutes> interval);

/// The same for all mirrored images of the pool and namespace `place`, in the
/// order of their names. Errors of reading the pool's statuses are errors.
absl::StatusOr<std::vector<FailoverFinding>> CheckFailoverOfPool(
    OperationContext& context, ReplicationEnvironment& environment,
    const ResolvedPlace& place, std::optional<std::chrono::minutes> interval);

/// The same for several places, one after the other. One whose statuses cannot
/// be read is unseen, no error.
absl::StatusOr<FailoverFindings> CheckFailoverOfPools(
    OperationContext& context, ReplicationEnvironment& environment,
    const std::vector<ResolvedPlace>& places,
    std::optional<std::chrono::minutes> interval);

}  // namespace addons

#endif  // ADDONS_INSPECTION_FAILOVER_CHECK_H_
