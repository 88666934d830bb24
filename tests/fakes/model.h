#ifndef ADDONS_TESTS_FAKES_MODEL_H_
#define ADDONS_TESTS_FAKES_MODEL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "ceph/image.h"
#include "ceph/mirror.h"
#include "ceph/object_map.h"
#include "ceph/pool.h"

namespace addons {

/// What rbd-mirror of a site does. Frozen: it exists, holds its watches and
/// locks for a while, and does nothing (SIGSTOP). Down: it died (SIGKILL); its
/// watches and what it said last stay for a while. Ended: it was told to end
/// (SIGTERM); its watches are gone, and it says "stopped" of what it was
/// replaying. Cut off: it was started while the peer's cluster could not be
/// reached, does nothing else, and tells the manager so. Hung: as frozen, but
/// the manager hears that it lives.
enum class DaemonState { kRunning, kFrozen, kDown, kEnded, kCutOff, kHung };

inline bool StandsStill(DaemonState state) {
  return state == DaemonState::kFrozen || state == DaemonState::kHung;
}

/// What `osd blocklist ls` prints.
enum class BlocklistListing {
  kArrays,        // up to Ceph 20
  kObject,        // after it
  kNestedArrays,  // no release; a shape that nobody knows
  kNothing,       // no entries, whatever there is
};

/// The state behind FakeWorld: one or two clusters, their images, and the
/// rbd-mirror daemons between them, as librbd 16.2 and rbd-mirror 16.2 were
/// measured to behave. No locking, no waiting: FakeWorld does both. Results are
/// those of the C API: 0 or a negative errno.
namespace model {

/// Simulated seconds that the real thing was seen to take.
inline constexpr SteadyDuration kStatusInterval = std::chrono::seconds(30);
inline constexpr SteadyDuration kWatchTimeout = std::chrono::seconds(30);
inline constexpr SteadyDuration kDaemonStart = std::chrono::seconds(5);
/// Until an rbd-mirror that died has lost the leader's lock, counted from its
/// death; and from the start of the next one, which finds it dead. Before both
/// are over no image is replayed.
inline constexpr SteadyDuration kLeaderLock = std::chrono::seconds(50);
inline constexpr SteadyDuration kLeaderSearch = std::chrono::seconds(30);
/// Longer than it takes: what bridges this bridges less, too.
inline constexpr SteadyDuration kReconnect = std::chrono::seconds(90);

/// A call that answers this is asked again after the time that it took.
inline constexpr int kAgain = 1000000;
/// The same of a call that has made one of its changes: a process may die here.
inline constexpr int kHalfDone = 1000001;

/// What an image holds: one number for each object, 0 where it is zero.
using Content = std::vector<uint64_t>;

/// A mirror snapshot and what reading it gives: on the primary what the image
/// contained, on a secondary what it contained *before* this snapshot was
/// copied (measured, 16.2.15: rbd-mirror creates the snapshot first and copies
/// into the image itself).
struct Snapshot {
  MirrorSnapshot info;
  ImageSize size;
  Content content;
  std::vector<ObjectState> object_map{};
};

struct Watch {
  Watcher watcher;
  bool handle =
      false;  // an open handle of this process: rbd-mirror waits for it
  std::optional<SteadyTime> expires;  // its client died
};

/// The exclusive lock, as long as a client other than rbd-mirror has it.
struct Lock {
  Locker locker;
  bool is_explicit = false;  // rbd_lock_acquire: it is not given up on request
  bool by_hand = false;      // rbd lock add: nor when its client is dead
};

/// What the journal of an image has recorded, oldest first: what was written,
/// and the changes of its role. The journal of a copy has what was replayed.
struct JournalEvent {
  uint64_t id = 0;  // no other event has it, on either site
  enum class Kind { kWrite, kDemotion, kPromotion } kind = Kind::kWrite;
  uint64_t value = 0;  // of a write
};

/// The primary at the moment when a first copy of it began.
struct JournalCopy {
  Content content;
  std::vector<JournalEvent> journal;
  uint64_t objects = 0;  // that are copied; the first ones
};

struct Image {
  std::string id;
  std::string name;
  int64_t pool_id = 0;
  std::string rados_namespace;
  std::optional<int64_t> data_pool;  // an erasure-coded one
  ImageSize size;
  Timestamp created;
  std::optional<ImageParent> parent;
  std::optional<GroupSpec> group;
  std::map<std::string, std::string> metadata;
  std::vector<Watch> watches;
  std::optional<Lock> lock;
  bool removed = false;
  bool made_by_mirror = false;  // rbd-mirror created it
  /// The feature bit that makes clients refuse writes, whatever the snapshots
  /// say. rbd-mirror gives it to what it creates. A demotion sets it before it
  /// makes its snapshot, a promotion clears it after its own.
  bool marked_non_primary = false;
  /// `rbd snap limit set`; mirror snapshots count. It is copied.
  std::optional<uint64_t> snapshot_limit;

  MirrorImageState mirror_state = MirrorImageState::kDisabled;
  MirrorMode mode = MirrorMode::kJournal;  // librbd says so while it is off
  std::string global_id;
  std::vector<Snapshot> snapshots;  // mirror snapshots, ascending id
  uint64_t next_snapshot_id = 4;
  bool journal_primary = false;  // mode kJournal
  std::vector<JournalEvent> journal;
  /// Mode kJournal: what rbd-mirror copies before it replays anything.
  std::optional<JournalCopy> first_copy;
  bool next_snapshot_incomplete =
      false;  // see FakeSite::LeaveNextSnapshotIncomplete

  Content content;

  ImageFeatures features{true, true, false};
  std::vector<ImageSnapshot> other_snapshots;  // than those of mirroring
  /// What these hold, by id; of their `info` nothing but the id.
  std::map<uint64_t, Snapshot> held;
  /// The object map of what the image contains now, as it was when the image
  /// contained `mapped_content`: at the newest snapshot or rollback.
  std::vector<ObjectState> mapped_states;
  Content mapped_content;
  uint64_t used_objects = 0;  // that exist; the first ones
  uint64_t zero_objects =
      0;  // of these, with nothing but zeros; the first ones

  bool mirrored() const { return mirror_state == MirrorImageState::kEnabled; }
  const Snapshot* newest() const {
    return snapshots.empty() ? nullptr : &snapshots.back();
  }
  const Snapshot* newest_complete() const;
  /// As librbd: the newest mirror snapshot decides.
  bool primary() const;
  bool read_only() const {
    if (mirror_state == MirrorImageState::kDisabled) return marked_non_primary;
    return mode == MirrorMode::kJournal ? !journal_primary : marked_non_primary;
  }
  bool at_snapshot_limit() const {
    return snapshot_limit &&
           snapshots.size() + other_snapshots.size() >= *snapshot_limit;
  }
  bool open_by_this_process() const;
  /// Workloads fill all objects alike: half of one state and half of another.
  bool torn() const;
  void Resize(uint64_t bytes);
  bool journal_demoted() const {
    return !journal.empty() &&
           journal.back().kind == JournalEvent::Kind::kDemotion;
  }
  void Fill(uint64_t value) { content.assign(content.size(), value); }

  /// All snapshots, of mirroring and others, ascending by id.
  std::vector<const Snapshot*> AllSnapshots() const;
  /// What librbd notes of the objects now. A write notes the object as changed;
  /// a rollback takes the map of the snapshot (measured, 16.2.15).
  std::vector<ObjectState> ObjectMapNow() const;
  /// After `snapshot` was made of what the image contains now.
  void MapSnapshot(Snapshot* snapshot);
  /// What the snapshot before it notes as changed is changed in the next one,
  /// once that is gone.
  void ForgetMap(const Snapshot& gone);
  /// Removes the mirror snapshots that `gone` tells, as librbd and rbd-mirror
  /// do.
  void RemoveSnapshots(const std::function<bool(const Snapshot&)>& gone);
  /// Of what the image contains now. False: one has this name.
  bool AddUserSnapshot(const std::string& called,
                       SnapshotKind kind = SnapshotKind::kUser);
  const ImageSnapshot* FindSnapshot(const std::string& called) const;
  /// `rbd snap rollback`.
  void RollBack(const Snapshot& to);
  /// rbd-mirror leaves this object out of a copy from one of its mirror
  /// snapshots to a later one, because the object maps call it unchanged.
  bool LeavesOut(const Snapshot& from, const Snapshot& to,
                 uint64_t object) const;
};

/// One entry of the status objects, as its writer last wrote it.
struct StatusEntry {
  MirrorStatusState state = MirrorStatusState::kUnknown;
  std::string description;
  int64_t last_update = 0;
  uint64_t instance = 0;  // the writer's client on this cluster
};

enum class ReplayKind {
  kStarting,
  kLocalPrimary,
  kSyncing,  // journal mode: the first copy
  kReplaying,
  kRemoteDemoted,
  kRemoteNotPrimary,
  kSplitBrain,
  kIncompletePrimary,
  kNoRemote,  // the peer mirrors the image no more, and this is no copy of it
};

/// What a daemon knows about one image.
struct Replayer {
  ReplayKind kind = ReplayKind::kStarting;
  SteadyTime kind_since{};
  std::optional<ReplayKind> reported;
  SteadyTime demoted_at{};   // was primary here until then
  bool holds_image = false;  // watch and exclusive lock on the local image
  std::optional<SteadyTime> lets_go_at;
  std::optional<SteadyTime> notices_at;  // that the peer is primary again
  std::optional<SteadyTime> create_at;   // a deleted or new image appears then
  std::optional<SteadyTime> delete_at;   // the peer's image is mirrored no more
  std::shared_ptr<Image> deleted;        // waits for its handles to close
  SteadyTime sync_started{};
  bool sync_changes = false;  // the snapshot has another content
  int64_t last_sync_seconds = 0;
  uint64_t last_sync_bytes = 0;
  double budget = 0;           // objects that may be copied now
  uint64_t copies_as = 0;      // the client that copies the newest snapshot
  uint64_t looks_as = 0;       // the client that looked at both images last
  std::string last_replaying;  // what it says while the peer is out of reach
};

struct Daemon {
  bool exists = true;
  DaemonState state = DaemonState::kRunning;
  SteadyTime ready_at{};  // replays from then on
  SteadyTime blocklisted_until{};
  SteadyTime next_report{};
  uint64_t local_instance = 0;
  uint64_t peer_instance = 0;
  SteadyTime seen_locally{};  // its watches on this cluster live from here
  SteadyTime seen_by_peer{};
  /// It has not called this cluster, or the peer's, since it was started.
  bool begins_locally = false;
  bool begins_at_peer = false;
  std::optional<SteadyTime> died_at;
  bool has_called_peer = false;
  double objects_per_second = 100000;
  SteadyDuration absence_on_resync = std::chrono::seconds(7);
  /// How long it takes to notice that a demoted peer was promoted again.
  SteadyDuration notice_delay{0};
  std::map<std::string, Replayer> replayers;  // by global id
};

/// By pool id and image id: whether the call that added the image has ended.
using GroupMembers = std::map<std::pair<int64_t, std::string>, bool>;

/// Of an object of ours: ceph's class "lock".
struct TimedLock {
  Locker locker;
  SteadyTime until{};
};

struct Namespace {
  PoolMirrorMode mode = PoolMirrorMode::kDisabled;
  std::map<std::string, std::shared_ptr<Image>> images;  // by name
  std::map<std::string, OmapValues> omap;                // by object
  /// By object and name of the lock.
  std::map<std::pair<std::string, std::string>, TimedLock> locks;
  bool full = false;                           // FakeSite::SetFull()
  std::map<std::string, GroupMembers> groups;  // by name
  std::map<std::string, std::set<std::string>> group_snapshots;  // by group
  /// By global id, then by the writer's mirror uuid ("": this site).
  std::map<std::string, std::map<std::string, StatusEntry>> statuses;
};

struct PoolState {
  int64_t id = 0;
  std::string name;
  std::map<std::string, Namespace> namespaces;
};

struct Schedule {
  std::string name;
  std::set<std::pair<int64_t, std::string>>
      items;  // minutes, start time ("": none)
};

struct FlattenTask {
  uint64_t sequence = 0;
  std::string id;
  std::string pool_name;
  std::string rados_namespace;
  std::string image_name;
  std::string image_id;
  double done = 0;  // objects
};

struct Site {
  std::string name;
  std::string fsid;
  std::string mirror_uuid;
  std::string peer_uuid;  // how this cluster calls its peer
  std::string user = "csi-rbd";
  std::string key;
  std::string cluster_id;
  bool up = true;
  bool mgr_up = true;
  bool mgr_ready = true;
  bool mgr_has_module = true;  // rbd_support, when the manager is new
  bool needless_open_blocklists = false;
  bool transient_locks = false;  // librbd is that of Ceph 19.2.4 or newer
  std::chrono::seconds clock_skew{0};
  Site* peer = nullptr;
  bool receives = true;  // replication runs from the peer to here
  /// Others that are configured, and whose rbd-mirror nobody plays.
  std::vector<MirrorPeer> more_peers;
  /// Clients on this cluster that rbd-mirrors had which are gone, and until
  /// when their watches live.
  std::map<uint64_t, SteadyTime> old_mirrors;
  std::map<int64_t, PoolState> pools;
  Daemon daemon;
  std::map<std::string, Schedule> schedules;  // by level id
  std::string osd_release = "16.2.15";
  uint64_t pool_room = uint64_t{1} << 40;  // bytes; of each pool
  bool manager_of_21 = false;              // FakeSite::SetManagerOf21()
  /// The full pool that its module waits to write into.
  std::optional<int64_t> manager_waits_at;
  std::vector<FlattenTask> tasks;
  uint64_t next_task = 1;
  SteadyTime next_schedule_refresh{};
  std::map<std::string, WallTime> blocklist;        // address -> until
  std::map<std::string, WallTime> range_blocklist;  // "10.1.0.0:0/16" -> until
  bool range_blocklists = true;  // false: a Ceph that is too old for them
  BlocklistListing blocklist_listing = BlocklistListing::kArrays;
  WallTime map_modified{};  // when the OSD map changed last
  uint64_t map_epoch = 7;
  struct OldMap {
    WallTime modified{};
    std::map<std::string, WallTime> blocklist;
    std::map<std::string, WallTime> range_blocklist;
  };
  std::map<uint64_t, OldMap> old_maps;  // by epoch: those that monitors keep

  /// Before each change of the OSD map.
  void BeginMap(WallTime now) {
    // Copies of long lists would take longer than all the rest of a test.
    constexpr size_t kShortList = 100;
    if (blocklist.size() + range_blocklist.size() <= kShortList) {
      old_maps[map_epoch] = {map_modified, blocklist, range_blocklist};
    } else {
      old_maps.clear();
    }
    ++map_epoch;
    map_modified = now;
  }
  struct Service {
    std::string name;  // "osd.3", "mon.a"
    std::string address;
    bool alive = true;
  };
  std::vector<Service> services;
};

/// Where a handle is and who it is.
struct Client {
  uint64_t id = 0;
  std::string address;
};

/// What the OSDs keep of an object "rbd_data.<image id>.<number>": one clone
/// for each run of snapshots between which it was not written with another
/// content.
ObjectSnapshots SnapshotsOf(const Namespace& where, absl::string_view object);
/// "rbd_object_map.<image id>" or "rbd_object_map.<image id>.<snapshot>";
/// nullopt: it is not there.
std::optional<std::string> ObjectMapAt(const Namespace& where,
                                       absl::string_view object);
/// What such an object holds (kHead), or held at a snapshot; 0: it is not
/// there.
uint64_t ObjectAt(const Namespace& where, absl::string_view object,
                  uint64_t snapshot);
/// The same to be changed; nullptr: no image has such an object.
uint64_t* HeadObject(const Namespace& where, absl::string_view object);
/// An object that holds `value`, as bytes; none for 0.
std::string ObjectBytes(uint64_t value, uint64_t length);
uint64_t ObjectValue(absl::string_view bytes);

class Model {
 public:
  Model();

  SteadyTime now() const { return now_; }
  WallTime wall() const { return wall_; }
  /// What the clock of the cluster of this site shows, in unix seconds.
  int64_t ClockOf(const Site& site) const;
  /// One step of at most a second: daemons copy, report and clean up.
  void Tick(SteadyDuration step);

  Site& AddSite(const std::string& name);
  /// nullptr: none.
  Site* FindSite(absl::string_view name);
  const std::vector<std::unique_ptr<Site>>& sites() const { return sites_; }
  void Connect(Site& a, Site& b);
  bool link_up = true;
  /// Images of journal mode are replicated, too.
  bool replays_journals = false;
  void Record(Image& image, JournalEvent::Kind kind, uint64_t value = 0);
  bool Reachable(const Site& from) const;

  // --- images ---------------------------------------------------------------
  std::shared_ptr<Image> CreateImage(Site& site, PoolState& pool,
                                     const std::string& rados_namespace,
                                     const std::string& name, uint64_t bytes);
  static std::shared_ptr<Image> FindImage(Site& site, absl::string_view name);
  static std::shared_ptr<Image> FindImageById(const Namespace& where,
                                              absl::string_view id);
  static std::shared_ptr<Image> FindByGlobalId(const Namespace& where,
                                               absl::string_view global_id);

  MirrorImageInfo Info(const Image& image) const;
  std::vector<Watcher> Watchers(const Site& site, const Image& image) const;
  std::vector<Watcher> MirroringWatchers(const Site& site) const;
  /// Whether this client of an rbd-mirror, of either site, has a watch on
  /// rbd_mirroring of `site`: "up" in a status is that of its writer.
  bool MirrorWatches(const Site& site, uint64_t instance) const;
  std::vector<Locker> Lockers(const Site& site, const Image& image) const;
  std::vector<SiteStatus> Status(const Site& site, const Namespace& where,
                                 const Image& image) const;
  std::vector<MirrorPeer> Peers(const Site& site) const;

  // --- what librbd does; `cost` is the simulated time that it takes

  int SetMetadata(Site& site, Image& image, const Client& client,
                  const std::string& key, const std::string* value);
  int Enable(Site& site, Namespace& where, Image& image, MirrorMode mode);
  int Disable(Site& site, Namespace& where, Image& image, Force force);
  /// A promotion in its parts: the check, the wait for rbd-mirror to let go (as
  /// long as PromotionWaits(), which may be for ever), the rest.
  struct Promotion {
    bool of_copy = false;  // the newest snapshot was copied and is not demoted
    std::optional<Snapshot> rollback;
    bool changed = false;  // only the mark is left to be removed
  };
  int BeginPromotion(Site& site, Image& image, Force force,
                     Promotion* promotion);
  /// A forced promotion (and a forced disabling) ends the process inside
  /// librbd: a user's snapshot lies between an incomplete copy and the one
  /// before it.
  static bool CrashesLibrbd(const Image& image);
  /// So does whoever makes a mirror snapshot of a primary in the moment in
  /// which the manager makes one: at the full minutes of the schedules that
  /// apply, by the cluster's clock, and for some seconds.
  bool ManagerMakesSnapshot(const Site& site, const Image& image) const;
  bool PromotionWaits(const Site& site, const Image& image,
                      const Promotion& promotion) const;
  /// Takes two calls; the first one answers kHalfDone.
  int FinishPromotion(Site& site, Image& image, const Client& client,
                      Promotion* promotion, SteadyDuration* cost);
  /// The same; `begun` is false before the first call.
  int Demote(Site& site, Image& image, const Client& client, bool* begun,
             SteadyDuration* cost);
  int Resync(Site& site, Image& image);
  int CreateSnapshot(Site& site, Image& image, uint64_t* id);
  /// Takes the exclusive lock for `client` until it lets go.
  int TakeLock(Site& site, Image& image, const Client& client, LockMode mode,
               SteadyDuration* cost);
  /// What a client does that writes: 0 when it may, with the exclusive lock.
  int BeginWrite(Site& site, Image& image, const Client& client,
                 SteadyDuration* cost);
  /// A writable open that was not needed.
  void OpenedForWriting(Site& site, Image& image);

  // --- helpers of the controls -----------------------------------------------
  void Blocklist(Site& site, Daemon& daemon);
  void ComeBackLater(Daemon& daemon) const;
  /// What an rbd-mirror does that was blocklisted, at either site: it begins
  /// anew on both.
  void Reconnect(Daemon& daemon);
  void SetDaemon(Site& site, DaemonState state);
  /// The entries about `image` in `where`.
  static void ForgetStatus(Namespace& where, const Image& image);
  uint64_t NewClientId() { return next_client_++; }
  std::string Address(uint64_t client_id) const;
  std::string NewUuid();
  Snapshot& AddSnapshot(const Site& site, Image& image,
                        MirrorSnapshotKind kind);

 private:
  int AcquireLock(Site& site, Image& image, const Client& client,
                  SteadyDuration* cost);
  void MakePrimarySnapshot(const Site& site, Image& image,
                           MirrorSnapshotKind kind);
  bool DaemonHoldsLock(const Site& site, const Image& image) const;
  bool WatchLives(SteadyTime seen) const { return now_ - seen < kWatchTimeout; }
  void ExpireWatches(Site& site);
  void RunTasks(Site& site, double seconds);

  void RunDaemon(Site& site, double seconds);
  bool DaemonWorks(const Site& site) const;
  void StartDaemon(Site& site);
  void EndDaemon(Site& site);
  /// What an rbd-mirror does when it begins: the entries of all that are down
  /// go.
  void RemoveDownStatuses(Site& site);
  struct Pair;  // one pool and namespace of a site and of its peer
  static void ForEachPair(Site& site,
                          const std::function<void(const Pair&)>& visit);
  void ReplayPair(const Pair& pair, double seconds, bool report);
  void Replay(const Pair& pair, const std::string& global_id, double seconds);
  ReplayKind Follow(Site& site, Image& local, Image& remote,
                    Replayer& replayer);
  /// The same in journal mode.
  ReplayKind FollowJournal(Site& site, Image& local, const Image& remote,
                           Replayer& replayer);
  bool GoOnWithFirstCopy(Site& site, Image& local, Replayer& replayer);
  static void SetJournalTags(Site& site, const Image& image, char tags);
  static std::string DescribeFirstCopy(const Image* local);
  bool CopyNext(Site& site, Image& local, Image& remote, Replayer& replayer);
  void FinishCopy(Site& site, Image& local, Image& remote, size_t target,
                  bool base_complete, Replayer& replayer);
  bool HandleResync(const Pair& pair, std::shared_ptr<Image> local,
                    const Image& remote, Replayer& replayer);
  void HandleAbsentRemote(const Pair& pair, Image& local, Replayer& replayer);
  void CreateLocal(const Pair& pair, const Image& remote, Replayer& replayer);
  void DeleteLocal(const Pair& pair, Image& image);
  /// It has both images of a split brain open at the moment.
  bool LooksAgain(const Replayer& replayer) const;
  void SetKind(Replayer& replayer, ReplayKind kind);
  void ReportIfDue(const Pair& pair, const std::string& global_id,
                   bool periodic);
  void WriteStatus(const Pair& pair, const std::string& global_id,
                   StatusEntry entry);
  StatusEntry Describe(const Pair& pair, const Image* local,
                       const Image* remote, ReplayKind told,
                       Replayer& replayer) const;

  SteadyTime now_;
  WallTime wall_;
  std::vector<std::unique_ptr<Site>> sites_;
  uint64_t next_client_ = 4100;
  uint64_t next_image_ = 0x1025eac51000;
  uint64_t next_uuid_ = 1;
  uint64_t next_event_ = 1;
};

}  // namespace model
}  // namespace addons

#endif  // ADDONS_TESTS_FAKES_MODEL_H_
