#ifndef ADDONS_NETWORKFENCE_FENCE_VIEW_H_
#define ADDONS_NETWORKFENCE_FENCE_VIEW_H_

#include <chrono>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/cidr.h"
#include "ceph/blocklist.h"
#include "ceph/cluster.h"
#include "ceph/cluster_services.h"

namespace addons {

/// The blocklist together with the only clock that counts for it: the time of
/// the newest OSD map, which the monitors set. It is now or earlier; right
/// after a change of the blocklist it is now.
struct FenceView {
  Blocklist list;
  OsdMapView map;

  /// Tells the log of entries that are not understood: nobody can say what they
  /// block. `cluster_id` is for the line.
  void WarnOfUnreadable(const ClusterId& cluster_id) const;
  /// Surely expired: the monitors drop it with the next change.
  bool Expired(const BlocklistEntry& entry) const;
  /// At least `wanted` is left, give or take a hundredth (thirty seconds for
  /// short times). False also when its end cannot be read.
  bool LastsFor(const BlocklistEntry& entry, std::chrono::seconds wanted) const;
  /// The entry that this daemon makes for `range` is there and LastsFor().
  bool InForce(const Cidr& range, std::chrono::seconds wanted) const;
  /// Some entry blocks exactly `range`, in whatever spelling.
  bool IsFenced(const Cidr& range) const;
};

/// Reads both from one `osd dump`. Where that lacks the list, or shows it in a
/// form that is not known, `osd blocklist ls` is read after it. Errors of
/// ReadBlocklist() and ReadOsdMap(); INTERNAL when the map, asked twice, has
/// entries of a kind of which the list has none; FAILED_PRECONDITION when this
/// Ceph has no blocklist command.
absl::StatusOr<FenceView> ReadFenceView(Cluster& cluster);

/// Which release a fence needs.
absl::Status NoRangeBlocklists();

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_FENCE_VIEW_H_
