// What librbd does with an image when it is called to change it.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ceph/pool.h"
#include "tests/fakes/model.h"

namespace addons::model {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool IsPrimaryKind(MirrorSnapshotKind kind) {
  return kind == MirrorSnapshotKind::kPrimary ||
         kind == MirrorSnapshotKind::kPrimaryDemoted;
}

// Older mirror snapshots that no peer needs go when librbd makes a primary one.
void DropUnlinked(Image& image) {
  if (image.snapshots.empty()) return;
  const auto unlinked =
      [newest = image.snapshots.back().info.id](const Snapshot& snapshot) {
        return snapshot.info.id != newest &&
               snapshot.info.unsynced_peer_uuids.empty();
      };
  image.RemoveSnapshots(unlinked);
}

// What a forced promotion of half a copy goes back to: the newest complete
// snapshot below it. Its content is that of one copy earlier, see Snapshot;
// librbd 16 does so.
const Snapshot* RollbackSnapshot(const Image& image) {
  for (size_t i = image.snapshots.size() - 1; i-- > 0;) {
    const MirrorSnapshot& info = image.snapshots[i].info;
    if (info.kind != MirrorSnapshotKind::kNonPrimary || info.complete) {
      return &image.snapshots[i];
    }
  }
  return nullptr;
}

bool HasMirroredClone(const Site& site, const Image& parent) {
  for (const auto& [pool_id, pool] : site.pools) {
    for (const auto& [name, space] : pool.namespaces) {
      for (const auto& [image_name, image] : space.images) {
        if (image->parent && image->parent->image_id == parent.id &&
            image->mirror_state != MirrorImageState::kDisabled) {
          return true;
        }
      }
    }
  }
  return false;
}

/// What refuses writes stays on a primary.
void TurnOff(Image& image) {
  if (!image.primary()) image.marked_non_primary = false;
  image.mirror_state = MirrorImageState::kDisabled;
  image.mode = MirrorMode::kJournal;
  image.global_id.clear();
  image.journal_primary = false;
  image.snapshots.clear();
  image.journal.clear();
}

}  // namespace

// At the snapshot limit librbd's promotion and demotion make room, make no
// snapshot, and answer 0 (16.2.15).
void Model::MakePrimarySnapshot(const Site& site, Image& image,
                                MirrorSnapshotKind kind) {
  if (!image.at_snapshot_limit()) AddSnapshot(site, image, kind);
  DropUnlinked(image);
}

Snapshot& Model::AddSnapshot(const Site& site, Image& image,
                             MirrorSnapshotKind kind) {
  Snapshot snapshot;
  snapshot.info.id = image.next_snapshot_id++;
  snapshot.info.kind = kind;
  snapshot.info.complete = true;
  snapshot.info.created = wall_ + site.clock_skew;
  snapshot.info.primary_snapshot_id = UINT64_MAX - 1;  // CEPH_NOSNAP
  if (IsPrimaryKind(kind)) {
    if (site.peer != nullptr && site.peer->receives) {
      snapshot.info.unsynced_peer_uuids = {site.peer_uuid};
    }
    if (std::exchange(image.next_snapshot_incomplete, false)) {
      snapshot.info.complete = false;
      snapshot.info.unsynced_peer_uuids.clear();
    }
  }
  snapshot.size = image.size;
  snapshot.content = image.content;
  image.MapSnapshot(&snapshot);
  image.snapshots.push_back(std::move(snapshot));
  return image.snapshots.back();
}

// librbd asks the owner to let go, and breaks the lock of one that is silent.
int Model::AcquireLock(Site& site, Image& image, const Client& client,
                       SteadyDuration* cost) {
  if (DaemonHoldsLock(site, image)) {
    if (DaemonWorks(site)) return -EROFS;  // rbd-mirror refuses
    const bool silent = WatchLives(site.daemon.seen_locally);
    *cost += silent ? SteadyDuration(milliseconds(31800))
                    : SteadyDuration(seconds(1));
    Blocklist(site, site.daemon);
  }
  const std::string name = absl::StrCat("client.", client.id);
  if (image.lock && image.lock->by_hand) return -EROFS;
  if (image.lock && image.lock->locker.client != name) {
    // A copy: the lock is replaced below.
    const std::string address = image.lock->locker.address;
    const auto watch = std::find_if(
        image.watches.begin(), image.watches.end(),
        [&](const Watch& w) { return w.watcher.address == address; });
    const bool lives = watch != image.watches.end() && !watch->expires;
    if (lives && image.lock->is_explicit) return -EROFS;
    if (!lives) {
      *cost += watch == image.watches.end() ? seconds(1) : seconds(30);
      site.blocklist[address] = wall_ + site.clock_skew + std::chrono::hours(1);
    }
  }
  image.lock = Lock{
      {name, absl::StrCat("auto ", 95000000000000 + client.id), client.address},
      false,
      false};
  return 0;
}

void Model::Record(Image& image, JournalEvent::Kind kind, uint64_t value) {
  if (image.mode != MirrorMode::kJournal || !image.mirrored()) return;
  image.journal.push_back({next_event_++, kind, value});
}

int Model::SetMetadata(Site& site, Image& image, const Client& client,
                       const std::string& key, const std::string* value) {
  if (image.read_only()) return -EROFS;
  if (value == nullptr && !image.metadata.contains(key)) return -ENOENT;
  const std::string name = absl::StrCat("client.", client.id);
  const bool others =
      image.lock && image.lock->locker.client != name &&
      std::any_of(image.watches.begin(), image.watches.end(),
                  [&](const Watch& watch) {
                    return !watch.expires &&
                           watch.watcher.address == image.lock->locker.address;
                  });
  SteadyDuration ignored{};
  // A living owner of the lock writes for others.
  const int r = others ? 0 : AcquireLock(site, image, client, &ignored);
  if (r < 0) return r;
  if (value == nullptr) {
    image.metadata.erase(key);
  } else {
    image.metadata[key] = *value;
  }
  return 0;
}

int Model::Enable(Site& site, Namespace& where, Image& image, MirrorMode mode) {
  if (where.mode == PoolMirrorMode::kDisabled || mode == MirrorMode::kUnknown) {
    return -EINVAL;
  }
  if (image.mirror_state == MirrorImageState::kEnabled) {
    return image.mode == mode ? 0 : -EINVAL;
  }
  if (image.mirror_state != MirrorImageState::kDisabled) return -EINVAL;
  if (image.parent) {
    const auto pool = site.pools.find(image.parent->pool_id);
    if (pool == site.pools.end()) return -EINVAL;
    const auto parent =
        FindImageById(pool->second.namespaces[image.parent->rados_namespace],
                      image.parent->image_id);
    if (parent == nullptr || !parent->mirrored()) return -EINVAL;
  }
  if (mode == MirrorMode::kSnapshot && image.at_snapshot_limit()) {
    return -EDQUOT;
  }
  image.mirror_state = MirrorImageState::kEnabled;
  image.mode = mode;
  image.global_id = NewUuid();
  if (mode == MirrorMode::kJournal) {
    image.journal_primary = true;
    Record(image, JournalEvent::Kind::kPromotion);
    // The tags of a journal that its primary has opened.
    where.omap[absl::StrCat("journal.", image.id)]["next_tag_tid"] =
        std::string("\2\0\0\0\0\0\0\0", 8);
  } else {
    AddSnapshot(site, image, MirrorSnapshotKind::kPrimary);
  }
  return 0;
}

int Model::Disable(Site& site, Namespace& where, Image& image, Force force) {
  if (image.mirror_state == MirrorImageState::kDisabled) return 0;
  // An image without mirror snapshots is nobody's copy.
  const bool of_nobody = image.mode == MirrorMode::kSnapshot &&
                         image.snapshots.empty() && !image.made_by_mirror;
  if (!image.primary() && !of_nobody && force == Force::kNo) return -EINVAL;
  if (HasMirroredClone(site, image)) return -EBUSY;
  ForgetStatus(where, image);
  TurnOff(image);
  return 0;
}

int Model::BeginPromotion(Site& site, Image& image, Force force,
                          Promotion* promotion) {
  if (image.mirror_state == MirrorImageState::kDisabled) return -ENOENT;
  if (!image.mirrored() || image.primary()) return -EINVAL;
  if (image.mode == MirrorMode::kJournal) {
    // The peer is primary, or its demotion was not replayed.
    const bool refused =
        replays_journals && force == Force::kNo && !image.journal_demoted();
    return refused ? -EBUSY : 0;
  }
  const Snapshot* const newest = image.newest();
  promotion->of_copy =
      newest == nullptr || newest->info.kind == MirrorSnapshotKind::kNonPrimary;
  if (!promotion->of_copy) return 0;
  if (force == Force::kNo) return -EBUSY;
  // Only an incomplete *kNonPrimary* snapshot is rolled back. An incomplete
  // demotion is taken as it is, even by force.
  if (newest != nullptr && !newest->info.complete) {
    const Snapshot* const found = RollbackSnapshot(image);
    if (found == nullptr) return -EINVAL;
    promotion->rollback = *found;
  }
  if (image.at_snapshot_limit()) return -EDQUOT;
  // The orphan that tells rbd-mirror to let go. It is complete and stays when
  // the promotion is cut short: the next one then sees no need to roll back.
  AddSnapshot(site, image, MirrorSnapshotKind::kNonPrimary);
  return 0;
}

bool Model::CrashesLibrbd(const Image& image) {
  const Snapshot* const newest = image.newest();
  if (newest == nullptr || newest->info.complete ||
      newest->info.kind != MirrorSnapshotKind::kNonPrimary) {
    return false;
  }
  const Snapshot* const whole = RollbackSnapshot(image);
  return std::any_of(
      image.other_snapshots.begin(), image.other_snapshots.end(),
      [&](const ImageSnapshot& snapshot) {
        return snapshot.id < newest->info.id &&
               (whole == nullptr || snapshot.id > whole->info.id);
      });
}

// librbd waits until no rbd-mirror watches the image. One that is busy copying
// from a peer that does not answer never lets go; a frozen one loses its watch.
bool Model::PromotionWaits(const Site& site, const Image& image,
                           const Promotion& promotion) const {
  return promotion.of_copy && DaemonHoldsLock(site, image) &&
         WatchLives(site.daemon.seen_locally);
}

int Model::FinishPromotion(Site& site, Image& image, const Client& client,
                           Promotion* promotion, SteadyDuration* cost) {
  if (image.mode == MirrorMode::kJournal) {
    image.journal_primary = true;
    Record(image, JournalEvent::Kind::kPromotion);
    return 0;
  }
  if (promotion->changed) {
    image.marked_non_primary = false;
    return 0;
  }
  if (const int r = AcquireLock(site, image, client, cost); r < 0) return r;
  promotion->changed = true;
  if (promotion->rollback) {
    image.size = promotion->rollback->size;
    image.content = promotion->rollback->content;
    // What was rolled back is removed, half a demotion is not.
    image.RemoveSnapshots([](const Snapshot& snapshot) {
      return snapshot.info.kind == MirrorSnapshotKind::kNonPrimary &&
             !snapshot.info.complete;
    });
  }
  const Snapshot* const newest = image.newest();
  if (newest != nullptr &&
      newest->info.kind == MirrorSnapshotKind::kPrimaryDemoted &&
      !newest->info.complete) {
    image.snapshots.pop_back();
  }
  if (promotion->of_copy) {
    // The copies go before it: where the orphan had room, it has.
    AddSnapshot(site, image, MirrorSnapshotKind::kPrimary);
    DropUnlinked(image);
  } else {
    MakePrimarySnapshot(site, image, MirrorSnapshotKind::kPrimary);
  }
  return kHalfDone;
}

int Model::Demote(Site& site, Image& image, const Client& client, bool* begun,
                  SteadyDuration* cost) {
  if (!*begun) {
    if (!image.mirrored() || !image.primary()) return -EINVAL;
    if (image.mode == MirrorMode::kJournal) {
      image.journal_primary = false;
      Record(image, JournalEvent::Kind::kDemotion);
      return 0;
    }
    if (const int r = AcquireLock(site, image, client, cost); r < 0) return r;
    image.marked_non_primary = true;
    *begun = true;
    return kHalfDone;
  }
  MakePrimarySnapshot(site, image, MirrorSnapshotKind::kPrimaryDemoted);
  // A frozen rbd-mirror of the peer watches the image and acknowledges nothing.
  const bool slow =
      site.peer != nullptr && StandsStill(site.peer->daemon.state);
  *cost += slow ? milliseconds(5500) : milliseconds(1000);
  return 0;
}

int Model::Resync(Site& site, Image& image) {
  if (image.mirror_state == MirrorImageState::kDisabled) return -ENOENT;
  if (!image.mirrored() || image.primary()) return -EINVAL;
  image.metadata[absl::StrCat(".rbd_mirror.", site.mirror_uuid)] =
      R"({"resync_requested": true})";
  return 0;
}

int Model::CreateSnapshot(Site& site, Image& image, uint64_t* id) {
  if (!image.mirrored() || !image.primary() ||
      image.mode != MirrorMode::kSnapshot) {
    return -EINVAL;
  }
  if (site.peer == nullptr || !site.peer->receives) return -EINVAL;
  if (image.read_only()) return -EROFS;
  if (image.at_snapshot_limit()) {
    DropUnlinked(image);
    return -EDQUOT;
  }
  *id = AddSnapshot(site, image, MirrorSnapshotKind::kPrimary).info.id;
  DropUnlinked(image);
  return 0;
}

bool Model::ManagerMakesSnapshot(const Site& site, const Image& image) const {
  // What it takes with many images, and a difference of the hosts' clocks.
  constexpr seconds kAtWork{15};
  constexpr int64_t kMinute = 60;
  if (!site.mgr_up || !image.mirrored() || !image.primary() ||
      image.mode != MirrorMode::kSnapshot) {
    return false;
  }
  const std::string space =
      absl::StrCat(image.pool_id, "/", image.rados_namespace);
  // The first level that has schedules is the one that applies.
  for (const std::string& level :
       {absl::StrCat(space, "/", image.id), space, absl::StrCat(image.pool_id),
        std::string()}) {
    const auto found = site.schedules.find(level);
    if (found == site.schedules.end() || found->second.items.empty()) continue;
    for (const auto& [minutes, start] : found->second.items) {
      int64_t hour = 0;
      int64_t minute = 0;
      // Without its date.
      const std::string of_day = start.substr(start.find('T') + 1);
      if (!start.empty() && (!absl::SimpleAtoi(of_day.substr(0, 2), &hour) ||
                             !absl::SimpleAtoi(of_day.substr(3, 2), &minute))) {
        continue;
      }
      const int64_t interval = minutes * kMinute;
      // Spread, in a way that the release notes do not tell.
      if (site.manager_of_21 && start.empty()) {
        minute = static_cast<int64_t>(std::hash<std::string>()(image.id) %
                                      static_cast<uint64_t>(minutes));
      }
      const int64_t since =
          (ClockOf(site) - (hour * 60 + minute) * kMinute) % interval;
      const int64_t from = std::min((since + interval) % interval,
                                    interval - (since + interval) % interval);
      if (from < kAtWork.count()) return true;
    }
    return false;
  }
  return false;
}

int Model::BeginWrite(Site& site, Image& image, const Client& client,
                      SteadyDuration* cost) {
  if (image.read_only()) return -EROFS;
  return AcquireLock(site, image, client, cost);
}

int Model::TakeLock(Site& site, Image& image, const Client& client,
                    LockMode mode, SteadyDuration* cost) {
  if (mode == LockMode::kTransient && !site.transient_locks) {
    return -EOPNOTSUPP;
  }
  if (const int r = BeginWrite(site, image, client, cost); r < 0) return r;
  image.lock->is_explicit = true;
  return 0;
}

void Model::OpenedForWriting(Site& site, Image& image) {
  if (site.needless_open_blocklists && DaemonHoldsLock(site, image)) {
    Blocklist(site, site.daemon);
  }
}

}  // namespace addons::model
