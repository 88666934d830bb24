#include "networkfence/auto_unfence.h"

#include <cstddef>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/blocklist_commands.h"

namespace addons {
namespace {

// One per address and fence of this node.
constexpr size_t kMaxRemembered = 1024;

void Record(const FenceEnvironment& environment, const FenceTarget& target,
            const std::vector<BlocklistKey>& keys, const absl::Status& status) {
  if (environment.history == nullptr) return;
  HistoryEvent event;
  event.object = NameOf(target);
  event.verb = "lift the automatic fence of";
  for (const BlocklistKey& key : keys) {
    absl::StrAppend(&event.verb, " ", key.argument);
  }
  event.user = target.user->id;
  environment.history->AddAnswered(std::move(event), status);
}

}  // namespace

bool AutoUnfence::IsDue(const FenceView& view, const BlocklistEntry& entry,
                        const std::string& fsid, SteadyTime now) {
  if (!entry.until.has_value()) return false;
  const absl::Duration left = *entry.until - view.map.modified;
  const absl::Duration automatic = absl::FromChrono(kAutomaticExpiry);
  if (left > automatic) return false;
  if (automatic - left >= absl::FromChrono(kCoolDown)) return true;
  MutexLock lock(mutex_);
  if (first_seen_.size() >= kMaxRemembered) first_seen_.clear();
  const auto it = first_seen_.try_emplace(
      absl::StrCat(fsid, " ", entry.key, " ", absl::ToUnixMicros(*entry.until)),
      now);
  return now - it.first->second >= kCoolDown;
}

absl::Status AutoUnfence::Run(OperationContext& context,
                              FenceEnvironment& environment,
                              const FenceTarget& target,
                              const std::vector<Cidr>& addresses) {
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<Cluster> cluster,
                          ConnectCluster(environment, target));
  ADDONS_ASSIGN_OR_RETURN(
      const RangeTurns::TurnRef turn,
      environment.turns.Await(context, cluster->fsid(), addresses));
  ADDONS_ASSIGN_OR_RETURN(const FenceRounds::View view,
                          environment.rounds.Look(cluster));
  std::vector<BlocklistKey> due;
  for (const Cidr& address : addresses) {
    const BlocklistEntry* const entry = view->list.FindRange(address);
    if (entry != nullptr &&
        IsDue(*view, *entry, cluster->fsid(), context.clock().Now())) {
      due.push_back(KeyOf(*entry));
    }
  }
  if (due.empty()) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  for (const BlocklistKey& key : due) {
    Log().info("lifting the automatic fence of this node cluster={} entry={}",
               Quoted(target.cluster_id.text()), key.argument);
  }
  const absl::Status removed = FirstError(RemoveEntries(*cluster, due));
  Record(environment, target, due, removed);
  return removed;
}

}  // namespace addons
