#ifndef ADDONS_CEPH_CLUSTER_HEALTH_H_
#define ADDONS_CEPH_CLUSTER_HEALTH_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "ceph/cluster.h"

namespace addons {

/// How many daemons run which release: {"16.2.15": 3}. A text that is not
/// understood is its own release. `kind` is "osd", "mon" and the like, or
/// "overall". Asks the monitors (`versions`), which profile rbd allows. Errors
/// of Cluster::MonCommand(); INTERNAL when the answer has another form.
absl::StatusOr<std::map<std::string, int>> ReadReleases(
    Cluster& cluster, const std::string& kind = "overall");

/// 16 of "16.2.15"; nullopt: what is before its first dot is no number.
std::optional<int> MajorRelease(absl::string_view release);

struct PoolTraits {
  bool erasure_coded = false;
  /// It has no room, or has reached its quota: writes to it wait.
  bool full = false;
};
/// Asks the monitors (`osd pool ls detail`), which profile rbd allows. Errors
/// as for ReadReleases(); NOT_FOUND: there is no pool with this id.
absl::StatusOr<PoolTraits> ReadPoolTraits(Cluster& cluster, int64_t pool_id);

/// How far the clock of each monitor is from the leader's, by name; empty where
/// there is only one (`time-sync-status`). Errors as for ReadReleases().
absl::StatusOr<std::map<std::string, absl::Duration>> ReadMonitorSkews(
    Cluster& cluster);

}  // namespace addons

#endif  // ADDONS_CEPH_CLUSTER_HEALTH_H_
