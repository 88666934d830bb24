#include "replication/look/report_watch.h"

namespace addons {

void ReportWatch::Note(const MirrorView& view) {
  for (const SiteView& peer : view.peers) {
    Seen& seen = seen_[peer.status.mirror_uuid];
    if (seen.last_update == peer.status.last_update) continue;
    if (seen.last_update != 0) ++seen.rewrites;
    seen.last_update = peer.status.last_update;
  }
}

int ReportWatch::Rewrites(const std::string& mirror_uuid) const {
  const auto seen = seen_.find(mirror_uuid);
  return seen == seen_.end() ? 0 : seen->second.rewrites;
}

}  // namespace addons
