#ifndef ADDONS_NETWORKFENCE_AUTO_UNFENCE_H_
#define ADDONS_NETWORKFENCE_AUTO_UNFENCE_H_

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/cidr.h"
#include "base/mutex.h"
#include "networkfence/environment.h"
#include "networkfence/fence_view.h"
#include "operation/operation_context.h"

namespace addons {

/// Lifts the fences that ceph-csi put automatically on this node, once the node
/// is back and asks for its addresses. ceph-csi fences for three years, people
/// and this daemon for five, which is all that tells the two apart: an entry of
/// exactly one of the addresses with at most three years left counts as
/// automatic. One that is younger than five minutes stays, because its node may
/// just be about to be drained. Age is told by the monitors' time, or, when the
/// OSD map did not change since, by how long this process has seen the entry.
/// Thread-safe.
class AutoUnfence {
 public:
  static constexpr std::chrono::seconds kAutomaticExpiry{94670856};
  static constexpr std::chrono::minutes kCoolDown{5};

  /// Removes what has to go of `addresses`, and reads nothing back: the next
  /// call sees what is left.
  absl::Status Run(OperationContext& context, FenceEnvironment& environment,
                   const FenceTarget& target,
                   const std::vector<Cidr>& addresses);

 private:
  bool IsDue(const FenceView& view, const BlocklistEntry& entry,
             const std::string& fsid, SteadyTime now);

  Mutex mutex_;
  /// By fsid, key and end of an entry: when it was first seen.
  std::map<std::string, SteadyTime> first_seen_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_AUTO_UNFENCE_H_
