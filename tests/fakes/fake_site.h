#ifndef ADDONS_TESTS_FAKES_FAKE_SITE_H_
#define ADDONS_TESTS_FAKES_FAKE_SITE_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "ceph/cluster.h"
#include "tests/fakes/model.h"

namespace addons {

class FakeWorld;

/// The controls of one cluster: what an administrator, a workload or bad luck
/// does. Images are named by their name alone, so keep names unique in a site.
/// Bad names are a mistake of the test and end it. Thread-safe.
class FakeSite {
 public:
  FakeSite(FakeWorld& world, model::Site& site) : world_(world), site_(site) {}

  const std::string& name() const { return site_.name; }
  const std::string& fsid() const { return site_.fsid; }
  const std::string& mirror_uuid() const { return site_.mirror_uuid; }
  const std::string& cluster_id() const { return site_.cluster_id; }
  /// The user that this cluster accepts.
  CephUserRef user() const;
  ClusterTarget target() const {
    return {ClusterId(site_.cluster_id), {site_.cluster_id + ":6789"}};
  }

  // --- contents

  void AddPool(int64_t id, const std::string& name);
  /// Also creates the namespace.
  void SetPoolMirrorMode(const std::string& pool,
                         const std::string& rados_namespace,
                         PoolMirrorMode mode);
  void AddImage(const std::string& pool, const std::string& rados_namespace,
                const std::string& image, uint64_t bytes = uint64_t{256} << 20);
  void AddClone(const std::string& parent, const std::string& clone);
  void RemoveImage(const std::string& image);
  /// `rbd rename`; the peer's copy keeps its name.
  void RenameImage(const std::string& image, const std::string& name);
  bool HasImage(const std::string& image) const;
  std::string ImageId(const std::string& image) const;
  void SetOmap(const std::string& pool, const std::string& rados_namespace,
               const std::string& object, OmapValues values);
  /// Creates the object when it is not there.
  void AddOmapValue(const std::string& pool, const std::string& rados_namespace,
                    const std::string& object, const std::string& key,
                    const std::string& value);
  OmapValues Omap(const std::string& pool, const std::string& rados_namespace,
                  const std::string& object) const;
  bool HasOmap(const std::string& pool, const std::string& rados_namespace,
               const std::string& object) const;
  /// The rbd groups by name, with the names of their images ("": it is gone).
  std::map<std::string, std::vector<std::string>> Groups(
      const std::string& pool, const std::string& rados_namespace) const;
  /// Leaves `group` as a client does that dies while it adds the image with
  /// this internal id, which may be gone.
  void LeaveGroupImageIncomplete(const std::string& pool,
                                 const std::string& rados_namespace,
                                 const std::string& group,
                                 const std::string& image_id);
  /// `rbd group snap create`.
  void AddGroupSnapshot(const std::string& pool,
                        const std::string& rados_namespace,
                        const std::string& group, const std::string& snapshot);
  void SetImageMetadata(const std::string& image, const std::string& key,
                        const std::string& value);
  std::map<std::string, std::string> ImageMetadata(
      const std::string& image) const;

  /// Everything that is there, key by key, so that two runs can be compared:
  /// what differs between runs that did the same (ids, times, addresses of
  /// clients, how many snapshots were taken) is left out or replaced by a word.
  std::map<std::string, std::string> Contents() const;

  // --- workloads

  /// What a client does that has the image mapped. EROFS unless primary.
  absl::Status Write(const std::string& image, uint64_t value);
  uint64_t Data(const std::string& image) const;
  /// The content is no state that the image ever had.
  bool Torn(const std::string& image) const;
  void AddWatcher(const std::string& image, const std::string& address,
                  uint64_t client_id);
  void RemoveWatcher(const std::string& image, uint64_t client_id);
  /// kByHand: `rbd lock add`; librbd waits for it without end.
  enum class LockKind { kAutomatic, kExplicit, kByHand };
  /// A client (of AddWatcher()) takes the exclusive lock.
  void AddLocker(const std::string& image, const std::string& address,
                 uint64_t client_id, LockKind kind);
  void RemoveLocker(const std::string& image);

  // --- space

  void SetFeatures(const std::string& image, const ImageFeatures& features);
  void AddSnapshot(const std::string& image, const std::string& name,
                   SnapshotKind kind);
  /// `rbd snap rollback` to one of those.
  void RollBack(const std::string& image, const std::string& name);
  /// One object alone: the content is torn.
  void WriteObject(const std::string& image, uint64_t object, uint64_t value);
  uint64_t Object(const std::string& image, uint64_t object) const;
  /// So many objects exist, and so many of them have nothing but zeros.
  void SetUsage(const std::string& image, uint64_t used_objects,
                uint64_t zero_objects);
  uint64_t UsedObjects(const std::string& image) const;
  bool HasLock(const std::string& image) const;

  // --- mirroring, as an administrator

  void EnableMirroring(const std::string& image,
                       MirrorMode mode = MirrorMode::kSnapshot);
  void CreateMirrorSnapshot(const std::string& image);
  void Demote(const std::string& image);
  void Promote(const std::string& image, Force force);
  MirrorImageInfo Info(const std::string& image) const;
  std::vector<MirrorSnapshot> Snapshots(const std::string& image) const;
  /// `rbd snap rm`.
  void RemoveSnapshot(const std::string& image, const std::string& name);
  /// Those that mirroring has not made.
  std::vector<ImageSnapshot> OtherSnapshots(const std::string& image) const;
  /// What reading the snapshot gives; see model::Snapshot.
  uint64_t SnapshotData(const std::string& image, uint64_t snapshot_id) const;
  std::vector<SiteStatus> Status(const std::string& image) const;
  /// One more peer, whose rbd-mirror only SetStatus() speaks for.
  void AddPeer(const MirrorPeer& peer);
  /// Overwrites an entry until the daemon writes it again; `mirror_uuid` empty:
  /// the local one.
  void SetStatus(const std::string& image, const std::string& mirror_uuid,
                 MirrorStatusState state, const std::string& description);
  void RemoveStatuses(const std::string& image);
  /// This site's image goes its own way: demoted, and unrelated to the peer's,
  /// which is primary.
  void ForceSplitBrain(const std::string& image);
  /// The next demotion, promotion or mirror snapshot answers 0 and leaves an
  /// incomplete snapshot, as after a stall of the cluster.
  void LeaveNextSnapshotIncomplete(const std::string& image);
  void SetMirrorImageState(const std::string& image, MirrorImageState state);
  void RemoveMirrorSnapshots(const std::string& image);
  /// As a client leaves it that dies in the middle of disabling: "disabling",
  /// and its mirror snapshots are gone.
  void InterruptDisable(const std::string& image);
  /// As one leaves it that dies in the middle of enabling: "creating".
  void InterruptEnable(const std::string& image);
  /// What a promotion that died inside librbd may leave: a primary that refuses
  /// every write.
  void RefuseWrites(const std::string& image);
  /// A copy of what this secondary has already arrived, whole, just now.
  void AddCopiedSnapshot(const std::string& image);
  /// `rbd snap limit set`; nullopt: clear. Mirror snapshots count.
  void SetSnapshotLimit(const std::string& image,
                        std::optional<uint64_t> limit);
  /// Its data lies in an erasure-coded pool, which gets this id.
  void SetDataPool(const std::string& image, int64_t pool_id);
  /// Schedules by level, as `rbd mirror snapshot schedule list` prints them.
  std::string Schedules() const;

  // --- faults

  /// Down: connections are refused after 5 s, reads time out after 10 s,
  /// mutations hang until it is up again, its rbd-mirror does nothing.
  void SetClusterUp(bool up);
  /// Down: manager commands answer ETIMEDOUT after 5 s.
  void SetMgrUp(bool up);
  /// Not ready: the module's commands answer EAGAIN.
  void SetMgrModuleReady(bool ready);
  /// false: the manager does not know the module's commands.
  void SetMgrHasModule(bool has);
  /// The pool has reached its quota: a lock of a new object is EDQUOT, and the
  /// manager's module is stuck when it has to write there; other
  /// calls go on.
  void SetFull(bool full);
  void SetMirrorDaemon(DaemonState state);
  /// After it was blocklisted, sooner than it would.
  void ReconnectMirrorDaemon();
  void SetCopySpeed(double objects_per_second);
  /// How long its rbd-mirror takes to notice that a demoted peer was promoted
  /// again: 0 here, up to 30 s with default intervals.
  void SetNoticeDelay(SteadyDuration delay);
  /// How long a resync keeps the image away (7 s).
  void SetResyncAbsence(SteadyDuration duration);
  /// The manager's module is that of Ceph 21, by its release notes: a start
  /// time must have a date, and is kept and listed in UTC with it; what is
  /// wrong with a level is told without words around it (so from 18 on).
  void SetManagerOf21(bool is_so);
  /// What its OSDs run: "18.2.7".
  void SetOsdRelease(const std::string& release);
  /// How many bytes each pool has room for, by what the monitors say.
  void SetPoolRoom(uint64_t bytes);
  /// This cluster's wall clock: stamps of statuses and snapshots.
  void SetClockSkew(std::chrono::seconds skew);
  /// All connections of this process get blocklisted.
  void BlocklistClients();
  /// A daemon "osd.3", "mon.a" or "mgr.x" at "10.0.0.1:6800"; a name that is
  /// known already gets this address and state.
  void SetService(const std::string& name, const std::string& address,
                  bool alive);
  /// A Ceph that has no range blocklists yet.
  void SetRangeBlocklists(bool on);
  /// How `osd blocklist ls` prints the entries.
  void SetBlocklistListing(BlocklistListing listing);
  /// All entries by key as listed; those of ranges with "range " before it.
  std::map<std::string, WallTime> Blocklist() const;
  void ClearBlocklist();
  /// An administrator's `osd blocklist [range] add`; `key` as it is listed.
  void AddBlocklistEntry(const std::string& key, SteadyDuration expire);
  void AddRangeBlocklistEntry(const std::string& key, SteadyDuration expire);
  /// The monitors trim all OSD maps but the newest one.
  void ForgetOldMaps();
  /// A writable open of an image that rbd-mirror copies blocklists rbd-mirror.
  void SetNeedlessOpenBlocklists(bool on);
  /// This process has a librbd with LockMode::kTransient.
  void SetTransientLocks(bool on);
  /// The key that the cluster accepts from now on.
  void SetKey(const std::string& key);

 private:
  friend class FakeWorld;
  friend class FakeClusterProvider;

  // The world's lock is held in all of these.
  std::shared_ptr<model::Image> Find(const std::string& image) const;
  model::PoolState& Pool(const std::string& name) const;
  model::Namespace& Space(const model::Image& image) const;

  FakeWorld& world_;
  model::Site& site_;
};

}  // namespace addons

#endif  // ADDONS_TESTS_FAKES_FAKE_SITE_H_
