#ifndef ADDONS_CEPH_CLUSTER_SERVICES_H_
#define ADDONS_CEPH_CLUSTER_SERVICES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/cidr.h"
#include "ceph/blocklist.h"
#include "ceph/cluster.h"

namespace addons {

/// Something of Ceph that is alive, and where.
struct LiveService {
  std::string name;  // "osd.3", "mon.a"
  std::vector<IpAddress> addresses;
};

struct RbdPool {
  int64_t id = 0;
  std::string name;
  uint32_t placement_groups = 0;
};

/// What is needed of `osd dump`.
struct OsdMapView {
  /// 0: the map does not say it.
  uint64_t epoch = 0;
  /// When the map changed last, by the monitors' clock, which is the one that
  /// expiries are counted by: now or earlier.
  absl::Time modified;
  std::vector<LiveService> osds;  // those that are up
  std::vector<RbdPool> pools;     // those that are used for RBD
  /// The flag nosnaptrim: the OSDs give nothing back of removed snapshots.
  bool trims_no_snapshots = false;
  /// By pool, how many removed snapshots its OSDs have not trimmed yet.
  std::map<int64_t, uint64_t> untrimmed;
  /// What this map blocks; nullopt: it does not show it, or in a form that is
  /// not known, and `osd blocklist ls` has to be asked.
  std::optional<Blocklist> blocklist;
  /// The map has blocklist entries of the kind, in whatever form.
  bool lists_addresses = false;
  bool lists_ranges = false;
};

/// Errors of Cluster::MonCommand(); INTERNAL when the answer has another form.
absl::StatusOr<OsdMapView> ReadOsdMap(Cluster& cluster);
/// The map of a past `epoch`. CephErrno() ENOENT: the monitors do not keep it
/// any more; they keep at least 500. Other errors as for ReadOsdMap().
absl::StatusOr<OsdMapView> ReadOldOsdMap(Cluster& cluster, uint64_t epoch);
/// The monitors in the quorum. Errors as for ReadOsdMap().
absl::StatusOr<std::vector<LiveService>> ReadQuorum(Cluster& cluster);
/// The active manager; none where the user may not see it, as is usual. Errors
/// as for ReadOsdMap().
absl::StatusOr<std::vector<LiveService>> ReadManager(Cluster& cluster);

}  // namespace addons

#endif  // ADDONS_CEPH_CLUSTER_SERVICES_H_
