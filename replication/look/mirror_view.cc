#include "replication/look/mirror_view.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "ceph/pool.h"
#include "replication/look/record.h"
#include "replication/look/report.h"
#include "replication/look/rescue_record.h"

namespace addons {

std::string SiteView::ReportedAt() const {
  return FormatUnixSeconds(status.last_update);
}

std::string PoolKey(const ResolvedVolume& volume) {
  return absl::StrCat(WholePoolKey(volume), "/", volume.rados_namespace);
}

std::string WholePoolKey(const ResolvedVolume& volume) {
  return WholePoolKey(volume.cluster->fsid(), volume.pool_id);
}

std::string WholePoolKey(absl::string_view fsid, int64_t pool_id) {
  return absl::StrCat(fsid, "/", pool_id);
}

const MirrorSnapshot* MirrorView::Newest() const {
  return snapshots.empty() ? nullptr : &snapshots.back();
}

bool MirrorView::OwnDemotion() const {
  return Newest() != nullptr &&
         Newest()->kind == MirrorSnapshotKind::kPrimaryDemoted;
}

bool MirrorView::LastDemotionIsOwn() const {
  return OwnDemotion() ||
         (info.mode == MirrorMode::kJournal && own.demotion.has_value());
}

bool MirrorView::Yielded() const {
  return own.demotion.has_value() &&
         own.demotion->step == OwnDemotionStep::kGivenBack && !info.primary &&
         (info.mode == MirrorMode::kJournal || OwnDemotion());
}

bool MirrorView::GaveRoleBackUntold() const {
  return Yielded() && own.demotion->told_nobody;
}

bool MirrorView::PeerDiverged() const {
  const bool split = local.has_value() && local->says == Says::kSplitBrain;
  return Yielded() ||
         (LastDemotionIsOwn() && !info.primary && (resync_requested || split));
}

const MirrorSnapshot* MirrorView::LastComplete() const {
  const auto it = std::find_if(snapshots.rbegin(), snapshots.rend(),
                               [](const auto& snap) { return snap.complete; });
  return it == snapshots.rend() ? nullptr : &*it;
}

std::optional<int64_t> MirrorView::PrimarySince() const {
  return PrimaryTermBegan(*this);
}

bool MirrorView::LocalDaemonUp() const {
  return local.has_value() && local->status.up;
}

bool MirrorView::AnyFreshPeer(SteadyDuration settle) const {
  return (silent_peer_age.has_value() && *silent_peer_age < settle) ||
         std::any_of(peers.begin(), peers.end(),
                     [&](const SiteView& peer) { return peer.age < settle; });
}

bool MirrorView::SplitBrain() const {
  return local.has_value() && local->status.up &&
         local->says == Says::kSplitBrain;
}

std::string MirrorView::UnclearReport(SteadyDuration settle) const {
  const auto unclear = [&](const SiteView& site) {
    return site.status.state == MirrorStatusState::kUnrecognized &&
           site.age < settle;
  };
  for (const SiteView& peer : peers) {
    if (unclear(peer)) {
      return absl::StrCat("the peer site reports '",
                          DescriptionText(peer.status.description),
                          "' with a state that this build does not know");
    }
  }
  if (info.mode == MirrorMode::kJournal && local.has_value() &&
      local->status.up && local->age < settle &&
      BehindIsUnclear(local->status)) {
    return absl::StrCat("rbd-mirror of this site reports '",
                        local->status.description.substr(0, 256),
                        "', from which this build cannot tell how much is left "
                        "to replay");
  }
  if (local.has_value() && local->status.up && unclear(*local)) {
    return absl::StrCat("rbd-mirror of this site reports '",
                        DescriptionText(local->status.description),
                        "' with a state that this build does not know");
  }
  return "";
}

std::optional<int64_t> MirrorView::ToldNow() const {
  std::optional<int64_t> now;
  const auto told = [&now](const SiteView& site) {
    now = std::max(now.value_or(0),
                   site.status.last_update + WholeSeconds(site.age));
  };
  if (local.has_value()) told(*local);
  for (const SiteView& peer : peers) told(peer);
  return now;
}

int64_t MirrorView::EntriesBehind() const {
  if (!local.has_value()) return 0;
  const auto numbers = ParseSyncNumbers(local->status.description);
  if (!numbers.ok() || !numbers->has_value()) return 0;
  return (*numbers)->entries_behind.value_or(0);
}

std::optional<int64_t> MirrorView::RestoreTime() const {
  const MirrorSnapshot* complete = LastComplete();
  if (info.mode == MirrorMode::kJournal || complete == nullptr ||
      UserSnapshotInMidCopy(*this) != nullptr) {
    return std::nullopt;
  }
  // No report is of what this site wrote itself.
  if (complete->kind == MirrorSnapshotKind::kPrimaryDemoted) {
    return std::chrono::system_clock::to_time_t(complete->created);
  }
  if (!local.has_value()) return std::nullopt;
  return CopiedUpTo(local->status.description);
}

std::optional<int64_t> MirrorView::NewestOnPrimary() const {
  if (!local.has_value()) return std::nullopt;
  const auto numbers = ParseSyncNumbers(local->status.description);
  if (!numbers.ok() || !numbers->has_value()) return std::nullopt;
  return (*numbers)->remote_snapshot_time;
}

std::string MirrorView::RestorePoint() const {
  if (info.mode == MirrorMode::kJournal) {
    if (first_copy_pending) return "nothing: the first copy is not complete";
    const int64_t behind = EntriesBehind();
    return behind > 0 ? absl::StrCat("the last entry replayed, ", behind,
                                     " behind what is known")
                      : "the last entry replayed";
  }
  const MirrorSnapshot* complete = LastComplete();
  if (complete == nullptr) return "nothing: no snapshot has arrived completely";
  if (UserSnapshotInMidCopy(*this) != nullptr) {
    return absl::StrCat(
        "what this site held before its last complete copy, which arrived at ",
        FormatUnixSeconds(
            std::chrono::system_clock::to_time_t(complete->created)));
  }
  // The primary's own time of that snapshot is what a person wants to know; the
  // local one only says when copying it began.
  if (const std::optional<int64_t> time = RestoreTime(); time.has_value()) {
    return absl::StrCat(complete->kind == MirrorSnapshotKind::kPrimaryDemoted
                            ? "its own demotion of "
                            : "the state of ",
                        FormatUnixSeconds(*time));
  }
  return absl::StrCat("the snapshot that arrived at ",
                      FormatUnixSeconds(std::chrono::system_clock::to_time_t(
                          complete->created)));
}

std::string MirrorView::Progress() const {
  const MirrorSnapshot* newest = Newest();
  if (newest == nullptr) return "none";
  return absl::StrCat(newest->id, "/", newest->complete ? 1 : 0, "/",
                      newest->last_copied_object);
}

std::string MirrorView::CopyProgress() const {
  const MirrorSnapshot* newest = Newest();
  if (newest == nullptr || newest->complete) return "";
  return absl::StrCat(std::min(newest->last_copied_object, size.objects),
                      " of ", size.objects, " objects copied");
}

SiteNameFn SiteNamesOf(Pool& pool) {
  return [&pool](const std::string& uuid) { return SiteName(pool, uuid); };
}

const SiteNameFn& NoSiteNames() {
  static const SiteNameFn no_names = [](const std::string&) {
    return std::string();
  };
  return no_names;
}

std::string SiteName(const std::vector<MirrorPeer>& peers,
                     const std::string& mirror_uuid) {
  for (const MirrorPeer& peer : peers) {
    if (peer.mirror_uuid == mirror_uuid && !peer.site_name.empty()) {
      return absl::StrCat("site '", peer.site_name, "'");
    }
  }
  return "the peer site";
}

std::string SiteName(Pool& pool, const std::string& mirror_uuid) {
  const auto peers = pool.MirrorPeers();
  return SiteName(peers.ok() ? *peers : std::vector<MirrorPeer>(), mirror_uuid);
}

std::string FormatUnixSeconds(int64_t seconds) {
  return FormatUtc(absl::FromUnixSeconds(seconds));
}

absl::Status AfterResolve(const absl::Status& status,
                          const ResolvedVolume& volume) {
  if (status.code() != absl::StatusCode::kNotFound) return status;
  return absl::UnavailableError(absl::StrCat(
      volume.Describe(), " changed during the call: ", status.message()));
}

bool SameSnapshots(const std::vector<MirrorSnapshot>& one,
                   const std::vector<MirrorSnapshot>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const MirrorSnapshot& a, const MirrorSnapshot& b) {
                      return a.id == b.id && a.kind == b.kind &&
                             a.complete == b.complete &&
                             a.last_copied_object == b.last_copied_object;
                    });
}

}  // namespace addons
