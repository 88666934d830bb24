#include "replication/info.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "ceph/retry_when_blocklisted.h"
#include "replication/mirror_schedule.h"
#include "replication/session.h"
#include "replication/state/first_copy.h"
#include "replication/state/leftover.h"
#include "replication/state/mirrored_clone.h"
#include "replication/state/primary_term.h"
#include "replication/state/rescue_record.h"

namespace addons {
namespace {

int64_t Seconds(SteadyDuration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

/// Collects findings; the worst health wins.
class Report {
 public:
  void Add(ReplicationHealth health, std::string text) {
    health_ = std::max(health_, health);
    if (!text.empty()) texts_.push_back(std::move(text));
  }
  void Numbers(const SyncNumbers& numbers) {
    if (!numbers.local_snapshot_time.has_value()) return;
    if (info_.last_sync_time.has_value() &&
        *info_.last_sync_time <= *numbers.local_snapshot_time) {
      return;
    }
    info_.last_sync_time = numbers.local_snapshot_time;
    info_.last_sync_bytes = numbers.last_snapshot_bytes;
    info_.last_sync_seconds = numbers.last_snapshot_seconds;
  }
  bool has_numbers() const { return info_.last_sync_time.has_value(); }
  std::optional<int64_t> last_sync() const { return info_.last_sync_time; }
  ReplicationHealth health() const { return health_; }
  std::string text() const { return absl::StrJoin(texts_, "; "); }
  void UpkeepIsDue(const VolumeHandle& volume_id) {
    info_.upkeep = {volume_id};
  }
  ReplicationInfo Take() {
    info_.health = health_;
    info_.message = absl::StrJoin(texts_, "; ");
    return std::move(info_);
  }

 private:
  ReplicationHealth health_ = ReplicationHealth::kHealthy;
  std::vector<std::string> texts_;
  ReplicationInfo info_;
};

/// Reads the numbers of `site`, or takes the last good ones and says how old
/// they are.
void AddNumbers(PeerTracker& tracker, const MirrorView& view,
                const SiteView& site, const std::string& name, Report* report) {
  const std::string& uuid = site.status.mirror_uuid;
  const auto numbers = ParseSyncNumbers(site.status.description);
  if (!numbers.ok()) {
    report->Add(ReplicationHealth::kDegraded,
                absl::StrCat("the report of ", name,
                             " cannot be read: ", numbers.status().message()));
  } else if (numbers->has_value() &&
             (*numbers)->local_snapshot_time.has_value()) {
    tracker.KeepNumbers(view.tracker_key, site.status, **numbers);
    report->Numbers(**numbers);
    return;
  }
  // What was copied while another site was primary is no copy of this one.
  const auto last = tracker.LastNumbers(view.tracker_key, uuid);
  if (last.has_value() && last->reported >= view.PrimarySince().value_or(0)) {
    report->Numbers(last->numbers);
    report->Add(ReplicationHealth::kHealthy,
                absl::StrCat("numbers of ", name, " are from ",
                             Seconds(last->age), " s ago"));
  }
}

void AddPeer(const MirrorView& view, const SiteView& peer,
             const std::string& name, SteadyDuration settle, Report* report) {
  const std::string text = DescriptionText(peer.status.description);
  if (!peer.status.up || peer.age >= settle) {
    report->Add(
        ReplicationHealth::kDegraded,
        absl::StrCat(name,
                     " is unreachable: its rbd-mirror has not "
                     "reported for at least ",
                     Seconds(peer.age),
                     " s; check rbd-mirror and the network of that site"));
    return;
  }
  if (!view.ReportedSincePrimary(peer)) {
    report->Add(ReplicationHealth::kDegraded,
                absl::StrCat(name,
                             " has not reported since this site became "
                             "primary; that takes up to half a minute"));
    return;
  }
  switch (peer.role) {
    case SiteRole::kSecondary:
      report->Add(ReplicationHealth::kHealthy,
                  absl::StrCat(name, " is ", text));
      return;
    case SiteRole::kPrimary:
      report->Add(
          ReplicationHealth::kError,
          absl::StrCat("split brain: ", name,
                       " is primary as well; demote one site, then resync "
                       "it by force"));
      return;
    case SiteRole::kSplitBrain:
      report->Add(ReplicationHealth::kError,
                  absl::StrCat("split brain: ", name, " reports '", text,
                               "'; resync it by force"));
      return;
    case SiteRole::kError:
      report->Add(ReplicationHealth::kError,
                  absl::StrCat(name, " reports an error: ", text));
      return;
    case SiteRole::kNotPrimary:
      report->Add(ReplicationHealth::kDegraded,
                  absl::StrCat(name, " does not replicate yet: '", text,
                               "' (this may change within half a minute of a "
                               "promotion)"));
      return;
    case SiteRole::kUnclear:
      break;
  }
  report->Add(ReplicationHealth::kDegraded,
              absl::StrCat(name, " reports '", text, "' (",
                           Name(peer.status.state), ")"));
}

void AddLocal(const MirrorView& view, Report* report) {
  if (!view.local.has_value()) {
    // One-way mirroring has no rbd-mirror on the primary site.
    return;
  }
  const std::string text = DescriptionText(view.local->status.description);
  if (!view.local->status.up) {
    report->Add(ReplicationHealth::kDegraded,
                "rbd-mirror of this site is down: start it before a failback");
  } else if (view.local->role == SiteRole::kSplitBrain) {
    report->Add(ReplicationHealth::kError,
                absl::StrCat("split brain: this site reports '", text,
                             "'; decide which side is right, demote the other "
                             "and resync it by force"));
  } else if (view.local->role == SiteRole::kError) {
    report->Add(
        ReplicationHealth::kError,
        absl::StrCat("rbd-mirror of this site reports an error: ", text));
  } else if (view.local->status.state == MirrorStatusState::kUnrecognized) {
    report->Add(ReplicationHealth::kDegraded,
                absl::StrCat("rbd-mirror of this site reports '", text,
                             "' with a state that this build does not know"));
  }
}

std::string EveryText(const SnapshotSchedule& schedule) {
  return absl::StrCat("every ", schedule.interval_text,
                      schedule.start_time.empty() ? "" : " from ",
                      schedule.start_time);
}

/// By the clock of this cluster, the newest moment that it has told: entries of
/// living daemons are rewritten every 30 s.
std::optional<int64_t> ClusterTime(const MirrorView& view) {
  std::optional<int64_t> latest;
  if (view.local.has_value()) latest = view.local->status.last_update;
  for (const SiteView& peer : view.peers) {
    latest = std::max(latest.value_or(0), peer.status.last_update);
  }
  return latest;
}

/// A primary is protected when what is written is copied: there is a schedule,
/// it is the wanted one, and it has been followed.
void AddSchedule(const OpenedVolume& opened, const MirrorView& view,
                 Report* report) {
  const std::optional<SnapshotSchedule> wanted = WantedSchedule(view);
  const auto applied = ReadAppliedSchedules(
      opened.cluster(), opened.volume.ImageSpec(), view.image_id);
  if (!applied.ok()) {
    report->Add(ReplicationHealth::kDegraded,
                absl::StrCat("whether mirror snapshots are scheduled is not "
                             "known, because the manager does not tell: ",
                             applied.status().message()));
    if (wanted.has_value()) report->UpkeepIsDue(opened.volume.volume_id);
    return;
  }
  const std::vector<SnapshotSchedule>& schedules =
      applied->own.empty() ? applied->inherited : applied->own;
  if (wanted.has_value() && std::find(applied->own.begin(), applied->own.end(),
                                      *wanted) == applied->own.end()) {
    report->UpkeepIsDue(opened.volume.volume_id);
    report->Add(
        ReplicationHealth::kDegraded,
        absl::StrCat("the mirror snapshot schedule that was asked for (",
                     EveryText(*wanted), ") is not set",
                     schedules.empty()
                         ? ", so nothing that is written is copied"
                         : absl::StrCat(", but another one (",
                                        EveryText(schedules.front()), ")"),
                     "; the daemon sets it as soon as the manager answers"));
  }
  if (schedules.empty()) {
    if (!wanted.has_value()) {
      report->Add(ReplicationHealth::kDegraded,
                  "no mirror snapshot schedule applies to the image, neither "
                  "its own nor one of its namespace, pool or cluster, so "
                  "nothing that is written is copied; set the parameter "
                  "schedulingInterval of the VolumeReplicationClass");
    }
    return;
  }
  const SnapshotSchedule& shortest = *std::min_element(
      schedules.begin(), schedules.end(),
      [](const auto& a, const auto& b) { return a.interval < b.interval; });
  const std::optional<int64_t> now = ClusterTime(view);
  if (!report->last_sync().has_value() || !now.has_value()) return;
  const int64_t age = *now - *report->last_sync();
  if (age > 2 * Seconds(shortest.interval)) {
    report->Add(
        ReplicationHealth::kDegraded,
        absl::StrCat("the last copy is the state of ",
                     FormatUnixSeconds(*report->last_sync()),
                     ", older than two intervals (", EveryText(shortest),
                     "); see `rbd mirror snapshot schedule status` here and "
                     "rbd-mirror of the other site"));
  }
}

/// How long this process has seen that no peer has reported since the image
/// became primary; nullopt: one has.
std::optional<SteadyDuration> UnreportedFor(PeerTracker& tracker,
                                            const MirrorView& view) {
  for (const SiteView& peer : view.peers) {
    if (view.ReportedSincePrimary(peer)) return std::nullopt;
  }
  const std::string key = absl::StrCat(view.tracker_key, "/unreported/",
                                       view.PrimarySince().value_or(0));
  return tracker.Age(key, SiteStatus(), nullptr);
}

/// For a peer's first report after a promotion.
constexpr std::chrono::seconds kFirstReport{60};

absl::StatusOr<ReplicationInfo> SummarizePrimary(
    ReplicationEnvironment& environment, const OpenedVolume& opened,
    const MirrorView& view, Report report) {
  const SteadyDuration settle = environment.options.settle_time;
  const bool snapshots = view.info.mode == MirrorMode::kSnapshot;
  bool silent = false;
  bool unread = false;
  for (const SiteView& peer : view.peers) {
    const std::string name = SiteName(*opened.reads, peer.status.mirror_uuid);
    AddPeer(view, peer, name, settle, &report);
    silent |= !peer.status.up || peer.age >= settle;
    if (!view.ReportedSincePrimary(peer)) continue;
    AddNumbers(environment.tracker, view, peer, name, &report);
    unread |= !ParseSyncNumbers(peer.status.description).ok();
  }
  if (view.peers.empty()) {
    ADDONS_ASSIGN_OR_RETURN(const auto known, opened.reads->MirrorPeers());
    silent |= known.empty();
    report.Add(ReplicationHealth::kDegraded,
               known.empty()
                   ? "the pool has no peer any more, nothing is copied"
                   : "no peer has reported on the image yet; check rbd-mirror "
                     "of the other site");
  }
  if (snapshots) AddSchedule(opened, view, &report);
  // Errors must be seen even when there are no numbers.
  if (report.health() == ReplicationHealth::kError || report.has_numbers() ||
      view.own_demotion_mark) {
    return report.Take();
  }
  const auto unreported = UnreportedFor(environment.tracker, view);
  if (!silent && unreported.has_value() && *unreported < kFirstReport) {
    return absl::UnavailableError(absl::StrCat(
        "the replication of ", opened.volume.Describe(), " is not known yet: ",
        report.text(), "; this takes up to a minute after a promotion"));
  }
  if (snapshots && !silent && !unread && FirstCopyAwaited(view)) {
    return absl::NotFoundError(
        absl::StrCat("the first copy of ", opened.volume.Describe(),
                     " is not complete yet: ", report.text()));
  }
  if (snapshots) {
    report.Add(ReplicationHealth::kDegraded,
               "when the last copy was made is not reported yet");
  }
  return report.Take();
}

absl::StatusOr<ReplicationInfo> Summarize(ReplicationEnvironment& environment,
                                          const OpenedVolume& opened,
                                          const MirrorView& view) {
  const SteadyDuration settle = environment.options.settle_time;
  Report report;
  ADDONS_ASSIGN_OR_RETURN(
      const auto rescue,
      ReadRescueRecord(*opened.reads, opened.volume.image_name()));
  if (rescue.has_value() && AwaitsRestore(*rescue, view)) {
    report.Add(
        ReplicationHealth::kError,
        DescribeAwaitedRestore(
            *rescue, opened.volume.image_name(),
            opened.reads->Spec(RescueImageName(opened.volume.image_name()))));
  } else if (rescue.has_value() && RescueIsLive(*rescue, view)) {
    report.Add(ReplicationHealth::kDegraded,
               "a forced promotion saves the last complete state first");
  }
  if (std::string loss = DescribeCloneLoss(view, opened.volume.ImageSpec());
      !loss.empty()) {
    report.Add(ReplicationHealth::kError, std::move(loss));
  }
  AddLocal(view, &report);
  if (view.info.primary && view.own_demotion_mark) {
    report.Add(ReplicationHealth::kDegraded,
               "this site takes its own demotion back and waits until the peer "
               "follows it; promote it again");
  }
  if (view.info.primary) {
    if (!CloneMarkDue(view).empty() || !PrimaryTermMarkDue(view).empty() ||
        FirstCopyMarkIsOver(view)) {
      report.UpkeepIsDue(opened.volume.volume_id);
    }
    ADDONS_ASSIGN_OR_RETURN(
        ReplicationInfo info,
        SummarizePrimary(environment, opened, view, std::move(report)));
    // A promotion that died may have left a client that holds the lock for a
    // while; what only takes notes does not queue there, before the verb that
    // puts things right.
    if (rescue.has_value() &&
        (AwaitsRestore(*rescue, view) || RescueIsLive(*rescue, view))) {
      info.upkeep.clear();
    }
    return info;
  }
  report.Add(
      ReplicationHealth::kDegraded,
      view.FreshPeer(SiteRole::kPrimary, settle) != nullptr
          ? "this site is secondary, the peer is primary"
          : "this site is secondary, and no site is known to be primary");
  if (view.resync_requested) {
    report.Add(ReplicationHealth::kDegraded,
               view.AnyFreshPeer(settle)
                   ? "a resync is requested"
                   : "a resync is requested, but the peer is unreachable; it "
                     "goes on when that site is back");
  }
  if (const std::string progress = view.CopyProgress(); !progress.empty()) {
    report.Add(ReplicationHealth::kDegraded, progress);
  }
  if (view.first_copy_pending) {
    report.Add(ReplicationHealth::kDegraded,
               "the first copy of the image to this site is not complete yet");
  }
  if (view.local.has_value()) {
    AddNumbers(environment.tracker, view, *view.local, "this site", &report);
  }
  return report.Take();
}

absl::StatusOr<ReplicationInfo> ReadOnce(ReplicationEnvironment& environment,
                                         const VolumeTarget& target,
                                         SteadyTime deadline) {
  ADDONS_ASSIGN_OR_RETURN(
      const OpenedVolume opened,
      OpenVolume(environment, target, Access::kRead, deadline));
  const auto view = LookAt(opened.volume, *opened.reads, environment.tracker);
  if (absl::IsNotFound(view.status())) {
    // The operator would ignore NOT_FOUND.
    ReplicationInfo info;
    info.health = ReplicationHealth::kError;
    info.message = std::string(ImageMissing(opened.volume).message());
    return info;
  }
  ADDONS_RETURN_IF_ERROR(view.status());
  if (view->info.state == MirrorImageState::kDisabling) {
    return absl::FailedPreconditionError(
        absl::StrCat(opened.volume.Describe(), ": ", kDisablingText));
  }
  if (!view->enabled()) {
    return absl::FailedPreconditionError(
        absl::StrCat("replication of ", opened.volume.Describe(), " is ",
                     Name(view->info.state), "; enable it first"));
  }
  return Summarize(environment, opened, *view);
}

}  // namespace

absl::StatusOr<ReplicationInfo> GetReplicationInfo(
    ReplicationEnvironment& environment, const VolumeTarget& target,
    SteadyTime deadline) {
  return RetryWhenBlocklisted(
      [&] { return ReadOnce(environment, target, deadline); });
}

}  // namespace addons
