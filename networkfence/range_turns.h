#ifndef ADDONS_NETWORKFENCE_RANGE_TURNS_H_
#define ADDONS_NETWORKFENCE_RANGE_TURNS_H_

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/cidr.h"
#include "base/mutex.h"
#include "operation/operation_context.h"

namespace addons {

/// Changes of one cluster's fences run side by side, unless their ranges
/// overlap: then one after the other, in the order in which they came. A fence
/// covers its range with others while it replaces an entry, and an unfence may
/// remove what lies within its ranges, so that two of them could undo each
/// other's work. Thread-safe.
class RangeTurns {
 public:
  RangeTurns() = default;
  RangeTurns(const RangeTurns&) = delete;
  RangeTurns& operator=(const RangeTurns&) = delete;

  /// A place among the changes of a cluster. It is left when this dies.
  class Turn;
  using TurnRef = std::shared_ptr<const Turn>;

  /// Waits until nobody before holds or waits for a range that overlaps one of
  /// `ranges` in the cluster with this fsid; costs no worker meanwhile, and
  /// keeps its place in the operation's memory. The turn lasts as long as the
  /// result is held. Errors: those of LookAgainAfter(), to be returned at once;
  /// who gives up is ABORTED, with the range that he waits for.
  absl::StatusOr<TurnRef> Await(OperationContext& context,
                                const std::string& fsid,
                                const std::vector<Cidr>& ranges);

 private:
  /// The ranges of those who are there, Merged(); the first come first.
  using Places = std::list<std::vector<Cidr>>;

  TurnRef Enter(const std::string& fsid, const std::vector<Cidr>& ranges);
  /// A range of somebody before `turn` that overlaps one of its own; nullopt:
  /// its turn has come.
  std::optional<Cidr> InTheWay(const Turn& turn) const;
  void Leave(const Turn& turn);

  mutable Mutex mutex_;
  /// By fsid; without those that are empty.
  std::map<std::string, Places> places_ ABSL_GUARDED_BY(mutex_);
};

/// Two ranges of two lists, each Merged(), that overlap; the one of `a`.
std::optional<Cidr> FindOverlap(const std::vector<Cidr>& a,
                                const std::vector<Cidr>& b);

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_RANGE_TURNS_H_
