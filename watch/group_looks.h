#ifndef ADDONS_WATCH_GROUP_LOOKS_H_
#define ADDONS_WATCH_GROUP_LOOKS_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "ceph/pool.h"
#include "operation/operation_context.h"
#include "watch/watch_snapshot.h"

namespace addons {

/// The volume groups that ceph-csi's journal of one pool and namespace has. One
/// read of its directory and one of each group, every kAgain. For one thread at
/// a time.
class GroupLooks {
 public:
  static constexpr std::chrono::minutes kAgain{10};
  static constexpr size_t kMost = 1000;

  /// Where it is time: reads kMost groups, those first whose names come first.
  /// What cannot be read is as it was seen. `cluster_id` is that of the groups'
  /// ids, `instance_id` the driver's --instanceid. Blocks; ends early when
  /// nobody waits any more.
  void Look(OperationContext& context, Pool& pool,
            const std::string& cluster_id, const std::string& instance_id,
            SteadyTime now);

  /// Never null.
  const std::shared_ptr<const JournalGroups>& Seen() const { return groups_; }

 private:
  std::optional<SteadyTime> looked_at_;
  std::shared_ptr<const JournalGroups> groups_ =
      std::make_shared<JournalGroups>();
};

}  // namespace addons

#endif  // ADDONS_WATCH_GROUP_LOOKS_H_
