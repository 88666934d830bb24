#ifndef ADDONS_NETWORKFENCE_AUTO_UNFENCE_H_
#define ADDONS_NETWORKFENCE_AUTO_UNFENCE_H_

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/cidr.h"
#include "base/mutex.h"
#include "ceph/blocklist.h"
#include "ceph/cluster.h"
#include "networkfence/environment.h"
#include "networkfence/fence_view.h"
#include "operation/operation_context.h"

namespace addons {

/// Lifts the fences that ceph-csi put automatically on this node, once the node
/// is back and asks for its addresses.
///
/// An entry of the blocklist does not say who made it. Known to be automatic is
/// one of exactly one of the addresses that lasts for the very time of
/// ceph-csi's automatic fences: from its beginning, which the monitors' old OSD
/// maps tell, to its end. Everything else is somebody's and stays: an entry
/// that was made for another time, whatever it has left, and one whose
/// beginning the monitors have forgotten. Fence() takes care that what people
/// fence never looks automatic.
///
/// An automatic fence that is younger than five minutes stays as well, because
/// its node may just be about to be drained. Age is told by the monitors' time,
/// or, when the OSD map did not change since, by how long this process has seen
/// the entry.
///
/// It stays, too, while the kernel of this node has a device mapped from a
/// fenced address, or what it has mapped cannot be seen. Once unfenced, such a
/// device writes at once, without the lock that another node has taken
/// meanwhile (findings/unfenced-kernel-client-writes-without-the-lock.sh).
/// librbd's clients ask for the lock. Thread-safe.
class AutoUnfence {
 public:
  static constexpr std::chrono::seconds kAutomaticExpiry{94670856};
  /// The monitors stamp a map some moments after they reckoned an end in it.
  static constexpr std::chrono::seconds kExpirySlack{30};
  static constexpr std::chrono::minutes kCoolDown{5};

  /// `expiry`, or a little more where that would look automatic: three years by
  /// the calendar are what ceph-csi takes.
  static std::chrono::seconds NotAutomatic(std::chrono::seconds expiry);
  /// Whether an automatic fence may have so much left.
  static bool MayBeAutomatic(absl::Duration left);

  /// Removes what has to go of `addresses`, and reads nothing back: the next
  /// call sees what is left.
  absl::Status Run(OperationContext& context, FenceEnvironment& environment,
                   const FenceTarget& target,
                   const std::vector<Cidr>& addresses);

 private:
  absl::StatusOr<bool> IsDue(Cluster& cluster, const FenceView& view,
                             const BlocklistEntry& entry, SteadyTime now);

  Mutex mutex_;
  /// By fsid, key and end of an entry: when it was first seen.
  std::map<std::string, SteadyTime> first_seen_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_AUTO_UNFENCE_H_
