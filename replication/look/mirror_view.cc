#include "replication/look/mirror_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "ceph/image_header.h"
#include "ceph/pool.h"
#include "replication/look/journal.h"
#include "replication/look/record.h"
#include "replication/look/report.h"

namespace addons {
namespace {

std::string TrackerKey(const ResolvedVolume& volume,
                       const MirrorImageInfo& info) {
  return absl::StrCat(PoolKey(volume), "/",
                      info.global_id.empty() ? volume.uuid : info.global_id);
}

/// What a newer Ceph calls by a name of its own must not count as something
/// that this build knows, or as nothing.
absl::Status CheckKnown(const MirrorView& view) {
  const auto unclear = [](const char* what) {
    return absl::UnavailableError(
        absl::StrCat(what,
                     " is one that this build of rbd-addons does not "
                     "know; it needs a newer one"));
  };
  if (view.info.state == MirrorImageState::kUnknown) {
    return unclear("the image's mirroring state");
  }
  if (view.info.mode == MirrorMode::kUnknown) {
    return unclear("the image's mirroring mode");
  }
  for (const MirrorSnapshot& snapshot : view.snapshots) {
    if (snapshot.kind == MirrorSnapshotKind::kUnknown) {
      return unclear("the kind of a mirror snapshot");
    }
  }
  return absl::OkStatus();
}

/// What was read of an image, before anything is concluded from it.
struct Read {
  MirrorView view;
  std::vector<SiteStatus> sites;
  std::optional<std::string> refused;  // the note of a demotion

  void TakeMetadata(const std::map<std::string, std::string>& metadata);
};

/// Of what ceph-csi notes at the image; names of Kubernetes are no longer.
std::string ClaimIn(const std::map<std::string, std::string>& metadata) {
  constexpr size_t kLongestName = 253;
  const auto name = metadata.find("csi.storage.k8s.io/pvc/name");
  const auto space = metadata.find("csi.storage.k8s.io/pvc/namespace");
  if (name == metadata.end() || space == metadata.end() ||
      name->second.empty() || space->second.empty() ||
      name->second.size() > kLongestName ||
      space->second.size() > kLongestName) {
    return "";
  }
  return absl::StrCat(space->second, "/", name->second);
}

void Read::TakeMetadata(const std::map<std::string, std::string>& metadata) {
  for (const auto& [key, value] : metadata) {
    if (absl::StartsWith(key, kResyncKeyPrefix) &&
        absl::StrContains(value, "resync_requested") &&
        absl::StrContains(value, "true")) {
      view.resync_requested = true;
    }
    if (absl::StartsWith(key, kSharedMarkPrefix) ||
        absl::StartsWith(key, kLocalMarkPrefix)) {
      view.marks[key] = value;
    }
    if (key == kRefusedDemotionKey) refused = value;
  }
  view.own = ReadLocalRecord(view.marks, view.image_id, view.info.global_id);
  view.claim = ClaimIn(metadata);
}

absl::Status ReadImage(Image& image, const std::vector<SiteStatus>* listed,
                       Read* read) {
  MirrorView& view = read->view;
  ADDONS_ASSIGN_OR_RETURN(view.info, image.MirrorInfo());
  ADDONS_ASSIGN_OR_RETURN(view.image_id, image.Id());
  ADDONS_ASSIGN_OR_RETURN(view.created, image.CreateTimestamp());
  ADDONS_ASSIGN_OR_RETURN(view.size, image.Size());
  ADDONS_ASSIGN_OR_RETURN(view.marked_non_primary, image.MarkedNonPrimary());
  ADDONS_ASSIGN_OR_RETURN(view.parent, image.Parent());
  ADDONS_ASSIGN_OR_RETURN(const auto metadata, image.ListMetadata(""));
  read->TakeMetadata(metadata);
  if (view.info.state == MirrorImageState::kDisabled) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(view.snapshots, image.MirrorSnapshots());
  ADDONS_ASSIGN_OR_RETURN(view.other_snapshots, image.Snapshots());
  std::erase_if(view.other_snapshots, [](const ImageSnapshot& snapshot) {
    return snapshot.kind == SnapshotKind::kMirror;
  });
  if (listed != nullptr) {
    read->sites = *listed;
  } else {
    ADDONS_ASSIGN_OR_RETURN(read->sites, image.MirrorStatus());
  }
  return CheckKnown(view);
}

/// The same of an image that is replicated by snapshots and no clone, without
/// opening it. NOT_FOUND and INTERNAL: it is another one, or what is written of
/// it is not understood.
absl::Status ReadHeader(Pool& pool, const ImageName& name, Read* read) {
  MirrorView& view = read->view;
  ADDONS_ASSIGN_OR_RETURN(view.image_id, FindImageId(pool, name));
  ADDONS_ASSIGN_OR_RETURN(ImageHeader header, pool.Header(view.image_id));
  ADDONS_ASSIGN_OR_RETURN(const auto record, pool.MirrorRecord(view.image_id));
  if (!record.has_value() || record->state != MirrorImageState::kEnabled ||
      record->mode != MirrorMode::kSnapshot || header.has_parent ||
      header.mirror_snapshots.empty()) {
    return absl::NotFoundError("no ordinary image");
  }
  view.info = *record;
  view.info.primary = PrimaryBySnapshots(header.mirror_snapshots);
  view.created = header.created;
  view.size = header.size;
  view.marked_non_primary = header.marked_non_primary;
  view.snapshot_limit = header.snapshot_limit;
  read->TakeMetadata(header.metadata);
  view.snapshots = std::move(header.mirror_snapshots);
  view.other_snapshots = std::move(header.other_snapshots);
  ADDONS_ASSIGN_OR_RETURN(read->sites,
                          pool.MirrorStatusOf(view.info.global_id));
  return CheckKnown(view);
}

/// What the header of the image's journal tells.
absl::Status ReadJournal(Pool& pool, MirrorView* view) {
  if (!view->enabled() || view->info.mode != MirrorMode::kJournal) {
    return absl::OkStatus();
  }
  if (!view->resync_requested) {
    ADDONS_ASSIGN_OR_RETURN(view->resync_requested,
                            JournalResyncRequested(pool, view->image_id));
  }
  if (view->info.primary) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const bool replayed,
                          JournalReplayBegan(pool, view->image_id));
  view->first_copy_pending = !replayed;
  return absl::OkStatus();
}

void AddSites(const std::vector<SiteStatus>& sites, MirrorView* view) {
  for (const SiteStatus& site : sites) {
    SiteView entry;
    entry.status = site;
    entry.says = SaysOf(site);
    if (site.local()) {
      view->local = std::move(entry);
    } else {
      view->peers.push_back(std::move(entry));
    }
  }
}

/// Asks for the peers only where something is odd about the reports: a daemon
/// that is down, or more than one other site.
absl::Status AskForFormerPeers(Pool& pool, std::vector<SiteStatus>* sites) {
  size_t others = 0;
  bool down = false;
  for (const SiteStatus& site : *sites) {
    if (site.local()) continue;
    ++others;
    down |= !site.up;
  }
  if (others < 2 && !down) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const auto peers, pool.MirrorPeers());
  DropFormerPeers(peers, sites);
  return absl::OkStatus();
}

/// No peer's report is there. That is no word of theirs: any rbd-mirror that
/// starts removes those of daemons that are down. Whose last one said that it
/// is primary still says so; otherwise the silence has an age, where a peer's
/// rbd-mirror has called at this pool at all.
absl::Status AddMissingPeers(Pool& pool, Timeline& timeline, MirrorView* view) {
  ADDONS_ASSIGN_OR_RETURN(const auto peers, pool.MirrorPeers());
  const SiteStatus* const local =
      view->local.has_value() ? &view->local->status : nullptr;
  for (const MirrorPeer& peer : peers) {
    if (peer.mirror_uuid.empty()) continue;
    if (auto claim =
            timeline.LastClaim(view->timeline_key, peer.mirror_uuid, local);
        claim.has_value()) {
      view->peers.push_back(*std::move(claim));
    } else if (!view->silent_peer_age.has_value()) {
      view->silent_peer_age =
          timeline.HeldFor(view->timeline_key, Since::kSilent, "silent");
    }
  }
  return absl::OkStatus();
}

/// What this process knows of the image besides.
absl::StatusOr<MirrorView> Complete(const ResolvedVolume& volume, Pool& pool,
                                    Read read, Timeline& timeline) {
  MirrorView& view = read.view;
  view.pool_key = WholePoolKey(volume);
  view.timeline_key = TrackerKey(volume, view.info);
  if (read.refused.has_value()) {
    view.refused_demotion = ParseRefusedDemotion(*read.refused);
    view.refused_demotion_age =
        timeline.HeldFor(view.timeline_key, Since::kRefused, *read.refused);
  }
  // Its ENOENT, and that below, is no word about the image.
  if (const absl::Status asked = AskForFormerPeers(pool, &read.sites);
      !asked.ok()) {
    return AfterResolve(asked, volume);
  }
  AddSites(read.sites, &view);
  timeline.Note(&view);
  if (view.peers.empty() && view.enabled() &&
      (!view.info.primary || view.own.demotion.has_value())) {
    if (const absl::Status added = AddMissingPeers(pool, timeline, &view);
        !added.ok()) {
      return AfterResolve(added, volume);
    }
  }
  return std::move(view);
}

/// A look through an open image; `listed`, where given, are its reports.
absl::StatusOr<MirrorView> LookThrough(const ResolvedVolume& volume, Pool& pool,
                                       Image& image,
                                       const std::vector<SiteStatus>* listed,
                                       Timeline& timeline,
                                       const AlsoRead& also) {
  Read read;
  // Only opening it tells that there is no such image.
  absl::Status status = ReadImage(image, listed, &read);
  if (status.ok() && also != nullptr) status = also(image, read.view);
  if (!status.ok()) return AfterResolve(status, volume);
  ADDONS_RETURN_IF_ERROR(ReadJournal(pool, &read.view));
  return Complete(volume, pool, std::move(read), timeline);
}

}  // namespace

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

bool MirrorView::GaveRoleBack() const {
  return own.demotion.has_value() &&
         own.demotion->step == OwnDemotionStep::kGivenBack && !info.primary &&
         (info.mode == MirrorMode::kJournal || OwnDemotion());
}

bool MirrorView::GaveRoleBackUntold() const {
  return GaveRoleBack() && own.demotion->told_nobody;
}

bool MirrorView::PeerWentOn() const {
  const bool split = local.has_value() && local->says == Says::kSplitBrain;
  return GaveRoleBack() ||
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
  if (info.mode == MirrorMode::kJournal || LastComplete() == nullptr ||
      !local.has_value()) {
    return std::nullopt;
  }
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
  // The primary's own time of that snapshot is what a person wants to know; the
  // local one only says when copying it began.
  if (const std::optional<int64_t> time = RestoreTime(); time.has_value()) {
    return absl::StrCat("the state of ", FormatUnixSeconds(*time));
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

absl::StatusOr<MirrorView> LookAt(const ResolvedVolume& volume, Pool& pool,
                                  Timeline& timeline, const AlsoRead& also) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                          pool.OpenImageReadOnly(volume.image_name()));
  ADDONS_ASSIGN_OR_RETURN(
      MirrorView view,
      LookThrough(volume, pool, *image, nullptr, timeline, also));
  const absl::Status closed = image->Close();
  if (!closed.ok()) return AfterResolve(closed, volume);
  return view;
}

absl::StatusOr<MirrorView> LookAt(const ResolvedVolume& volume, Pool& pool,
                                  Image& image,
                                  const std::vector<SiteStatus>* reports,
                                  Timeline& timeline) {
  return LookThrough(volume, pool, image, reports, timeline, nullptr);
}

absl::StatusOr<MirrorView> LookWithoutOpening(const ResolvedVolume& volume,
                                              Pool& pool, Timeline& timeline) {
  Read read;
  const absl::Status status = ReadHeader(pool, volume.image_name(), &read);
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) {
    return status;
  }
  // Whatever else it is, an open image shows it.
  if (!status.ok()) return LookAt(volume, pool, timeline);
  return Complete(volume, pool, std::move(read), timeline);
}

MirrorView ViewOfListed(const ImageStatuses& listed, Timeline& timeline) {
  MirrorView view;
  view.image_id = listed.image_id;
  view.timeline_key = listed.image_id;
  AddSites(listed.sites, &view);
  timeline.NoteListed(&view);
  return view;
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

}  // namespace addons
