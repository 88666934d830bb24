#include "replication/look/report_watch.h"

namespace addons {

void ReportWatch::Note(MirrorView* view) {
  const bool first = primary_ != view->info.primary;
  if (first) seen_.clear();
  primary_ = view->info.primary;
  for (SiteView& peer : view->peers) {
    const int64_t told = peer.status.last_update;
    const auto [entry, added] = seen_.try_emplace(peer.status.mirror_uuid);
    Seen& seen = entry->second;
    // One that had no report at the first look has written this one since.
    if (seen.last_update != told && !(added && first)) ++seen.rewrites;
    seen.last_update = told;
    peer.rewrites_in_call = seen.rewrites;
  }
}

}  // namespace addons
