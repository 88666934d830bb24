#ifndef ADDONS_WATCH_JUDGE_IMAGE_H_
#define ADDONS_WATCH_JUDGE_IMAGE_H_

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ceph/mirror.h"
#include "replication/look/mirror_view.h"
#include "replication/look/timeline.h"
#include "replication/steps/mirror_schedule.h"
#include "watch/watch_snapshot.h"

namespace addons {

/// What the reports on an image say of its role on this site; unclear where
/// rbd-mirror of this site has told nothing of late.
WatchedRole RoleByReports(const MirrorView& view, SteadyDuration settle);

/// How an image is doing. `view` has what a listing tells: id, the sites'
/// reports, and in `info` what is known. `schedules` are those that apply;
/// nullopt: not known. `told` is the one of the primary's site that a secondary
/// knows of, `sent_away` as of AddLocal(). `pause` is that of a
/// primary without any schedule. Asks nobody.
WatchedImage JudgeImage(
    Timeline& timeline, const MirrorView& view, WatchedRole role,
    const std::vector<MirrorPeer>& peers,
    const std::optional<std::vector<SnapshotSchedule>>& schedules,
    const std::optional<SnapshotSchedule>& told, const std::string& sent_away,
    SteadyDuration settle,
    const std::optional<SchedulePause>& pause = std::nullopt);

}  // namespace addons

#endif  // ADDONS_WATCH_JUDGE_IMAGE_H_
