#include "networkfence/unfence.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/blocklist_commands.h"
#include "networkfence/fence_view.h"
#include "networkfence/helper_marker.h"

namespace addons {
namespace {

using Kind = BlocklistEntry::Kind;

/// What a request means for the entries that are there.
struct UnfencePlan {
  std::set<BlocklistKey> remove;
  std::set<BlocklistKey> markers;     // removed last: they name helpers
  std::set<std::string> left_within;  // for the log
  std::set<std::string> wider;
};

bool Names(const std::vector<Cidr>& ranges, const Cidr& wanted) {
  return std::find(ranges.begin(), ranges.end(), wanted) != ranges.end();
}

bool Hold(const std::vector<Cidr>& ranges, const Cidr& wanted) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Cidr& range) { return range.Contains(wanted); });
}

/// What an interrupted fence of these ranges left behind goes with them. What
/// one of another range left must stay: it may be all that covers that range.
/// Returns the keys of that.
std::set<BlocklistKey> PlanMarkers(const Blocklist& list,
                                   const UnfenceRequest& request,
                                   UnfencePlan* plan) {
  std::set<BlocklistKey> needed;
  for (const HelperMarker& marker : FindMarkers(list)) {
    const bool ours = request.parameters.remove_contained
                          ? Hold(request.ranges, marker.range)
                          : Names(request.ranges, marker.range);
    if (ours) plan->markers.insert(marker.Key());
    for (const FenceHelper& helper : HelpersOf(marker.range)) {
      if ((marker.helpers & helper.bit) == 0) continue;
      (ours ? plan->remove : needed).insert(helper.key);
    }
  }
  return needed;
}

void PlanEntry(const BlocklistEntry& entry, const UnfenceRequest& request,
               const std::set<BlocklistKey>& needed, UnfencePlan* plan) {
  const Cidr blocked = entry.Range().Unmapped();
  const bool client = entry.kind == Kind::kClient;
  const bool remove_within = client ? request.parameters.remove_client_entries
                                    : request.parameters.remove_contained;
  const bool within = Hold(request.ranges, blocked);
  const bool remove =
      (within && remove_within) || (!client && Names(request.ranges, blocked));
  const bool wider =
      !client &&
      std::any_of(request.ranges.begin(), request.ranges.end(),
                  [&](const Cidr& range) { return blocked.Contains(range); });
  if (remove && needed.contains(KeyOf(entry))) {
    plan->wider.insert(
        absl::StrCat(blocked.Text(),
                     " (holds while the fence of a wider range is renewed)"));
  } else if (remove) {
    plan->remove.insert(KeyOf(entry));
  } else if (wider) {
    plan->wider.insert(blocked.Text());
  } else if (within) {
    plan->left_within.insert(entry.key);
  }
}

UnfencePlan MakePlan(const FenceView& view, const UnfenceRequest& request) {
  UnfencePlan plan;
  const std::set<BlocklistKey> needed = PlanMarkers(view.list, request, &plan);
  for (const BlocklistEntry& entry : view.list.entries) {
    if (HelperMarker::Of(entry).has_value() || view.Expired(entry) ||
        plan.remove.contains(KeyOf(entry))) {
      continue;
    }
    PlanEntry(entry, request, needed, &plan);
  }
  return plan;
}

absl::Status RemoveAll(Cluster& cluster, const std::set<BlocklistKey>& keys) {
  return FirstError(RemoveEntries(
      cluster, std::vector<BlocklistKey>(keys.begin(), keys.end())));
}

absl::Status CheckGone(FenceRounds& rounds,
                       const std::shared_ptr<Cluster>& cluster,
                       const UnfencePlan& plan) {
  // A listing that has suddenly nothing is no proof.
  ADDONS_ASSIGN_OR_RETURN(const FenceRounds::View view, rounds.Look(cluster));
  for (const BlocklistEntry& entry : view->list.entries) {
    if (!plan.remove.contains(KeyOf(entry))) continue;
    return absl::UnavailableError(
        absl::StrCat("entry ", entry.key,
                     " is in the blocklist again; somebody else fences it"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Unfence(OperationContext& context, FenceEnvironment& environment,
                     const UnfenceRequest& request) {
  const std::string what =
      absl::StrCat("Failed to unfence ", JoinRanges(request.ranges),
                   " in cluster '", request.target.cluster_id.text(), "'");
  context.Step("connecting");
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<Cluster> cluster,
                          ConnectCluster(environment, request.target));
  ADDONS_ASSIGN_OR_RETURN(
      const RangeTurns::TurnRef turn,
      environment.turns.Await(context, cluster->fsid(), request.ranges));
  context.Step("looking at the blocklist");
  const auto view = environment.rounds.Look(cluster);
  if (!view.ok()) return Annotate(view.status(), what);
  (*view)->WarnOfUnreadable(request.target.cluster_id);
  const UnfencePlan plan = MakePlan(**view, request);

  if (!plan.remove.empty() || !plan.markers.empty()) {
    ADDONS_RETURN_IF_ERROR(context.BeginMutation());
    context.Step("removing entries");
    const auto remove = [&]() -> absl::Status {
      ADDONS_RETURN_IF_ERROR(RemoveAll(*cluster, plan.remove));
      ADDONS_RETURN_IF_ERROR(RemoveAll(*cluster, plan.markers));
      return CheckGone(environment.rounds, cluster, plan);
    };
    if (const absl::Status status = remove(); !status.ok()) {
      return Annotate(status, what);
    }
  }
  Log().info("unfenced cluster={} ranges={} entries_removed={} left_within={}",
             Quoted(request.target.cluster_id.text()),
             Quoted(JoinRanges(request.ranges)), plan.remove.size(),
             Quoted(absl::StrJoin(plan.left_within, ", ")));
  if (plan.wider.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(what,
                   ": still blocked by wider entries, which this request "
                   "does not name: ",
                   absl::StrJoin(plan.wider, ", ")));
}

}  // namespace addons
