#include "inspection/audit/image_audit.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/shell_command.h"
#include "base/status_macros.h"
#include "ceph/image_header.h"
#include "ceph/pinned_options.h"
#include "replication/schedule_store.h"
#include "replication/session.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"

namespace addons {
namespace {

/// An image in step has one, and for a moment more while it is copied.
constexpr size_t kSpareIsMany = 2;
/// Of an image in step two: the last copy's, and the one that is copied.
constexpr size_t kWaitingIsMany = 4;
/// What Ceph keeps for a peer that is away, and one that is being made.
constexpr uint64_t kMostMirrorSnapshots = 6;
constexpr uint64_t kEnoughMore = 10;

/// Not one that was demoted here: that may be promoted here again.
bool IsSecondary(const ImageHeader& header) {
  return !header.mirror_snapshots.empty() &&
         header.mirror_snapshots.back().copied();
}

/// All mirrored images of a place.
class ImageAudit {
 public:
  ImageAudit(AuditedPlace& place, Pool& whole) : place_(place), whole_(whole) {}

  void Check(const std::string& id, const ImageName& name) {
    id_ = id;
    spec_ = place_.pool.Spec(name);
    CheckLock();
    const auto header = place_.pool.Header(id);
    if (absl::IsNotFound(header.status())) return;  // removed meanwhile
    if (!header.ok()) return NotSeen(header.status());
    if (header->mirror_snapshots.empty()) return;  // in journal mode
    CheckLimit(*header);
    CheckSpare(*header);
    if (IsSecondary(*header)) CheckGroupSnapshots(*header);
    if (PrimaryBySnapshots(header->mirror_snapshots)) CheckWaiting(*header);
  }

 private:
  void Found(std::string seen, std::string remedy) {
    place_.Found(AuditKind::kImages, spec_, std::move(seen), std::move(remedy));
  }
  void NotSeen(const absl::Status& status) {
    place_.NotSeen(AuditKind::kImages, spec_, status);
  }

  void CheckLock() {
    const auto lockers = ListImageLockers(place_.pool, id_);
    if (!lockers.ok()) return NotSeen(lockers.status());
    const std::string lock = LockTakenByHand(*lockers);
    if (lock.empty()) return;
    Found(absl::StrCat(lock,
                       ". What other clients write, a demotion and a disable "
                       "wait for that without end. Ask who took it before"),
          ShellCommand({"rbd", "lock", "rm", spec_, lockers->front().cookie,
                        lockers->front().client}));
  }

  void CheckLimit(const ImageHeader& header) {
    const SnapshotRoom room{
        header.snapshot_limit,
        header.mirror_snapshots.size() + header.other_snapshots.size()};
    if (!room.limit.has_value()) return;
    const bool primary = PrimaryBySnapshots(header.mirror_snapshots);
    const std::string raise = ShellCommand(
        {"rbd", "snap", "limit", "set", "--limit",
         absl::StrCat(std::max(room.present, *room.limit) + kEnoughMore),
         spec_});
    if (!room.For(1)) {
      OpenedVolume opened;
      opened.volume.pool_name = place_.pool.name();
      opened.volume.rados_namespace = place_.pool.rados_namespace();
      MirrorView view;
      view.image_id = id_;
      Found(primary ? absl::StrCat(
                          "nothing that is written is copied, and it cannot be "
                          "demoted: ",
                          DescribeNoRoom(room, "a mirror snapshot is", spec_))
                    : DescribeNoRoomForCopy(room, opened, view),
            // What a copy has came with the primary's.
            primary ? raise : "");
      return;
    }
    const uint64_t others = header.other_snapshots.size();
    if (!primary || others + kMostMirrorSnapshots <= *room.limit) return;
    Found(absl::StrCat("it may have ", *room.limit,
                       " snapshots (`rbd snap limit set`), and ", others,
                       " of those that it has are no mirror snapshots. While "
                       "the other site is away there are up to ",
                       kMostMirrorSnapshots,
                       " mirror snapshots: then nothing is copied any more, "
                       "and it cannot be demoted"),
          raise);
  }

  void CheckSpare(const ImageHeader& header) {
    const std::vector<uint64_t> spare = SpareSnapshots(header.mirror_snapshots);
    if (spare.size() < kSpareIsMany) return;
    const std::string ids = absl::StrJoin(spare, ", ");
    if (!PrimaryBySnapshots(header.mirror_snapshots)) {
      Found(absl::StrCat("it has ", spare.size(),
                         " mirror snapshots of its time as primary that no "
                         "site needs any more (ids ",
                         ids,
                         "). They keep what was overwritten since. Ceph "
                         "refuses to remove them here until the image is "
                         "promoted here, and removes them then"),
            "");
      return;
    }
    const auto scheduled = HasSchedule();
    if (!scheduled.ok()) return NotSeen(scheduled.status());
    if (*scheduled) return;
    Found(
        absl::StrCat("it has ", spare.size(),
                     " mirror snapshots that no site needs any more (ids ", ids,
                     "). They keep what was overwritten since. Ceph removes "
                     "them with the next mirror snapshot, and neither the "
                     "image nor its namespace or pool has a schedule that "
                     "makes one (one of the whole cluster is not looked "
                     "for)"),
        ShellCommand({"rbd", "mirror", "image", "snapshot", spec_}));
  }

  /// One that cannot be read counts.
  absl::StatusOr<bool> HasSchedule() {
    const std::string prefix =
        ScheduleLevelPrefix(place_.pool.id(), place_.pool.rados_namespace());
    for (const std::string& level :
         {absl::StrCat(prefix, id_), prefix.substr(0, prefix.size() - 1),
          absl::StrCat(place_.pool.id())}) {
      const auto kept = whole_.ReadOmapKey(kScheduleObject, level);
      if (absl::IsNotFound(kept.status())) return false;
      ADDONS_RETURN_IF_ERROR(kept.status());
      if (!kept->has_value()) continue;
      const auto schedules = ParseSchedules(**kept);
      if (!schedules.has_value() ||
          std::any_of(schedules->begin(), schedules->end(),
                      [](const auto& one) { return one.Runs(); })) {
        return true;
      }
    }
    return false;
  }

  void CheckWaiting(const ImageHeader& header) {
    std::set<std::string> uuids;
    for (const MirrorSnapshot& snapshot : header.mirror_snapshots) {
      if (snapshot.kind != MirrorSnapshotKind::kPrimary) continue;
      uuids.insert(snapshot.unsynced_peer_uuids.begin(),
                   snapshot.unsynced_peer_uuids.end());
    }
    for (const std::string& uuid : uuids) {
      std::vector<const MirrorSnapshot*> waiting;
      for (const MirrorSnapshot& snapshot : header.mirror_snapshots) {
        const auto& peers = snapshot.unsynced_peer_uuids;
        if (snapshot.kind == MirrorSnapshotKind::kPrimary &&
            std::find(peers.begin(), peers.end(), uuid) != peers.end()) {
          waiting.push_back(&snapshot);
        }
      }
      if (waiting.size() >= kWaitingIsMany) TellWaiting(uuid, waiting);
    }
  }

  /// While a peer copies they are as many: only its silence says more.
  void TellWaiting(const std::string& peer_uuid,
                   const std::vector<const MirrorSnapshot*>& waiting) {
    ReadPeers();
    if (!statuses_->ok()) return NotSeen(statuses_->status());
    if (!peers_->ok()) return NotSeen(peers_->status());
    std::string site;
    for (const MirrorPeer& peer : **peers_) {
      if (peer.uuid != peer_uuid) continue;
      if (Reports(peer.mirror_uuid)) return;
      site = absl::StrCat("site '", peer.site_name,
                          "', whose rbd-mirror does not report");
    }
    Found(absl::StrCat("it keeps ", waiting.size(), " mirror snapshots for ",
                       site.empty() ? "a peer that is none any more" : site,
                       "; the oldest is of ",
                       FormatUnixSeconds(std::chrono::system_clock::to_time_t(
                           waiting.front()->created)),
                       ". They keep what was overwritten since",
                       site.empty()
                           ? ""
                           : ". Once that site has copied the newest one, Ceph "
                             "removes the others with the next"),
          "");
  }

  bool Reports(const std::string& mirror_uuid) const {
    return std::any_of(
        (*statuses_)->begin(), (*statuses_)->end(), [&](const auto& image) {
          return image.image_id == id_ &&
                 std::any_of(image.sites.begin(), image.sites.end(),
                             [&](const auto& site) {
                               return site.up &&
                                      site.mirror_uuid == mirror_uuid;
                             });
        });
  }

  void ReadPeers() {
    if (statuses_.has_value()) return;
    statuses_ = place_.pool.MirrorStatuses();
    peers_ = place_.pool.MirrorPeers();
  }

  void CheckGroupSnapshots(const ImageHeader& header) {
    std::set<std::string> groups;
    for (const ImageSnapshot& snapshot : header.other_snapshots) {
      if (snapshot.kind != SnapshotKind::kGroup) continue;
      groups.insert(GroupOf(snapshot.name));
    }
    for (const std::string& group : groups) {
      std::string seen = absl::StrCat(
          "it is secondary, and has a snapshot of ",
          group.empty()
              ? "an rbd group"
              : absl::StrCat("the rbd group '", place_.pool.Spec(group), "'"),
          ". Ceph removes neither that snapshot nor the group as long as the "
          "image is secondary here (EROFS)");
      std::string remedy;
      if (const auto snapshots = place_.pool.GroupSnapshots(group);
          !group.empty() && snapshots.ok() && snapshots->size() == 1) {
        absl::StrAppend(&seen, ". Once it is promoted here");
        remedy = ShellCommand(
            {"rbd", "group", "snap", "rm",
             absl::StrCat(place_.pool.Spec(group), "@", snapshots->front())});
      }
      Found(std::move(seen), std::move(remedy));
    }
  }

  /// The name of the group of this pool and namespace whose snapshot librbd
  /// calls ".group.POOL_GROUP_SNAPSHOT", by their ids; empty: not known.
  std::string GroupOf(const std::string& snapshot) {
    const std::vector<std::string> ids = absl::StrSplit(snapshot, '_');
    if (ids.size() != 3 ||
        ids[0] != absl::StrCat(".group.", absl::Hex(place_.pool.id()))) {
      return "";
    }
    return FindGroupName(place_.pool, ids[1]).value_or("");
  }

  AuditedPlace& place_;
  Pool& whole_;
  /// Of the pool, where they are asked for.
  std::optional<absl::StatusOr<std::vector<ImageStatuses>>> statuses_;
  std::optional<absl::StatusOr<std::vector<MirrorPeer>>> peers_;
  // --- of the image that is looked at
  std::string id_;
  std::string spec_;
};

}  // namespace

absl::Status AuditImages(AuditedPlace& place, Pool& whole,
                         const std::stop_token& stop) {
  ImageAudit audit(place, whole);
  for (const auto& [id, name] : place.mirrored) {
    if (stop.stop_requested()) {
      return absl::CancelledError("nobody waits for the audit any more");
    }
    audit.Check(id, name);
  }
  return absl::OkStatus();
}

}  // namespace addons
