#ifndef ADDONS_NETWORKFENCE_EXTEND_EXPIRY_H_
#define ADDONS_NETWORKFENCE_EXTEND_EXPIRY_H_

#include <chrono>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "base/cidr.h"
#include "ceph/blocklist.h"
#include "ceph/blocklist_commands.h"
#include "ceph/cluster.h"
#include "networkfence/fence_rounds.h"
#include "operation/operation_context.h"

namespace addons {

/// Gives the entries of `ranges` a later end. The monitor does not change the
/// end of an entry that exists, and takes the removal and the addition of one
/// key for nothing when both are in flight. So, each step once the one before
/// is committed, and all ranges in the same step at a time:
///
// clang-format off
///     "covering ranges whose entries end too early"    PlanHelpers()
///   1 AddEntries()     MissingMarkers(): they name the helpers that are about to be made
///   2 AddEntries()     the helpers: they cover the range from now on
///   3 Look()           CheckHelpers(): they are there
///                      EndsTooEarly(): the entry still does
///     "replacing entries that end too early"
///   4 ReplaceEntries() the entry: RemoveEntries(),
///   5                             AddEntries()
// clang-format on
///
/// There is no moment without cover, also when the process dies between any two
/// steps: the entry or all of its helpers are in the list. The helpers stay,
/// for RemoveHelpers(). Each step of a retry skips what is done. An entry of
/// somebody else that serves as a helper and ends too early itself is replaced
/// before step 2, while the range's own entry still stands.
///
/// Two replicas that do this at the same time can, if one removes in step 4
/// what the other has just added and proved, leave a moment of one monitor
/// round; the looks at each step make that unlikely, and what is missing in the
/// end is noticed by the caller, who reads back.
absl::Status ExtendEntries(OperationContext& context, FenceRounds& rounds,
                           const std::shared_ptr<Cluster>& cluster,
                           const std::vector<Cidr>& ranges,
                           std::chrono::seconds expiry);

/// Removes entries and adds them anew, with a later end: once each removal is
/// committed, because the monitor takes both in flight for nothing. Something
/// else must cover what they block meanwhile.
absl::Status ReplaceEntries(Cluster& cluster,
                            const std::vector<BlocklistKey>& keys,
                            std::chrono::seconds expiry);

/// Removes the helpers that were made for `ranges`, then their markers. Call it
/// when the entries of all of them are in force, with the `list` that shows
/// that.
absl::Status RemoveHelpers(Cluster& cluster, const Blocklist& list,
                           const std::vector<Cidr>& ranges);

/// For ranges that are about to be fenced: those that serve as marked helpers
/// of another range, which a crash left behind, become entries of their own, so
/// that nobody removes them with that range's other helpers.
absl::Status AdoptHelpers(Cluster& cluster, const Blocklist& list,
                          const std::vector<Cidr>& ranges,
                          std::chrono::seconds expiry);

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_EXTEND_EXPIRY_H_
