#ifndef ADDONS_REPLICATION_LOOK_REPORT_WATCH_H_
#define ADDONS_REPLICATION_LOOK_REPORT_WATCH_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "replication/look/mirror_view.h"

namespace addons {

/// Counts how often each peer has rewritten its report on one image while one
/// call looked at it, and saw it in one role. rbd-mirror looks at its images
/// every 30 s and writes its reports every 30 s, so a report can tell what was
/// true a minute ago; what it says after it was rewritten twice has been looked
/// at since the first look. Not thread-safe.
class ReportWatch {
 public:
  /// Counts what `view` shows, and notes in it what was counted.
  void Note(MirrorView* view);

 private:
  struct Seen {
    int64_t last_update = 0;
    int rewrites = 0;
  };
  std::optional<bool> primary_;       // the role
  std::map<std::string, Seen> seen_;  // by mirror uuid
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_REPORT_WATCH_H_
