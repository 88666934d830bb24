#include "replication/steps/info.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/retry_when_blocklisted.h"
#include "replication/look/evictions.h"
#include "replication/look/leftover.h"
#include "replication/look/mirrored_clone.h"
#include "replication/look/mount_restriction.h"
#include "replication/look/peers.h"
#include "replication/look/record.h"
#include "replication/look/report.h"
#include "replication/look/rescue_record.h"
#include "replication/look/rollback_mark.h"
#include "replication/schedule_store.h"
#include "replication/session.h"
#include "replication/steps/health.h"
#include "replication/steps/mirror_schedule.h"
#include "volume/missing_image.h"

namespace addons {
namespace {

/// Of a primary whose schedule is paused, or was. false: it is not.
bool AddPause(const OpenedVolume& opened, const MirrorView& view,
              HealthReport* report) {
  const std::optional<SchedulePause>& pause = view.own.pause;
  if (!pause.has_value()) return false;
  report->Add(ReplicationHealth::kDegraded, DescribePause(*pause));
  if (pause->step != PauseStep::kPaused) {
    report->UpkeepIsDue(opened.volume.volume_id);
    return true;
  }
  const auto stored = ReadStoredSchedules(opened.volume, view.image_id);
  if (stored.has_value() && !stored->empty()) {
    report->Add(ReplicationHealth::kDegraded,
                absl::StrCat("somebody has set another schedule meanwhile (",
                             EveryText(stored->front()), "), which runs"));
  }
  return true;
}

/// A primary is protected when what is written is copied: there is a schedule,
/// it is the wanted one, and it has been followed.
void AddSchedule(ReplicationEnvironment& environment,
                 const OpenedVolume& opened, const MirrorView& view,
                 SteadyTime deadline, HealthReport* report) {
  if (AddPause(opened, view, report)) return;
  const std::optional<SnapshotSchedule> wanted = WantedSchedule(view);
  const auto applied =
      ReadAppliedSchedules(environment, opened, view.image_id, deadline);
  if (!applied.ok()) {
    report->Add(ReplicationHealth::kDegraded,
                absl::StrCat("whether mirror snapshots are taken is not known, "
                             "because the manager does not tell: ",
                             applied.status().message()));
    if (wanted.has_value()) report->UpkeepIsDue(opened.volume.volume_id);
    return;
  }
  const std::vector<SnapshotSchedule>& schedules =
      applied->own.empty() ? applied->inherited : applied->own;
  if (!applied->manager_asked) {
    report->Add(ReplicationHealth::kHealthy,
                "the schedule is as the manager keeps it; whether the manager "
                "is there is not known, because this user may not ask it");
  }
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
      AddNoSchedule(report);
    }
    return;
  }
  AddSyncAge(view, Shortest(schedules), report);
}

/// How long this process has seen that no peer has reported since the image
/// became primary, or nothing but what may be older; nullopt: one has.
std::optional<SteadyDuration> UnreportedFor(Timeline& timeline,
                                            const MirrorView& view) {
  for (const SiteView& peer : view.peers) {
    if (WordOf(peer, view) > Word::kBefore && !MayBePrimary(peer, view)) {
      return std::nullopt;
    }
  }
  if (!view.PrimarySince().has_value() && view.primary_for.has_value()) {
    return view.primary_for;
  }
  return timeline.HeldFor(
      view.timeline_key, Since::kUnreported,
      absl::StrCat("since ", view.PrimarySince().value_or(0)));
}

constexpr char kNotKnownYet[] = "rbd-addons/not-known-yet";

/// For a peer's first report after a promotion, and for the one after those
/// that may still be an older text.
constexpr std::chrono::seconds kFirstReport{60};
constexpr std::chrono::seconds kReportAfterLag = kReportLag + kFirstReport / 2;

absl::StatusOr<ReplicationInfo> SummarizePrimary(
    ReplicationEnvironment& environment, const OpenedVolume& opened,
    const MirrorView& view, SteadyTime deadline, HealthReport report) {
  const SteadyDuration settle = environment.options.settle_time;
  const bool snapshots = view.info.mode == MirrorMode::kSnapshot;
  bool silent = false;
  bool unread = false;
  bool open_claim = false;
  for (const SiteView& peer : view.peers) {
    const std::string name = SiteName(*opened.reads, peer.status.mirror_uuid);
    AddPeer(view, peer, name, settle, &report);
    silent |= !peer.status.up || peer.age >= settle;
    if (WordOf(peer, view) <= Word::kBefore) continue;
    open_claim |= MayBePrimary(peer, view);
    unread |= !AddNumbers(environment.timeline, view, peer, name, &report);
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
  if (snapshots) AddSchedule(environment, opened, view, deadline, &report);
  AddSnapshotLimit(view, opened.volume.ImageSpec(), &report);
  // Errors must be seen even when there are no numbers.
  if (report.health() == ReplicationHealth::kError || report.has_numbers() ||
      AwaitsFollowers(view, settle)) {
    return report.Take();
  }
  const auto unreported = UnreportedFor(environment.timeline, view);
  if (!silent && unreported.has_value() &&
      *unreported < (open_claim ? kReportAfterLag : kFirstReport)) {
    absl::Status unknown = absl::UnavailableError(absl::StrCat(
        "the replication of ", opened.volume.Describe(),
        " is not known yet: ", report.text(), "; this takes up to ",
        open_claim ? "two minutes" : "a minute", " after a promotion"));
    unknown.SetPayload(kNotKnownYet, absl::Cord());
    return unknown;
  }
  if (!silent && !unread && FirstCopyAwaited(view)) {
    return absl::NotFoundError(
        absl::StrCat("the first copy of ", opened.volume.Describe(),
                     " is not complete yet: ", report.text()));
  }
  if (FirstCopyAwaited(view)) {
    report.Add(ReplicationHealth::kDegraded,
               "nothing has told yet that the first copy is complete");
  } else if (snapshots) {
    report.Add(ReplicationHealth::kDegraded,
               "when the last copy was made is not reported yet");
  }
  return report.Take();
}

/// Of a secondary whose rbd-mirror has copied all that it knows of; else empty.
/// Journal mode tells no times.
std::string DescribeCopyInStep(const MirrorView& view, SteadyDuration settle) {
  // A report may be older than a copy that has begun.
  if (!view.local.has_value() || !view.CopyProgress().empty()) return "";
  const SiteView& local = *view.local;
  if (!local.status.up || local.age >= settle ||
      local.says != Says::kSecondary || IsSyncing(local.status) ||
      CopiesAll(local.status)) {
    return "";
  }
  const auto numbers = ParseSyncNumbers(local.status.description);
  if (!numbers.ok() || !numbers->has_value() ||
      !(*numbers)->local_snapshot_time.has_value() ||
      (*numbers)->local_snapshot_time != (*numbers)->remote_snapshot_time) {
    return "";
  }
  return absl::StrCat("in step as of ",
                      FormatUnixSeconds(*(*numbers)->local_snapshot_time));
}

/// Whether one has not ended.
bool AddRollback(const MirrorView& view, HealthReport* report) {
  const auto rollback = ReadRollbackMark(view);
  if (rollback.has_value()) {
    report->Add(ReplicationHealth::kError, DescribeRollback(*rollback));
  }
  return rollback.has_value();
}

absl::StatusOr<ReplicationInfo> Summarize(ReplicationEnvironment& environment,
                                          const OpenedVolume& opened,
                                          const MirrorView& view,
                                          SteadyTime deadline) {
  const SteadyDuration settle = environment.options.settle_time;
  HealthReport report;
  ADDONS_ASSIGN_OR_RETURN(
      const auto rescue,
      ReadRescueRecord(*opened.reads, opened.volume.image_name()));
  const bool awaits_restore =
      rescue.has_value() && AwaitsRestore(*rescue, view);
  const bool went_on = MarkedCopyWentOn(rescue, view);
  // Whatever its newest mirror snapshot says.
  const bool incomplete = awaits_restore || went_on;
  environment.watched.NoteMixture(opened.volume, view.image_id, incomplete,
                                  AddRollback(view, &report));
  if (went_on) {
    report.Add(ReplicationHealth::kError, kMarkedCopyWentOn);
  } else if (awaits_restore) {
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
  AddLocal(view,
           WhySilentHere(opened.cluster(), *opened.reads, view,
                         environment.clock.WallNow()),
           &report);
  if (AwaitsFollowers(view, settle)) {
    report.Add(ReplicationHealth::kDegraded,
               "this site takes its own demotion back and waits until the peer "
               "follows it; promote it again");
  }
  if (view.info.primary) {
    if (!CloneMarkDue(view).empty() || TermNoteDue(view).has_value() ||
        FirstCopyNoteIsOver(view) || !MountRestrictionDue(view).empty()) {
      report.UpkeepIsDue(opened.volume.volume_id);
    }
    ADDONS_ASSIGN_OR_RETURN(ReplicationInfo info,
                            SummarizePrimary(environment, opened, view,
                                             deadline, std::move(report)));
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
      FindPeer(view, Says::kPrimary, Word::kBefore, settle) != nullptr
          ? "this site is secondary, the peer is primary"
          : "this site is secondary, and no site is known to be primary");
  if (const std::string copy = DescribeCopyInStep(view, settle);
      !copy.empty() && !incomplete) {
    report.Add(ReplicationHealth::kDegraded, copy);
  }
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
    AddNumbers(environment.timeline, view, *view.local, "this site", &report);
  }
  return report.Take();
}

absl::StatusOr<ReplicationInfo> ReadOnce(ReplicationEnvironment& environment,
                                         const VolumeTarget& target,
                                         SteadyTime deadline) {
  ADDONS_ASSIGN_OR_RETURN(
      const OpenedVolume opened,
      OpenVolume(environment, target, Access::kRead, deadline));
  const auto view =
      LookWithoutOpening(opened.volume, *opened.reads, environment.timeline);
  if (absl::IsNotFound(view.status())) {
    const absl::Status missing = ImageMissing(opened.volume);
    if (!absl::IsNotFound(missing) && CephErrno(missing) != 0) return missing;
    // The operator would ignore NOT_FOUND.
    ReplicationInfo info;
    info.health = ReplicationHealth::kError;
    info.message = std::string(missing.message());
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
  NoteLook(environment, opened, *view);
  return Summarize(environment, opened, *view, deadline);
}

}  // namespace

bool IsNotKnownYet(const absl::Status& status) {
  return status.GetPayload(kNotKnownYet).has_value();
}

absl::StatusOr<ReplicationInfo> GetReplicationInfo(
    ReplicationEnvironment& environment, const VolumeTarget& target,
    SteadyTime deadline) {
  return RetryWhenBlocklisted(
      [&] { return ReadOnce(environment, target, deadline); });
}

}  // namespace addons
