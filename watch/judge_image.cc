#include "watch/judge_image.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "replication/look/peers.h"
#include "replication/look/report.h"
#include "replication/steps/health.h"
#include "watch/copy_state.h"

namespace addons {
namespace {

/// What a snapshot may take until rbd-mirror has told that it has copied it: it
/// reports twice a minute.
constexpr int64_t kSnapshotSeenSeconds = 120;

/// What was scheduled and not taken: rbd-mirror of the peer has copied all
/// there is, and the newest snapshot is older than its schedule allows. While
/// it copies it does not say whether there are newer ones.
void AddMissedSnapshots(const MirrorView& view, SteadyDuration settle,
                        WatchedImage* image) {
  for (const SiteView& peer : view.peers) {
    if (!Lives(peer, settle) || IsSyncing(peer.status)) continue;
    const auto numbers = ParseSyncNumbers(peer.status.description);
    if (!numbers.ok() || !numbers->has_value()) continue;
    const auto& newest = (*numbers)->remote_snapshot_time;
    if (!newest.has_value() || newest != (*numbers)->local_snapshot_time) {
      continue;
    }
    image->newest_snapshot =
        std::max(image->newest_snapshot.value_or(0), *newest);
  }
  if (!image->newest_snapshot.has_value()) return;
  const auto age = SyncAge(view, *image->newest_snapshot);
  if (!age.has_value() || image->interval_seconds.value_or(0) <= 0) return;
  image->missed_snapshots = std::max<int64_t>(0, *age - kSnapshotSeenSeconds) /
                            *image->interval_seconds;
}

/// Of a site that copies; of several the one that takes longest counts.
void AddProgress(const SiteView& site, WatchedImage* image) {
  const auto numbers = ParseSyncNumbers(site.status.description);
  if (!numbers.ok() || !numbers->has_value()) return;
  const SyncNumbers& known = **numbers;
  std::optional<int64_t> left;
  if (IsSyncing(site.status)) {
    if (!known.syncing_percent.has_value()) return;
    const int64_t percent = std::clamp<int64_t>(*known.syncing_percent, 0, 100);
    image->percent = std::min(image->percent.value_or(100), percent);
    if (const int64_t speed = known.bytes_per_second.value_or(0); speed > 0) {
      image->bytes_per_second =
          std::min(image->bytes_per_second.value_or(speed), speed);
    }
    if (known.bytes_per_snapshot.has_value()) {
      left =
          static_cast<int64_t>(static_cast<double>(*known.bytes_per_snapshot) *
                               static_cast<double>(100 - percent) / 100);
    }
  } else if (known.local_snapshot_time.has_value() &&
             known.local_snapshot_time == known.remote_snapshot_time) {
    left = 0;
  }
  if (left.has_value()) {
    image->bytes_remaining =
        std::max(image->bytes_remaining.value_or(0), *left);
  }
}

void JudgePrimary(Timeline& timeline, const MirrorView& view,
                  const std::vector<MirrorPeer>& peers, SteadyDuration settle,
                  HealthReport* report, WatchedImage* image) {
  for (const SiteView& peer : view.peers) {
    const std::string name = SiteName(peers, peer.status.mirror_uuid);
    const bool fresh = Lives(peer, settle);
    AddPeer(view, peer, name, settle, report);
    image->split_brain |= fresh && (peer.says == Says::kSplitBrain ||
                                    SaysPrimary(peer, view, Word::kCurrent));
    AddNumbers(timeline, view, peer, name, report);
    if (fresh) AddProgress(peer, image);
    image->state = std::string(Name(peer.status.state));
  }
  if (view.peers.empty()) {
    report->Add(ReplicationHealth::kDegraded,
                peers.empty()
                    ? "the pool has no peer any more, nothing is copied"
                    : "no peer has reported on the image yet; check rbd-mirror "
                      "of the other site");
  }
}

void JudgeSecondary(Timeline& timeline, const MirrorView& view,
                    const std::vector<MirrorPeer>& peers, SteadyDuration settle,
                    HealthReport* report, WatchedImage* image) {
  for (const SiteView& peer : view.peers) {
    if (Lives(peer, settle)) continue;
    AddPeer(view, peer, SiteName(peers, peer.status.mirror_uuid), settle,
            report);
  }
  if (!view.local.has_value()) {
    report->Add(ReplicationHealth::kDegraded,
                "no rbd-mirror of this site has reported on the image; check "
                "rbd-mirror here");
    return;
  }
  const SiteView& local = *view.local;
  image->state = std::string(Name(local.status.state));
  if (local.status.up && local.age >= settle) {
    report->Add(ReplicationHealth::kDegraded,
                "rbd-mirror of this site has not reported for long: check it");
  }
  AddNumbers(timeline, view, local, "this site", report);
  if (!Lives(local, settle)) return;
  AddProgress(local, image);
  if (CopiesAll(local.status)) {
    report->Add(ReplicationHealth::kDegraded,
                absl::StrCat("this site ", DescribeCopyOfAll(local)));
  } else if (local.says == Says::kSecondary) {
    report->Add(ReplicationHealth::kHealthy,
                absl::StrCat("this site is ",
                             DescriptionText(local.status.description)));
  } else if (local.says == Says::kNotPrimary) {
    report->Add(ReplicationHealth::kDegraded,
                absl::StrCat("no site is known to be primary: rbd-mirror of "
                             "this site reports '",
                             DescriptionText(local.status.description), "'"));
  }
}

}  // namespace

WatchedRole RoleByReports(const MirrorView& view, SteadyDuration settle) {
  if (!view.local.has_value() || !Lives(*view.local, settle)) {
    return WatchedRole::kUnclear;
  }
  switch (view.local->says) {
    case Says::kPrimary:
      return WatchedRole::kPrimary;
    case Says::kSecondary:
    case Says::kNotPrimary:
    case Says::kSplitBrain:
      return WatchedRole::kSecondary;
    case Says::kError:
    case Says::kUnclear:
      break;
  }
  return WatchedRole::kUnclear;
}

WatchedImage JudgeImage(
    Timeline& timeline, const MirrorView& view, WatchedRole role,
    const std::vector<MirrorPeer>& peers,
    const std::optional<std::vector<SnapshotSchedule>>& schedules,
    const std::optional<SnapshotSchedule>& told, const std::string& sent_away,
    SteadyDuration settle, const std::optional<SchedulePause>& pause) {
  WatchedImage image;
  image.image_id = view.image_id;
  image.role = role;
  image.split_brain = view.SplitBrain();
  HealthReport report;
  AddLocal(view, sent_away, &report);
  if (view.info.state == MirrorImageState::kDisabling) {
    report.Add(ReplicationHealth::kDegraded,
               "its replication is being disabled");
  }
  switch (role) {
    case WatchedRole::kPrimary:
      JudgePrimary(timeline, view, peers, settle, &report, &image);
      break;
    case WatchedRole::kSecondary:
      JudgeSecondary(timeline, view, peers, settle, &report, &image);
      break;
    case WatchedRole::kUnclear:
      report.Add(ReplicationHealth::kDegraded,
                 "whether the image is primary here is not clear");
      if (view.local.has_value()) {
        image.state = std::string(Name(view.local->status.state));
      }
      break;
  }
  if (role == WatchedRole::kPrimary && schedules.has_value()) {
    if (!schedules->empty()) {
      const SnapshotSchedule& shortest = Shortest(*schedules);
      image.interval_seconds =
          std::chrono::duration_cast<std::chrono::seconds>(shortest.interval)
              .count();
      AddSyncAge(view, shortest, &report);
      AddMissedSnapshots(view, settle, &image);
    } else if (pause.has_value()) {
      report.Add(ReplicationHealth::kDegraded, DescribePause(*pause));
    } else if (report.has_numbers() && view.info.mode != MirrorMode::kJournal) {
      // Only snapshot mode has such numbers.
      AddNoSchedule(&report);
    }
  }
  if (role == WatchedRole::kSecondary && told.has_value()) {
    image.interval_seconds =
        std::chrono::duration_cast<std::chrono::seconds>(told->interval)
            .count();
    AddSyncAge(view, *told, &report);
  }
  image.last_sync = report.last_sync();
  if (image.last_sync.has_value()) {
    image.lag_seconds = SyncAge(view, *image.last_sync);
  }
  if (image.lag_seconds.has_value() && image.interval_seconds.value_or(0) > 0) {
    image.lag_ratio = static_cast<double>(*image.lag_seconds) /
                      static_cast<double>(*image.interval_seconds);
  }
  image.health = report.health();
  image.message = report.text();
  image.copy = JudgeCopy(view, peers, schedules.has_value(), settle, image);
  return image;
}

}  // namespace addons
