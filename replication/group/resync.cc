#include "replication/group/resync.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "replication/group/group_run.h"
#include "replication/group/member_status.h"

namespace addons {
namespace {

/// What the members' verbs answered last. Thread-safe.
class Results {
 public:
  void Keep(const std::string& volume_id, ResyncResult result) {
    const MutexLock lock(mutex_);
    results_[volume_id] = std::move(result);
  }
  ResyncResult Sum(size_t members) {
    const MutexLock lock(mutex_);
    std::vector<std::string> behind;
    for (const auto& [volume_id, result] : results_) {
      if (result.ready) continue;
      behind.push_back(
          absl::StrCat("'", volume_id, "' (", result.message, ")"));
    }
    const size_t count = behind.size();
    if (count > kNamedMembers) {
      behind.resize(kNamedMembers);
      behind.push_back(absl::StrCat("and ", count - kNamedMembers, " more"));
    }
    return {count == 0, absl::StrCat(members - count, " of ", members,
                                     " members are in step with their peers",
                                     count == 0 ? "" : "; not yet: ",
                                     absl::StrJoin(behind, ", "))};
  }

 private:
  Mutex mutex_;
  std::map<std::string, ResyncResult> results_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status NoMembersToResync(const GroupHandle& group_id) {
  return absl::UnavailableError(absl::StrCat(
      "Failed to resync volume group '", group_id.text(),
      "': the journal of this site lists no members (yet), so nothing is "
      "being copied"));
}

absl::StatusOr<ResyncResult> ResyncGroup(OperationContext& context,
                                         ReplicationEnvironment& environment,
                                         const GroupTarget& target,
                                         Force force) {
  if (target.members.empty()) return NoMembersToResync(target.group_id);
  Results results;
  GroupRun run(context, environment.options, target,
               {target.group_id, "resync", "being resynced", "looked at"},
               [&](OperationContext& member,
                   const VolumeTarget& volume) -> absl::Status {
                 ADDONS_ASSIGN_OR_RETURN(
                     ResyncResult result,
                     Resync(member, environment, {volume, force}));
                 results.Keep(volume.volume_id.text(), std::move(result));
                 return absl::OkStatus();
               });
  ADDONS_RETURN_IF_ERROR(RunAllOrNone(run));
  return results.Sum(target.members.size());
}

}  // namespace addons
