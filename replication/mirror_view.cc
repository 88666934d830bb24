#include "replication/mirror_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace addons {
namespace {

std::string TrackerKey(const ResolvedVolume& volume,
                       const MirrorImageInfo& info) {
  return absl::StrCat(volume.cluster->fsid(), "/", volume.pool_id, "/",
                      volume.rados_namespace, "/",
                      info.global_id.empty() ? volume.uuid : info.global_id);
}

/// Changes whenever rbd-mirror has copied something onto this site.
std::string ProgressText(const MirrorView& view) {
  const MirrorSnapshot* newest = view.Newest();
  if (newest == nullptr) return "none";
  return absl::StrCat(newest->id, "/", newest->complete ? 1 : 0, "/",
                      newest->last_copied_object);
}

absl::Status ReadImage(Image& image, MirrorView* view,
                       std::vector<SiteStatus>* sites) {
  ADDONS_ASSIGN_OR_RETURN(view->info, image.MirrorInfo());
  ADDONS_ASSIGN_OR_RETURN(view->image_id, image.Id());
  ADDONS_ASSIGN_OR_RETURN(view->created, image.CreateTimestamp());
  ADDONS_ASSIGN_OR_RETURN(view->size, image.Size());
  ADDONS_ASSIGN_OR_RETURN(view->marked_non_primary, image.MarkedNonPrimary());
  ADDONS_ASSIGN_OR_RETURN(const auto requests,
                          image.ListMetadata(kResyncKeyPrefix));
  for (const auto& [key, value] : requests) {
    if (absl::StrContains(value, "resync_requested") &&
        absl::StrContains(value, "true")) {
      view->resync_requested = true;
    }
  }
  if (view->info.state == MirrorImageState::kDisabled) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(view->snapshots, image.MirrorSnapshots());
  ADDONS_ASSIGN_OR_RETURN(*sites, image.MirrorStatus());
  return absl::OkStatus();
}

/// How long a peer whose rbd-mirror has once called at this pool has been
/// silent about this image; nullopt: no peer ever called.
absl::StatusOr<std::optional<SteadyDuration>> SilentPeerAge(
    Pool& pool, const MirrorView& view, PeerTracker& tracker) {
  ADDONS_ASSIGN_OR_RETURN(const auto peers, pool.MirrorPeers());
  for (const MirrorPeer& peer : peers) {
    if (peer.mirror_uuid.empty()) continue;
    SiteStatus no_report;  // ages as one that is never rewritten
    no_report.mirror_uuid = peer.mirror_uuid;
    return tracker.Age(absl::StrCat(view.tracker_key, "/silent"), no_report,
                       nullptr);
  }
  return std::nullopt;
}

}  // namespace

const MirrorSnapshot* MirrorView::Newest() const {
  return snapshots.empty() ? nullptr : &snapshots.back();
}

const MirrorSnapshot* MirrorView::LastComplete() const {
  const auto it = std::find_if(snapshots.rbegin(), snapshots.rend(),
                               [](const auto& snap) { return snap.complete; });
  return it == snapshots.rend() ? nullptr : &*it;
}

std::optional<int64_t> MirrorView::PrimarySince() const {
  const MirrorSnapshot* first = nullptr;
  for (const MirrorSnapshot& snapshot : snapshots) {
    if (snapshot.kind != MirrorSnapshotKind::kPrimary) {
      first = nullptr;
    } else if (first == nullptr) {
      first = &snapshot;
    }
  }
  if (first == nullptr) return std::nullopt;
  return std::chrono::system_clock::to_time_t(first->created);
}

bool MirrorView::ReportedSincePrimary(const SiteView& peer) const {
  const std::optional<int64_t> since = PrimarySince();
  return !since.has_value() || peer.status.last_update >= *since;
}

bool MirrorView::LocalDaemonUp() const {
  return local.has_value() && local->status.up;
}

const SiteView* MirrorView::FreshPeer(SiteRole role,
                                      SteadyDuration settle) const {
  for (const SiteView& peer : peers) {
    if (peer.role == role && peer.age < settle) return &peer;
  }
  return nullptr;
}

bool MirrorView::AnyFreshPeer(SteadyDuration settle) const {
  return (silent_peer_age.has_value() && *silent_peer_age < settle) ||
         std::any_of(peers.begin(), peers.end(),
                     [&](const SiteView& peer) { return peer.age < settle; });
}

bool MirrorView::SplitBrain() const {
  return local.has_value() && local->status.up &&
         local->role == SiteRole::kSplitBrain;
}

std::string MirrorView::RestorePoint() const {
  const MirrorSnapshot* complete = LastComplete();
  if (complete == nullptr) return "nothing: no snapshot has arrived whole";
  // The primary's own time of that snapshot is what a person wants to know; the
  // local one only says when copying it began.
  if (local.has_value()) {
    const auto numbers = ParseSyncNumbers(local->status.description);
    if (numbers.ok() && numbers->has_value() &&
        (*numbers)->local_snapshot_time.has_value()) {
      return absl::StrCat("the state of ",
                          FormatUnixSeconds(*(*numbers)->local_snapshot_time));
    }
  }
  return absl::StrCat("the snapshot that arrived at ",
                      FormatUnixSeconds(std::chrono::system_clock::to_time_t(
                          complete->created)));
}

std::string MirrorView::CopyProgress() const {
  const MirrorSnapshot* newest = Newest();
  if (newest == nullptr || newest->complete) return "";
  return absl::StrCat(std::min(newest->last_copied_object, size.objects),
                      " of ", size.objects, " objects copied");
}

absl::StatusOr<MirrorView> LookAt(const ResolvedVolume& volume, Pool& pool,
                                  PeerTracker& tracker) {
  ADDONS_ASSIGN_OR_RETURN(std::unique_ptr<Image> image,
                          pool.OpenImageReadOnly(volume.image_name()));
  MirrorView view;
  std::vector<SiteStatus> sites;
  // Only opening it tells that there is no such image.
  absl::Status read = ReadImage(*image, &view, &sites);
  if (read.ok()) read = image->Close();
  if (!read.ok()) return AfterResolve(read, volume);

  view.tracker_key = TrackerKey(volume, view.info);
  const auto local =
      std::find_if(sites.begin(), sites.end(),
                   [](const auto& site) { return site.local(); });
  const SiteStatus* local_entry = local == sites.end() ? nullptr : &*local;
  for (const SiteStatus& site : sites) {
    SiteView entry{site, RoleOf(site),
                   tracker.Age(view.tracker_key, site, local_entry)};
    if (site.local()) {
      view.local = std::move(entry);
    } else {
      view.peers.push_back(std::move(entry));
    }
  }
  if (view.peers.empty() && view.enabled() && !view.info.primary) {
    ADDONS_ASSIGN_OR_RETURN(view.silent_peer_age,
                            SilentPeerAge(pool, view, tracker));
  }
  view.quiet_for = tracker.QuietFor(view.tracker_key, ProgressText(view));
  return view;
}

std::string SiteName(Pool& pool, const std::string& mirror_uuid) {
  const auto peers = pool.MirrorPeers();
  if (peers.ok()) {
    for (const MirrorPeer& peer : *peers) {
      if (peer.mirror_uuid == mirror_uuid && !peer.site_name.empty()) {
        return absl::StrCat("site '", peer.site_name, "'");
      }
    }
  }
  return "the peer site";
}

std::string FormatUnixSeconds(int64_t seconds) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(seconds),
                          absl::UTCTimeZone());
}

absl::Status AfterResolve(const absl::Status& status,
                          const ResolvedVolume& volume) {
  if (status.code() != absl::StatusCode::kNotFound) return status;
  return absl::UnavailableError(absl::StrCat(
      volume.Describe(), " changed during the call: ", status.message()));
}

}  // namespace addons
