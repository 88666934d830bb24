#include "watch/group_looks.h"

#include <utility>

#include "absl/status/status.h"
#include "base/cluster_id.h"
#include "volume/group_directory.h"
#include "volume/group_journal.h"
#include "volume/volume_id.h"

namespace addons {

void GroupLooks::Look(OperationContext& context, Pool& pool,
                      const std::string& cluster_id,
                      const std::string& instance_id, SteadyTime now) {
  if (looked_at_.has_value() && now - *looked_at_ < kAgain) return;
  const auto names =
      GroupDirectory(pool, instance_id).List(std::nullopt, kMost);
  looked_at_ = now;
  // Also a pool that can hold no omap, or that this user may not read.
  if (!names.ok()) return;
  auto seen = std::make_shared<JournalGroups>();
  VolumeId id;
  id.cluster_id = ClusterId(cluster_id);
  id.pool_id = pool.id();
  for (const auto& [request_name, uuid] : names->uuids) {
    if (context.stop_token().stop_requested()) return;
    const auto group = GroupJournal(pool).Read(uuid);
    if (absl::IsNotFound(group.status()) ||
        absl::IsInvalidArgument(group.status())) {
      continue;  // begun, removed meanwhile, or a group of snapshots
    }
    if (!group.ok()) return;
    id.uuid = uuid;
    const auto group_id = id.ToString();
    if (!group_id.ok()) continue;
    for (const VolumeHandle& member : group->members) {
      const auto& volume = member.id();
      if (volume.ok()) (*seen)[volume->uuid] = {request_name, *group_id};
    }
  }
  groups_ = std::move(seen);
}

}  // namespace addons
