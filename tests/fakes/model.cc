#include "tests/fakes/model.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "tests/fakes/commands.h"
#include "tests/fakes/model_begin.h"

namespace addons::model {
namespace {

using std::chrono::seconds;

constexpr uint64_t kObjectBytes = uint64_t{4} << 20;
// Of images below 4 MiB, so that tests can read and write many objects: a
// thousand rescues of 2 MiB cost minutes of a processor.
constexpr uint64_t kSmallObjectBytes = uint64_t{8} << 10;

/// In the minute of `when`, between two full minutes, at which the manager is
/// at work.
WallTime InTheMinuteOf(WallTime when) {
  return std::chrono::floor<std::chrono::minutes>(when) + seconds(25);
}

WallTime& Begin() {
  static WallTime begin =
      InTheMinuteOf(std::chrono::sys_days(std::chrono::November / 1 / 2026) +
                    std::chrono::hours(3));
  return begin;
}

/// The image and number of "rbd_data.<image id>.<number>"; nullptr: no such
/// image, or another object.
std::pair<std::shared_ptr<Image>, uint64_t> DataObject(
    const Namespace& where, absl::string_view object) {
  uint64_t number = 0;
  if (!absl::ConsumePrefix(&object, "rbd_data.") ||
      !absl::SimpleHexAtoi(object.substr(object.rfind('.') + 1), &number)) {
    return {};
  }
  return {Model::FindImageById(where, object.substr(0, object.rfind('.'))),
          number};
}

uint64_t ValueIn(const Content& content, uint64_t number) {
  return number < content.size() ? content[number] : 0;
}

}  // namespace

std::string ObjectBytes(uint64_t value, uint64_t length) {
  std::string bytes;
  if (value == 0) return bytes;
  bytes.reserve(length);
  for (uint64_t i = 0; i < std::min<uint64_t>(length, 8); ++i) {
    bytes.push_back(static_cast<char>(value >> (8 * i)));
  }
  while (bytes.size() < length) {
    bytes.append(bytes, 0, std::min(bytes.size(), length - bytes.size()));
  }
  return bytes;
}

uint64_t ObjectValue(absl::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8 && i < bytes.size(); ++i) {
    value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return value;
}

uint64_t ObjectAt(const Namespace& where, absl::string_view object,
                  uint64_t snapshot) {
  const auto [image, number] = DataObject(where, object);
  if (image == nullptr) return 0;
  if (snapshot == kHead) return ValueIn(image->content, number);
  for (const Snapshot* one : image->AllSnapshots()) {
    if (one->info.id == snapshot) return ValueIn(one->content, number);
  }
  return 0;
}

std::optional<std::string> ObjectMapAt(const Namespace& where,
                                       absl::string_view object) {
  if (!absl::ConsumePrefix(&object, "rbd_object_map.")) return std::nullopt;
  const size_t dot = object.find('.');
  const auto image = Model::FindImageById(where, object.substr(0, dot));
  if (image == nullptr || !image->features.fast_diff) return std::nullopt;
  if (dot == absl::string_view::npos) {
    std::vector<ObjectState> states = image->ObjectMapNow();
    const size_t used = std::min<size_t>(image->used_objects, states.size());
    for (size_t i = 0; i < used; ++i) {
      if (states[i] == ObjectState::kNonexistent) {
        states[i] = ObjectState::kExists;
      }
    }
    return EncodeObjectMap(states);
  }
  uint64_t id = 0;
  if (!absl::SimpleHexAtoi(object.substr(dot + 1), &id)) return std::nullopt;
  for (const Snapshot* one : image->AllSnapshots()) {
    if (one->info.id == id) return EncodeObjectMap(one->object_map);
  }
  return std::nullopt;
}

uint64_t* HeadObject(const Namespace& where, absl::string_view object) {
  const auto [image, number] = DataObject(where, object);
  if (image == nullptr || number >= image->content.size()) return nullptr;
  return &image->content[number];
}

ObjectSnapshots SnapshotsOf(const Namespace& where, absl::string_view object) {
  ObjectSnapshots found;
  // A lambda captures these; clang 14 refuses that of structured bindings.
  const auto data = DataObject(where, object);
  const std::shared_ptr<Image> image = data.first;
  const uint64_t number = data.second;
  if (image == nullptr) return found;
  const auto value = [number](const Content& content) {
    return ValueIn(content, number);
  };
  std::optional<uint64_t> last;
  const auto add = [&](uint64_t snapshot, uint64_t seen) {
    const bool same = last == seen;
    last = seen;
    if (seen == 0) return;  // the object is not there
    const bool head = snapshot == kHead;
    if (same) {
      ObjectClone& clone = found.clones.back();
      if (head) {
        // Not cloned since the first of those snapshots.
        clone.id = kHead;
        clone.snapshots.clear();
      } else {
        clone.snapshots.push_back(snapshot);
        clone.id = snapshot;
      }
      return;
    }
    found.clones.push_back(
        {snapshot,
         head ? std::vector<uint64_t>() : std::vector<uint64_t>{snapshot},
         {},
         image->size.object_bytes});
  };
  uint64_t before_head = 0;  // the newest snapshot that the head is not
  const uint64_t now = value(image->content);
  for (const Snapshot* snapshot : image->AllSnapshots()) {
    add(snapshot->info.id, value(snapshot->content));
    if (value(snapshot->content) != now) before_head = snapshot->info.id;
  }
  add(kHead, now);
  found.newest_snapshot = before_head;
  return found;
}

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

std::vector<const Snapshot*> Image::AllSnapshots() const {
  std::vector<const Snapshot*> all;
  for (const Snapshot& snapshot : snapshots) all.push_back(&snapshot);
  for (const auto& entry : held) all.push_back(&entry.second);
  std::sort(all.begin(), all.end(), [](const auto* one, const auto* other) {
    return one->info.id < other->info.id;
  });
  return all;
}

std::vector<ObjectState> Image::ObjectMapNow() const {
  std::vector<ObjectState> states(content.size(), ObjectState::kNonexistent);
  for (size_t i = 0; i < content.size(); ++i) {
    if (content[i] == 0) continue;
    const bool as_mapped =
        i < mapped_content.size() && mapped_content[i] == content[i];
    states[i] = as_mapped ? mapped_states[i] : ObjectState::kExists;
  }
  return states;
}

void Image::MapSnapshot(Snapshot* snapshot) {
  snapshot->object_map = ObjectMapNow();
  mapped_content = content;
  mapped_states = snapshot->object_map;
  std::replace(mapped_states.begin(), mapped_states.end(), ObjectState::kExists,
               ObjectState::kExistsClean);
}

void Image::ForgetMap(const Snapshot& gone) {
  std::vector<ObjectState>* next = &mapped_states;
  uint64_t next_id = UINT64_MAX;
  const auto consider = [&](Snapshot& snapshot) {
    if (snapshot.info.id <= gone.info.id || snapshot.info.id > next_id) {
      return;
    }
    next = &snapshot.object_map;
    next_id = snapshot.info.id;
  };
  for (Snapshot& snapshot : snapshots) consider(snapshot);
  for (auto& entry : held) consider(entry.second);
  const size_t both = std::min(next->size(), gone.object_map.size());
  for (size_t i = 0; i < both; ++i) {
    if ((*next)[i] == ObjectState::kExistsClean &&
        gone.object_map[i] == ObjectState::kExists) {
      (*next)[i] = ObjectState::kExists;
    }
  }
}

bool Image::AddUserSnapshot(const std::string& called, SnapshotKind kind) {
  if (FindSnapshot(called) != nullptr) return false;
  Snapshot snapshot;
  snapshot.info.id = next_snapshot_id++;
  snapshot.size = size;
  snapshot.content = content;
  MapSnapshot(&snapshot);
  other_snapshots.push_back({snapshot.info.id, called, kind});
  held[snapshot.info.id] = std::move(snapshot);
  return true;
}

const ImageSnapshot* Image::FindSnapshot(const std::string& called) const {
  for (const ImageSnapshot& snapshot : other_snapshots) {
    if (snapshot.name == called) return &snapshot;
  }
  return nullptr;
}

void Image::RemoveSnapshots(const std::function<bool(const Snapshot&)>& gone) {
  for (const Snapshot& snapshot : snapshots) {
    if (gone(snapshot)) ForgetMap(snapshot);
  }
  std::erase_if(snapshots, gone);
}

void Image::RollBack(const Snapshot& to) {
  Resize(to.size.bytes);
  content = to.content;
  mapped_content = content;
  mapped_states = to.object_map;
}

bool Image::LeavesOut(const Snapshot& from, const Snapshot& to,
                      uint64_t object) const {
  if (!features.fast_diff) return false;
  const auto state = [object](const Snapshot& snapshot) {
    return object < snapshot.object_map.size() ? snapshot.object_map[object]
                                               : ObjectState::kNonexistent;
  };
  ObjectState before = state(from);
  for (const Snapshot* one : AllSnapshots()) {
    if (one->info.id <= from.info.id || one->info.id > to.info.id) continue;
    const ObjectState now = state(*one);
    const bool changed = now == ObjectState::kNonexistent
                             ? before != now
                             : now != ObjectState::kExistsClean ||
                                   before == ObjectState::kNonexistent;
    if (changed) return false;
    before = now;
  }
  return true;
}

void Image::Resize(uint64_t bytes) {
  size.bytes = bytes;
  size.objects = (bytes + size.object_bytes - 1) / size.object_bytes;
  content.resize(size.objects);
}

void BeginModelsNow() {
  Begin() = InTheMinuteOf(std::chrono::system_clock::now());
}

Model::Model() : now_(std::chrono::steady_clock::now()), wall_(Begin()) {}

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
      (it->second.kind == ReplayKind::kReplaying ||
       it->second.kind == ReplayKind::kSyncing || LooksAgain(it->second)) &&
      WatchLives(other.seen_by_peer)) {
    add(other.peer_instance);
  }
  return watchers;
}

bool Model::MirrorWatches(const Site& site, uint64_t instance) const {
  if (instance == site.daemon.local_instance) {
    return WatchLives(site.daemon.seen_locally);
  }
  if (site.peer != nullptr && instance == site.peer->daemon.peer_instance) {
    return WatchLives(site.peer->daemon.seen_by_peer);
  }
  const auto old = site.old_mirrors.find(instance);
  return old != site.old_mirrors.end() && now_ < old->second;
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
  for (const auto& [instance, until] : site.old_mirrors) {
    if (now_ < until) add(instance);
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
    statuses.push_back({writer, MirrorWatches(site, entry.instance),
                        entry.state, entry.description, entry.last_update});
  }
  return statuses;
}

std::vector<MirrorPeer> Model::Peers(const Site& site) const {
  if (site.peer == nullptr) return {};
  std::vector<MirrorPeer> peers = {
      {site.peer_uuid, absl::StrCat("site-", site.peer->name),
       site.peer->daemon.has_called_peer ? site.peer->mirror_uuid : "",
       site.peer->receives}};
  peers.insert(peers.end(), site.more_peers.begin(), site.more_peers.end());
  return peers;
}

// --- controls

void Model::Blocklist(Site& site, Daemon& daemon) {
  site.blocklist[Address(daemon.local_instance)] =
      wall_ + site.clock_skew + std::chrono::hours(1);
  Reconnect(daemon);
}

/// Its new clients are seen before it copies (measured: 15 to 56 s after it was
/// blocklisted, and 20 to 68 s).
void Model::ComeBackLater(Daemon& daemon) const {
  daemon.ready_at = now_ + kReconnect;
  daemon.blocklisted_until = daemon.ready_at - kDaemonStart;
}

void Model::Reconnect(Daemon& daemon) {
  ComeBackLater(daemon);
  daemon.local_instance = NewClientId();
  daemon.seen_locally = now_ - kWatchTimeout;
  daemon.begins_locally = true;
  daemon.peer_instance = NewClientId();
  daemon.seen_by_peer = now_ - kWatchTimeout;
  daemon.begins_at_peer = true;
  for (auto& [global_id, replayer] : daemon.replayers) {
    replayer.holds_image = false;
    replayer.reported.reset();
  }
}

void Model::SetDaemon(Site& site, DaemonState state) {
  Daemon& daemon = site.daemon;
  if (daemon.state == state) return;
  const bool existed =
      daemon.state == DaemonState::kRunning || StandsStill(daemon.state);
  if (state == DaemonState::kRunning) {
    daemon.ready_at = now_ + kDaemonStart;
    if (!existed) StartDaemon(site);
    daemon.next_report = daemon.ready_at;
  } else if (state == DaemonState::kDown && existed) {
    daemon.died_at = now_;
  } else if (state == DaemonState::kEnded) {
    EndDaemon(site);
  }
  daemon.state = state;
}

void Model::StartDaemon(Site& site) {
  Daemon& daemon = site.daemon;
  site.old_mirrors[daemon.local_instance] = daemon.seen_locally + kWatchTimeout;
  daemon.local_instance = NewClientId();
  daemon.seen_locally = now_ - kWatchTimeout;
  daemon.begins_locally = true;
  if (site.peer != nullptr) {
    site.peer->old_mirrors[daemon.peer_instance] =
        daemon.seen_by_peer + kWatchTimeout;
  }
  daemon.peer_instance = NewClientId();
  daemon.seen_by_peer = now_ - kWatchTimeout;
  daemon.begins_at_peer = true;
  if (daemon.died_at) {
    daemon.ready_at =
        std::max(now_ + kLeaderSearch, *daemon.died_at + kLeaderLock);
    daemon.died_at.reset();
  }
  for (auto& [global_id, replayer] : daemon.replayers) {
    Replayer fresh;
    fresh.deleted = std::move(replayer.deleted);
    replayer = std::move(fresh);
  }
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
