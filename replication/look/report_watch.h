#ifndef ADDONS_REPLICATION_LOOK_REPORT_WATCH_H_
#define ADDONS_REPLICATION_LOOK_REPORT_WATCH_H_

#include <cstdint>
#include <map>
#include <string>

#include "replication/look/mirror_view.h"

namespace addons {

/// Counts how often each peer has rewritten its report on one image while one
/// call looked at it. rbd-mirror looks at its images every 30 s and writes its
/// reports every 30 s, so a report can tell what was true a minute ago; what it
/// says after it was rewritten twice has been looked at since the first look.
/// Not thread-safe.
class ReportWatch {
 public:
  void Note(const MirrorView& view);
  /// Between the looks so far; 0 for a peer that has not reported.
  int Rewrites(const std::string& mirror_uuid) const;

 private:
  struct Seen {
    int64_t last_update = 0;
    int rewrites = 0;
  };
  std::map<std::string, Seen> seen_;  // by mirror uuid
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_REPORT_WATCH_H_
