#ifndef ADDONS_WATCH_PAUSE_LOOKS_H_
#define ADDONS_WATCH_PAUSE_LOOKS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ceph/pool.h"
#include "operation/operation_context.h"
#include "replication/look/local_record.h"

namespace addons {

/// Which primaries without a mirror snapshot schedule are paused, and what one
/// look of the background watch remembers of that for the next. Opens no image:
/// two reads of each, of kMostAsked in one look. For one thread at a time.
class PauseLooks {
 public:
  static constexpr size_t kMostAsked = 200;

  /// Looks at the images with these internal ids, those first that were not
  /// looked at last time, and forgets all others. What cannot be read stays as
  /// it was seen. Blocks; ends early when nobody waits any more.
  void Look(OperationContext& context, Pool& pool,
            std::vector<std::string> image_ids);

  /// nullopt: it is not paused, or was not looked at yet.
  std::optional<SchedulePause> Of(const std::string& image_id) const;

 private:
  std::map<std::string, SchedulePause> paused_;  // by image id
  std::string asked_last_;
};

}  // namespace addons

#endif  // ADDONS_WATCH_PAUSE_LOOKS_H_
