#include "replication/info.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "replication/rescue_record.h"
#include "replication/session.h"

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
    tracker.KeepNumbers(view.tracker_key, uuid, **numbers);
    report->Numbers(**numbers);
    return;
  }
  if (const auto last = tracker.LastNumbers(view.tracker_key, uuid)) {
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
  switch (peer.role) {
    case SiteRole::kSecondary:
      report->Add(ReplicationHealth::kHealthy,
                  absl::StrCat(name, " is ", text));
      return;
    case SiteRole::kPrimary:
      if (!view.ReportedSincePrimary(peer)) {
        report->Add(ReplicationHealth::kDegraded,
                    absl::StrCat(name,
                                 " has not reported since this site became "
                                 "primary; that takes up to half a minute"));
        return;
      }
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
  report->Add(view.info.primary ? ReplicationHealth::kDegraded
                                : ReplicationHealth::kHealthy,
              absl::StrCat(name, " reports '", text, "'"));
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
  }
}

absl::StatusOr<ReplicationInfo> Summarize(ReplicationEnvironment& environment,
                                          Session& session,
                                          const MirrorView& view) {
  const SteadyDuration settle = environment.options.settle_time;
  const auto never_synced = [&](const std::string& why) {
    return absl::NotFoundError(absl::StrCat(
        "nothing of ", session.volume.Describe(), " was ever copied: ", why));
  };
  Report report;
  ADDONS_ASSIGN_OR_RETURN(
      const auto rescue,
      ReadRescueRecord(*session.reads, session.volume.image_name()));
  if (rescue.has_value() && AwaitsRestore(*rescue, view)) {
    report.Add(ReplicationHealth::kError,
               DescribeAwaitedRestore(session.volume.image_name()));
  } else if (rescue.has_value() && RescueIsLive(*rescue, view)) {
    report.Add(ReplicationHealth::kDegraded,
               "a forced promotion saves the last whole state first");
  }
  AddLocal(view, &report);
  if (view.info.primary) {
    for (const SiteView& peer : view.peers) {
      const std::string name =
          SiteName(*session.reads, peer.status.mirror_uuid);
      AddPeer(view, peer, name, settle, &report);
      AddNumbers(environment.tracker, view, peer, name, &report);
    }
    if (view.peers.empty()) return never_synced("no peer has reported yet");
    const bool journal = view.info.mode == MirrorMode::kJournal;
    if (!report.has_numbers() && !journal) {
      ReplicationInfo info = report.Take();
      // An error must be seen even when there are no numbers.
      if (info.health == ReplicationHealth::kError) return info;
      return never_synced(info.message);
    }
    return report.Take();
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
  if (view.local.has_value()) {
    AddNumbers(environment.tracker, view, *view.local, "this site", &report);
  }
  return report.Take();
}

absl::StatusOr<ReplicationInfo> ReadOnce(ReplicationEnvironment& environment,
                                         const VolumeTarget& target,
                                         SteadyTime deadline) {
  ADDONS_ASSIGN_OR_RETURN(Session session,
                          OpenSession(environment, target, deadline));
  const auto view = LookAt(session.volume, *session.reads, environment.tracker);
  if (absl::IsNotFound(view.status())) return ImageMissing(session.volume);
  ADDONS_RETURN_IF_ERROR(view.status());
  if (!view->enabled()) {
    return absl::FailedPreconditionError(
        absl::StrCat("replication of ", session.volume.Describe(), " is ",
                     Name(view->info.state), "; enable it first"));
  }
  return Summarize(environment, session, *view);
}

}  // namespace

absl::StatusOr<ReplicationInfo> GetReplicationInfo(
    ReplicationEnvironment& environment, const VolumeTarget& target,
    SteadyTime deadline) {
  auto info = ReadOnce(environment, target, deadline);
  if (CephErrno(info.status()) != kBlocklistedErrno) return info;
  return ReadOnce(environment, target, deadline);
}

}  // namespace addons
