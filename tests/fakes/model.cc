#include "tests/fakes/model.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/fakes/commands.h"

namespace addons::model {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kObjectBytes = uint64_t{4} << 20;
// Of images below 4 MiB, so that tests can read and write many objects.
constexpr uint64_t kSmallObjectBytes = uint64_t{64} << 10;

bool IsPrimaryKind(MirrorSnapshotKind kind) {
  return kind == MirrorSnapshotKind::kPrimary ||
         kind == MirrorSnapshotKind::kPrimaryDemoted;
}

// Older mirror snapshots that no peer needs go when librbd makes a primary one.
void DropUnlinked(Image& image) {
  std::erase_if(image.snapshots, [&](const Snapshot& snapshot) {
    return snapshot.info.id != image.snapshots.back().info.id &&
           snapshot.info.unsynced_peer_uuids.empty();
  });
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

void TurnOff(Image& image) {
  image.mirror_state = MirrorImageState::kDisabled;
  image.mode = MirrorMode::kJournal;
  image.global_id.clear();
  image.journal_primary = false;
  image.snapshots.clear();
}

}  // namespace

const Snapshot* Image::newest_complete() const {
  for (auto it = snapshots.rbegin(); it != snapshots.rend(); ++it) {
    if (it->info.complete) return &*it;
  }
  return nullptr;
}

bool Image::primary() const {
  if (mirror_state == MirrorImageState::kDisabled) return false;
  if (mode == MirrorMode::kJournal) return journal_primary;
  return newest() != nullptr &&
         newest()->info.kind == MirrorSnapshotKind::kPrimary;
}

bool Image::open_by_this_process() const {
  return std::any_of(watches.begin(), watches.end(),
                     [](const Watch& watch) { return watch.handle; });
}

bool Image::torn() const {
  return std::adjacent_find(content.begin(), content.end(),
                            std::not_equal_to<>()) != content.end();
}

void Image::Resize(uint64_t bytes) {
  size.bytes = bytes;
  size.objects = (bytes + size.object_bytes - 1) / size.object_bytes;
  content.resize(size.objects);
}

Model::Model()
    : now_(std::chrono::steady_clock::now()),
      wall_(std::chrono::system_clock::now()) {}

void Model::Tick(SteadyDuration step) {
  now_ += step;
  wall_ += std::chrono::duration_cast<WallTime::duration>(step);
  const double passed = std::chrono::duration<double>(step).count();
  for (const auto& site : sites_) {
    ExpireWatches(*site);
    RunTasks(*site, passed);
  }
  for (const auto& site : sites_) RunDaemon(*site, passed);
}

Site& Model::AddSite(const std::string& name) {
  auto site = std::make_unique<Site>();
  site->name = name;
  site->fsid = NewUuid();
  site->mirror_uuid = NewUuid();
  site->peer_uuid = NewUuid();
  site->daemon.local_instance = NewClientId();
  site->daemon.peer_instance = NewClientId();
  site->daemon.seen_locally = now_;
  site->daemon.seen_by_peer = now_;
  site->daemon.next_report = now_ + kStatusInterval;
  site->next_schedule_refresh = now_ + std::chrono::minutes(1);
  sites_.push_back(std::move(site));
  return *sites_.back();
}

Site* Model::FindSite(absl::string_view name) {
  for (const auto& site : sites_) {
    if (site->name == name) return site.get();
  }
  return nullptr;
}

void Model::Connect(Site& a, Site& b) {
  a.peer = &b;
  b.peer = &a;
}

bool Model::Reachable(const Site& from) const {
  return from.peer != nullptr && from.peer->up && link_up;
}

std::string Model::NewUuid() {
  const uint64_t n = next_uuid_++;
  return absl::StrFormat("%08x-%04x-4c1b-9d2e-%012x", 0x5f1d0000 + n,
                         n & 0xffff, 0xa11ce0000000 + n);
}

std::string Model::Address(uint64_t client_id) const {
  return absl::StrCat("10.0.0.", 1 + client_id % 250, ":0/",
                      900000000 + client_id);
}

// --- images
// --------------------------------------------------------------------

std::shared_ptr<Image> Model::CreateImage(Site& site, PoolState& pool,
                                          const std::string& rados_namespace,
                                          const std::string& name,
                                          uint64_t bytes) {
  auto image = std::make_shared<Image>();
  next_image_ += 0x3f1b;
  image->id = absl::StrCat(absl::Hex(next_image_));
  image->name = name;
  image->pool_id = pool.id;
  image->rados_namespace = rados_namespace;
  image->size.object_bytes =
      bytes < kObjectBytes ? kSmallObjectBytes : kObjectBytes;
  image->Resize(bytes);
  const auto since = (wall_ + site.clock_skew).time_since_epoch();
  image->created.seconds = std::chrono::duration_cast<seconds>(since).count();
  image->created.nanoseconds =
      std::chrono::duration_cast<std::chrono::nanoseconds>(since % seconds(1))
          .count();
  pool.namespaces[rados_namespace].images[name] = image;
  return image;
}

std::shared_ptr<Image> Model::FindImage(Site& site, absl::string_view name) {
  for (const auto& [pool_id, pool] : site.pools) {
    for (const auto& [space_name, space] : pool.namespaces) {
      const auto it = space.images.find(std::string(name));
      if (it != space.images.end()) return it->second;
    }
  }
  return nullptr;
}

std::shared_ptr<Image> Model::FindImageById(const Namespace& where,
                                            absl::string_view id) {
  for (const auto& [name, image] : where.images) {
    if (image->id == id) return image;
  }
  return nullptr;
}

std::shared_ptr<Image> Model::FindByGlobalId(const Namespace& where,
                                             absl::string_view global_id) {
  for (const auto& [name, image] : where.images) {
    if (image->mirror_state != MirrorImageState::kDisabled &&
        image->global_id == global_id) {
      return image;
    }
  }
  return nullptr;
}

MirrorImageInfo Model::Info(const Image& image) const {
  if (image.removed)
    return {MirrorImageState::kDisabled, MirrorMode::kJournal, false, ""};
  return {image.mirror_state, image.mode, image.primary(), image.global_id};
}

bool Model::DaemonHoldsLock(const Site& site, const Image& image) const {
  const auto it = site.daemon.replayers.find(image.global_id);
  return site.daemon.exists && !image.global_id.empty() && !image.primary() &&
         it != site.daemon.replayers.end() && it->second.holds_image;
}

std::vector<Watcher> Model::Watchers(const Site& site,
                                     const Image& image) const {
  std::vector<Watcher> watchers;
  for (const Watch& watch : image.watches) watchers.push_back(watch.watcher);
  const auto add = [&](uint64_t client) {
    watchers.push_back({Address(client), client, 94000000000000 + client});
  };
  if (DaemonHoldsLock(site, image) && WatchLives(site.daemon.seen_locally)) {
    add(site.daemon.local_instance);
  }
  if (site.peer == nullptr || !image.primary()) return watchers;
  const Daemon& other = site.peer->daemon;
  const auto it = other.replayers.find(image.global_id);
  if (other.exists && it != other.replayers.end() &&
      it->second.kind == ReplayKind::kReplaying &&
      WatchLives(other.seen_by_peer)) {
    add(other.peer_instance);
  }
  return watchers;
}

std::vector<Watcher> Model::MirroringWatchers(const Site& site) const {
  std::vector<Watcher> watchers;
  const auto add = [&](uint64_t client) {
    watchers.push_back({Address(client), client, 94100000000000 + client});
  };
  if (site.daemon.exists && WatchLives(site.daemon.seen_locally)) {
    add(site.daemon.local_instance);
  }
  if (site.peer != nullptr && site.peer->daemon.exists &&
      WatchLives(site.peer->daemon.seen_by_peer)) {
    add(site.peer->daemon.peer_instance);
  }
  return watchers;
}

std::vector<Locker> Model::Lockers(const Site& site, const Image& image) const {
  if (image.lock) return {image.lock->locker};
  if (!DaemonHoldsLock(site, image)) return {};
  const uint64_t client = site.daemon.local_instance;
  return {{absl::StrCat("client.", client),
           absl::StrCat("auto ", 94000000000000 + client), Address(client)}};
}

std::vector<SiteStatus> Model::Status(const Site& site, const Namespace& where,
                                      const Image& image) const {
  std::vector<SiteStatus> statuses;
  const auto it = where.statuses.find(image.global_id);
  if (it == where.statuses.end()) return statuses;
  for (const auto& [writer, entry] : it->second) {  // "" comes first
    const bool own = writer.empty();
    const Daemon& daemon = own ? site.daemon : site.peer->daemon;
    const uint64_t instance =
        own ? daemon.local_instance : daemon.peer_instance;
    const SteadyTime seen = own ? daemon.seen_locally : daemon.seen_by_peer;
    statuses.push_back({writer, entry.instance == instance && WatchLives(seen),
                        entry.state, entry.description, entry.last_update});
  }
  return statuses;
}

std::vector<MirrorPeer> Model::Peers(const Site& site) const {
  if (site.peer == nullptr) return {};
  return {{site.peer_uuid, absl::StrCat("site-", site.peer->name),
           site.peer->daemon.has_called_peer ? site.peer->mirror_uuid : "",
           site.receives}};
}

// --- librbd
// ----------------------------------------------------------------------

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
      false};
  return 0;
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
  image.mirror_state = MirrorImageState::kEnabled;
  image.mode = mode;
  image.global_id = NewUuid();
  if (mode == MirrorMode::kJournal) {
    image.journal_primary = true;
  } else {
    AddSnapshot(site, image, MirrorSnapshotKind::kPrimary);
  }
  return 0;
}

int Model::Disable(Site& site, Namespace& where, Image& image, Force force) {
  if (image.mirror_state == MirrorImageState::kDisabled) return 0;
  if (!image.primary() && force == Force::kNo) return -EINVAL;
  if (HasMirroredClone(site, image)) return -EBUSY;
  ForgetStatus(where, image);
  TurnOff(image);
  return 0;
}

int Model::BeginPromotion(Site& site, Image& image, Force force,
                          Promotion* promotion) {
  if (image.mirror_state == MirrorImageState::kDisabled) return -ENOENT;
  if (!image.mirrored() || image.primary()) return -EINVAL;
  if (image.mode == MirrorMode::kJournal) return 0;
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
  // The orphan that tells rbd-mirror to let go. It is complete and stays when
  // the promotion is cut short: the next one then sees no need to roll back.
  AddSnapshot(site, image, MirrorSnapshotKind::kNonPrimary);
  return 0;
}

// librbd waits until no rbd-mirror watches the image. One that is busy copying
// from a peer that does not answer never lets go; a frozen one loses its watch.
bool Model::PromotionWaits(const Site& site, const Image& image,
                           const Promotion& promotion) const {
  return promotion.of_copy && DaemonHoldsLock(site, image) &&
         WatchLives(site.daemon.seen_locally);
}

int Model::FinishPromotion(Site& site, Image& image, const Client& client,
                           const Promotion& promotion, SteadyDuration* cost) {
  if (image.mode == MirrorMode::kJournal) {
    image.journal_primary = true;
    return 0;
  }
  if (const int r = AcquireLock(site, image, client, cost); r < 0) return r;
  if (promotion.rollback) {
    image.size = promotion.rollback->size;
    image.content = promotion.rollback->content;
    // What was rolled back is removed, half a demotion is not.
    std::erase_if(image.snapshots, [](const Snapshot& snapshot) {
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
  AddSnapshot(site, image, MirrorSnapshotKind::kPrimary);
  DropUnlinked(image);
  return 0;
}

int Model::Demote(Site& site, Image& image, const Client& client,
                  SteadyDuration* cost) {
  if (!image.mirrored() || !image.primary()) return -EINVAL;
  if (image.mode == MirrorMode::kJournal) {
    image.journal_primary = false;
    return 0;
  }
  if (const int r = AcquireLock(site, image, client, cost); r < 0) return r;
  AddSnapshot(site, image, MirrorSnapshotKind::kPrimaryDemoted);
  DropUnlinked(image);
  // A frozen rbd-mirror of the peer watches the image and acknowledges nothing.
  const bool slow =
      site.peer != nullptr && site.peer->daemon.state == DaemonState::kFrozen;
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
  *id = AddSnapshot(site, image, MirrorSnapshotKind::kPrimary).info.id;
  DropUnlinked(image);
  return 0;
}

int Model::BeginWrite(Site& site, Image& image, const Client& client,
                      SteadyDuration* cost) {
  if (image.read_only()) return -EROFS;
  return AcquireLock(site, image, client, cost);
}

int Model::TakeLock(Site& site, Image& image, const Client& client,
                    SteadyDuration* cost) {
  if (const int r = BeginWrite(site, image, client, cost); r < 0) return r;
  image.lock->is_explicit = true;
  return 0;
}

void Model::OpenedForWriting(Site& site, Image& image) {
  if (site.needless_open_blocklists && DaemonHoldsLock(site, image)) {
    Blocklist(site, site.daemon);
  }
}

// --- controls
// ------------------------------------------------------------------------

void Model::Blocklist(Site& site, Daemon& daemon) {
  site.blocklist[Address(daemon.local_instance)] =
      wall_ + site.clock_skew + std::chrono::hours(1);
  Reconnect(daemon);
}

void Model::Reconnect(Daemon& daemon) {
  daemon.blocklisted_until = now_ + seconds(90);
  daemon.local_instance = NewClientId();
  daemon.seen_locally = now_ - kWatchTimeout;
  for (auto& [global_id, replayer] : daemon.replayers)
    replayer.holds_image = false;
}

void Model::SetDaemon(Site& site, DaemonState state) {
  Daemon& daemon = site.daemon;
  if (daemon.state == state) return;
  if (state == DaemonState::kRunning) {
    if (daemon.state == DaemonState::kDown) {
      daemon.local_instance = NewClientId();
      daemon.peer_instance = NewClientId();
      for (auto& [global_id, replayer] : daemon.replayers) {
        Replayer fresh;
        fresh.deleted = std::move(replayer.deleted);
        replayer = std::move(fresh);
      }
    }
    daemon.ready_at = now_ + kDaemonStart;
    daemon.next_report = daemon.ready_at;
  }
  daemon.state = state;
}

void Model::ForgetStatus(Namespace& where, const Image& image) {
  where.statuses.erase(image.global_id);
}

void Model::ExpireWatches(Site& site) {
  for (auto& [pool_id, pool] : site.pools) {
    for (auto& [name, space] : pool.namespaces) {
      for (auto& [image_name, image] : space.images) {
        std::erase_if(image->watches, [&](const Watch& watch) {
          return watch.expires && *watch.expires <= now_;
        });
      }
    }
  }
}

// The mgr's module. `rbd task add flatten`: 64 objects a second, one task after
// the other.
void Model::RunTasks(Site& site, double passed) {
  if (!site.up || !site.mgr_up || !site.mgr_ready) return;
  if (now_ >= site.next_schedule_refresh) {
    RefreshSchedules(site);
    site.next_schedule_refresh = now_ + std::chrono::minutes(1);
  }
  if (site.tasks.empty()) return;
  FlattenTask& task = site.tasks.front();
  for (auto& [pool_id, pool] : site.pools) {
    if (pool.name != task.pool_name) continue;
    const auto image =
        FindImageById(pool.namespaces[task.rados_namespace], task.image_id);
    task.done += 64 * passed;
    if (image != nullptr &&
        task.done < static_cast<double>(image->size.objects)) {
      return;
    }
    if (image != nullptr) image->parent.reset();
  }
  site.tasks.erase(site.tasks.begin());
}

}  // namespace addons::model
