#ifndef ADDONS_WATCH_ENTRY_LOOKS_H_
#define ADDONS_WATCH_ENTRY_LOOKS_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ceph/pool.h"
#include "operation/operation_context.h"

namespace addons {

/// Which images of ceph-csi's volumes have no entry in the journal of this
/// site, so that every call for them is answered with NOT_FOUND. Reads the
/// directory of the journal every kAgain, and the entries that it does not lead
/// to, of kMostAsked images in one look. For one thread at a time.
class EntryLooks {
 public:
  static constexpr std::chrono::minutes kAgain{10};
  static constexpr size_t kMostAsked = 200;

  /// Counts among the images with these names. `instance_id` is the driver's
  /// --instanceid. What cannot be read is not counted. Blocks; ends early when
  /// nobody waits any more.
  void Look(OperationContext& context, Pool& pool,
            const std::string& instance_id,
            const std::vector<std::string>& images, SteadyTime now);

  /// As counted by the last look that asked of all; nullopt: none has yet.
  std::optional<size_t> WithoutEntry() const { return without_entry_; }

 private:
  std::optional<SteadyTime> read_at_;
  bool all_asked_ = false;         // since then, of what was not in it
  std::set<std::string> present_;  // uuids
  std::set<std::string> missing_;
  std::optional<size_t> without_entry_;
};

}  // namespace addons

#endif  // ADDONS_WATCH_ENTRY_LOOKS_H_
