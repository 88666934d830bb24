#include "networkfence/extend_expiry.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/blocklist_commands.h"
#include "networkfence/fence_view.h"
#include "networkfence/helper_marker.h"

namespace addons {
namespace {

using Keys = std::vector<BlocklistKey>;

const BlocklistEntry* Find(const Blocklist& list, const FenceHelper& helper) {
  return helper.key.range ? list.FindRange(helper.range)
                          : list.FindAddress(helper.range.address());
}

struct HelperPlan {
  Keys replace;  // are there, but end too early
  Keys make;
};

HelperPlan PlanHelpers(const FenceView& view, const std::vector<Cidr>& ranges,
                       std::chrono::seconds expiry) {
  HelperPlan plan;
  for (const Cidr& range : ranges) {
    for (const FenceHelper& helper : HelpersOf(range)) {
      const BlocklistEntry* const entry = Find(view.list, helper);
      if (entry == nullptr) {
        plan.make.push_back(helper.key);
      } else if (!view.LastsFor(*entry, expiry)) {
        plan.replace.push_back(helper.key);
      }
    }
  }
  return plan;
}

/// The markers that are missing for those helpers of `ranges` that are among
/// `made`.
Keys MissingMarkers(const Blocklist& list, const std::vector<Cidr>& ranges,
                    const Keys& made) {
  Keys missing;
  for (const Cidr& range : ranges) {
    uint32_t helpers = 0;
    for (const FenceHelper& helper : HelpersOf(range)) {
      if (std::find(made.begin(), made.end(), helper.key) != made.end()) {
        helpers |= helper.bit;
      }
    }
    helpers &= ~MarkedHelpers(list, range);
    if (helpers != 0) missing.push_back(HelperMarker{range, helpers}.Key());
  }
  return missing;
}

absl::Status CheckHelpers(const FenceView& view, const Cidr& range,
                          std::chrono::seconds expiry) {
  for (const FenceHelper& helper : HelpersOf(range)) {
    const BlocklistEntry* const entry = Find(view.list, helper);
    if (entry != nullptr && view.LastsFor(*entry, expiry)) continue;
    return absl::UnavailableError(absl::StrCat(
        "entry ", helper.key.argument, ", which is to cover ", range.Text(),
        " while its entry is replaced, is not in the blocklist"));
  }
  return absl::OkStatus();
}

bool EndsTooEarly(const FenceView& view, const Cidr& range,
                  std::chrono::seconds expiry) {
  const BlocklistEntry* const entry = view.list.FindRange(range);
  return entry != nullptr && !view.LastsFor(*entry, expiry);
}

}  // namespace

absl::Status ExtendEntries(OperationContext& context, FenceRounds& rounds,
                           const std::shared_ptr<Cluster>& shared,
                           const std::vector<Cidr>& ranges,
                           std::chrono::seconds expiry) {
  Cluster& cluster = *shared;
  context.Step("covering ranges whose entries end too early");
  ADDONS_ASSIGN_OR_RETURN(FenceRounds::View view, rounds.Look(shared));
  const HelperPlan plan = PlanHelpers(*view, ranges, expiry);
  ADDONS_RETURN_IF_ERROR(FirstError(AddEntries(
      cluster, MissingMarkers(view->list, ranges, plan.make), expiry)));
  ADDONS_RETURN_IF_ERROR(FirstError(RemoveEntries(cluster, plan.replace)));
  Keys helpers = plan.make;
  helpers.insert(helpers.end(), plan.replace.begin(), plan.replace.end());
  ADDONS_RETURN_IF_ERROR(FirstError(AddEntries(cluster, helpers, expiry)));

  ADDONS_ASSIGN_OR_RETURN(view, rounds.Look(shared));
  // Another replica that was done meanwhile has removed them with its own.
  ADDONS_RETURN_IF_ERROR(FirstError(AddEntries(
      cluster, MissingMarkers(view->list, ranges, plan.make), expiry)));
  Keys early;
  for (const Cidr& range : ranges) {
    ADDONS_RETURN_IF_ERROR(CheckHelpers(*view, range, expiry));
    // Another replica may have been faster.
    if (EndsTooEarly(*view, range, expiry)) early.push_back(RangeKey(range));
  }

  context.Step("replacing entries that end too early");
  return ReplaceEntries(cluster, early, expiry);
}

absl::Status ReplaceEntries(Cluster& cluster,
                            const std::vector<BlocklistKey>& keys,
                            std::chrono::seconds expiry) {
  const std::vector<absl::Status> removed = RemoveEntries(cluster, keys);
  Keys again;
  for (size_t i = 0; i < keys.size(); ++i) {
    // A removal without an answer may still come: nothing is added after it.
    if (removed[i].ok()) again.push_back(keys[i]);
  }
  const std::vector<absl::Status> added = AddEntries(cluster, again, expiry);
  ADDONS_RETURN_IF_ERROR(FirstError(removed));
  return FirstError(added);
}

absl::Status RemoveHelpers(Cluster& cluster, const Blocklist& list,
                           const std::vector<Cidr>& ranges) {
  Keys helpers;
  Keys markers;
  for (const HelperMarker& marker : FindMarkers(list)) {
    if (std::find(ranges.begin(), ranges.end(), marker.range) == ranges.end()) {
      continue;
    }
    markers.push_back(marker.Key());
    for (const FenceHelper& helper : HelpersOf(marker.range)) {
      if ((marker.helpers & helper.bit) != 0) helpers.push_back(helper.key);
    }
  }
  std::sort(helpers.begin(), helpers.end());
  helpers.erase(std::unique(helpers.begin(), helpers.end()), helpers.end());
  ADDONS_RETURN_IF_ERROR(FirstError(RemoveEntries(cluster, helpers)));
  return FirstError(RemoveEntries(cluster, markers));
}

absl::Status AdoptHelpers(Cluster& cluster, const Blocklist& list,
                          const std::vector<Cidr>& ranges,
                          std::chrono::seconds expiry) {
  Keys old_markers;
  Keys new_markers;
  for (const HelperMarker& marker : FindMarkers(list)) {
    uint32_t left = marker.helpers;
    for (const FenceHelper& helper : HelpersOf(marker.range)) {
      // The one-address form is never requested: a fence is a range.
      if (helper.key.range && std::find(ranges.begin(), ranges.end(),
                                        helper.range) != ranges.end()) {
        left &= ~helper.bit;
      }
    }
    if (left == marker.helpers) continue;
    old_markers.push_back(marker.Key());
    if (left != 0) {
      new_markers.push_back(HelperMarker{marker.range, left}.Key());
    }
  }
  ADDONS_RETURN_IF_ERROR(FirstError(AddEntries(cluster, new_markers, expiry)));
  return FirstError(RemoveEntries(cluster, old_markers));
}

}  // namespace addons
