// How an image is looked at: what fills the view of
// replication/look/mirror_view.h
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/image_header.h"
#include "ceph/pool.h"
#include "replication/look/journal.h"
#include "replication/look/nvmeof_export.h"
#include "replication/look/record.h"
#include "replication/look/report.h"
#include "volume/told_entry.h"

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
  std::map<std::string, std::string> metadata;

  void TakeMetadata(std::map<std::string, std::string> taken);
};

void Read::TakeMetadata(std::map<std::string, std::string> taken) {
  metadata = std::move(taken);
  for (const auto& [key, value] : metadata) {
    if (absl::StartsWith(key, kResyncKeyPrefix) &&
        absl::StrContains(value, "resync_requested") &&
        absl::StrContains(value, "true")) {
      view.resync_requested = true;
    }
    if (absl::StartsWith(key, kSharedMarkPrefix) ||
        absl::StartsWith(key, kLocalMarkPrefix) || key == kDemotionMark) {
      view.marks[key] = value;
    }
    if (absl::StartsWith(key, kPublishPrefix)) view.published[key] = value;
    if (absl::StartsWith(key, kNvmeofPrefix)) view.exported[key] = value;
    if (key == kRefusedDemotionKey) refused = value;
  }
  view.own = ReadLocalRecord(view.marks, view.image_id, view.info.global_id);
  view.claim = ReadToldClaim(metadata);
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
  ADDONS_ASSIGN_OR_RETURN(auto metadata, image.ListMetadata(""));
  read->TakeMetadata(std::move(metadata));
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

/// The same of an image that is no clone, and not mirrored or replicated by
/// snapshots, without opening it. NOT_FOUND and INTERNAL: it is another one, or
/// what is written of it is not understood.
absl::Status ReadHeader(Pool& pool, const ImageName& name, Read* read) {
  MirrorView& view = read->view;
  ADDONS_ASSIGN_OR_RETURN(NotedImage noted, ReadNotedImage(pool, name));
  ImageHeader& header = noted.header;
  if (header.has_parent) return absl::NotFoundError("a clone");
  view.image_id = std::move(noted.id);
  view.info = std::move(noted.mirror);
  view.created = header.created;
  view.size = header.size;
  view.marked_non_primary = header.marked_non_primary;
  view.snapshot_limit = header.snapshot_limit;
  view.limit_known = true;
  read->TakeMetadata(std::move(header.metadata));
  if (view.info.state == MirrorImageState::kDisabled) return absl::OkStatus();
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
  view.volume_note_due =
      VolumeNoteDue(volume.attributes, volume.uuid, read.metadata);
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
  if (OpenImageMayTell(status)) return LookAt(volume, pool, timeline);
  ADDONS_RETURN_IF_ERROR(status);
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

}  // namespace addons
