#ifndef ADDONS_TESTS_FAKES_FAKE_WORLD_H_
#define ADDONS_TESTS_FAKES_FAKE_WORLD_H_

#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "ceph/cluster.h"
#include "tests/fakes/model.h"

namespace addons {

class FakeSite;

/// Thrown by a call hook: the process dies here. Open handles leave their
/// watches behind for 30 s, as those of a real dead client.
struct FakeCrash : std::exception {
  const char* what() const noexcept override { return "the process died here"; }
};

/// One call of an interface method, by the C function that it stands for.
struct CallRecord {
  std::string site;
  std::string call;    // "rbd_mirror_image_demote"
  std::string object;  // image, omap object or command; may be empty
  bool mutation = false;
  SteadyTime at{};
};

/// One or two mirrored Ceph clusters in memory, with their time: nothing here
/// takes real seconds. What the fakes promise is what librbd 16.2 and
/// rbd-mirror 16.2 were measured to do; tests/contract holds both to it. Not
/// modelled: journal replay, snapshots that schedules take, image content
/// beyond one number.
///
/// As Clock it lets simulated time pass in steps of at most a second and
/// returns at once; whoever sleeps drives rbd-mirror, statuses and timeouts.
/// Threads share the time. Thread-safe; hooks and scheduled functions run
/// without the world's lock and may use the world, block or throw.
class FakeWorld final : public Clock {
 public:
  /// Returns 0 to go on, or a positive errno that the call answers.
  using CallHook = std::function<int(absl::string_view site,
                                     absl::string_view call, bool mutation)>;

  FakeWorld();
  ~FakeWorld() override;
  FakeWorld(const FakeWorld&) = delete;
  FakeWorld& operator=(const FakeWorld&) = delete;

  SteadyTime Now() const override;
  WallTime WallNow() const override;
  bool SleepFor(SteadyDuration duration, std::stop_token stop) override;

  /// SleepFor() for tests.
  void Advance(SteadyDuration duration);
  /// Advances until `condition` holds, at most `limit`; false: it never did.
  bool AdvanceUntil(const std::function<bool()>& condition,
                    SteadyDuration limit);
  /// Runs `action` once, when that much time has passed.
  void Schedule(SteadyDuration after, std::function<void()> action);

  /// A cluster "a" has the cluster id "site-a" and the user "csi-rbd".
  FakeSite& AddSite(const std::string& name);
  FakeSite& site(absl::string_view name);
  /// Makes two sites peers; replication runs in both directions.
  void Mirror(FakeSite& a, FakeSite& b);
  /// Replication runs from `source` only: no rbd-mirror there, and so no status
  /// entry of it on the other side.
  void MirrorOneWay(FakeSite& source, FakeSite& target);
  /// Whether the rbd-mirror daemons reach the other cluster.
  void SetLinkUp(bool up);

  /// `before` runs before each call takes effect (an errno: it has none),
  /// `after` when it has (an errno: the effect stays and the caller is told of
  /// a failure).
  void SetCallHook(CallHook before, CallHook after = nullptr);

  std::vector<CallRecord> Calls() const;
  /// How often `call` ("rbd_open") was made on `site`.
  int CountCalls(absl::string_view site, absl::string_view call) const;
  int CountMutations() const;
  void ClearCalls();

  /// While set, a mutation for which it returns false is a violation.
  void SetMutationGuard(std::function<bool()> guard);
  /// What no code may do: mutations through read connections or read-only
  /// handles, on closed handles, or against the guard. Tests expect none.
  std::vector<std::string> Violations() const;

 private:
  friend class FakeSite;
  friend class FakeCluster;
  friend class FakeClusterProvider;
  friend class FakePool;
  friend class FakeImage;
  struct Connection {
    std::string site;
    model::Client client;
    Access access = Access::kRead;
    bool blocklisted = false;
    bool dropped =
        false;  // it was seen to be blocklisted: nobody gets it any more
  };
  /// What a call needs to be answered.
  enum class Needs { kNothing, kOsd, kMon, kMgr };
  struct CallInfo {
    std::string site;
    std::string call;
    std::string object;
    bool mutation = false;
    Needs needs = Needs::kOsd;
    std::shared_ptr<Connection> connection;
  };
  using Body = std::function<int(model::Model&, model::Site&, SteadyDuration*)>;

  struct Event {
    SteadyTime at;
    std::function<void()> action;
  };

  /// The choke point of all interface calls: log, hooks, availability, body,
  /// cost.
  int Call(const CallInfo& info, const Body& body);
  int Await(const CallInfo& info);
  /// A hung answer: until the cluster is up, at most `limit`.
  int AwaitCluster(const std::string& site, SteadyDuration limit);
  void Record(const CallInfo& info);
  void AddViolation(const std::string& text);
  std::shared_ptr<Connection> NewConnection(const std::string& site,
                                            Access access);
  /// A call that takes long on a thread of its own, while another thread lets
  /// time pass: time waits for it, so that what it does has its moment.
  struct LongCall {
    std::thread::id thread = std::this_thread::get_id();
    SteadyTime seen;  // it has done all that was due by then
  };
  using LongCallId = std::list<LongCall>::iterator;
  LongCallId BeginLongCall();
  void EndLongCall(LongCallId call);
  /// Until time has passed; lets it pass when nobody else does.
  SteadyTime AwaitTime(LongCallId call);
  void AwaitLongCalls();
  /// One step towards `target`; false: it is reached.
  bool Step(SteadyTime target);

  mutable Mutex mutex_;
  model::Model model_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::unique_ptr<FakeSite>, std::less<>> sites_
      ABSL_GUARDED_BY(mutex_);
  std::vector<Event> events_ ABSL_GUARDED_BY(mutex_);
  std::vector<CallRecord> calls_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> violations_ ABSL_GUARDED_BY(mutex_);
  CallHook before_ ABSL_GUARDED_BY(mutex_);
  CallHook after_ ABSL_GUARDED_BY(mutex_);
  std::function<bool()> guard_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Connection>> connections_ ABSL_GUARDED_BY(mutex_);
  std::list<LongCall> long_calls_ ABSL_GUARDED_BY(mutex_);
  CondVar time_or_call_;  // time has passed, or a long call has seen it
};

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
  CephUser user() const;
  ClusterTarget target() const {
    return {site_.cluster_id, {site_.cluster_id + ":6789"}};
  }

  // --- contents
  // ---------------------------------------------------------------
  void AddPool(int64_t id, const std::string& name);
  /// Also creates the namespace.
  void SetPoolMirrorMode(const std::string& pool,
                         const std::string& rados_namespace,
                         PoolMirrorMode mode);
  void AddImage(const std::string& pool, const std::string& rados_namespace,
                const std::string& image, uint64_t bytes = uint64_t{256} << 20);
  void AddClone(const std::string& parent, const std::string& clone);
  void RemoveImage(const std::string& image);
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
  void SetImageMetadata(const std::string& image, const std::string& key,
                        const std::string& value);

  // --- workloads
  // ----------------------------------------------------------------
  /// What a client does that has the image mapped. EROFS unless primary.
  absl::Status Write(const std::string& image, uint64_t value);
  uint64_t Data(const std::string& image) const;
  /// The content is no state that the image ever had.
  bool Torn(const std::string& image) const;
  void AddWatcher(const std::string& image, const std::string& address,
                  uint64_t client_id);
  void RemoveWatcher(const std::string& image, uint64_t client_id);
  enum class LockKind { kAutomatic, kExplicit };
  /// A client (of AddWatcher()) takes the exclusive lock.
  void AddLocker(const std::string& image, const std::string& address,
                 uint64_t client_id, LockKind kind);
  void RemoveLocker(const std::string& image);

  // --- space
  // ------------------------------------------------------------------
  void SetFeatures(const std::string& image, const ImageFeatures& features);
  void AddSnapshot(const std::string& image, const std::string& name,
                   SnapshotKind kind);
  /// So many objects exist, and so many of them have nothing but zeros.
  void SetUsage(const std::string& image, uint64_t used_objects,
                uint64_t zero_objects);
  uint64_t UsedObjects(const std::string& image) const;
  bool HasLock(const std::string& image) const;

  // --- mirroring, as an administrator
  // ---------------------------------------------
  void EnableMirroring(const std::string& image,
                       MirrorMode mode = MirrorMode::kSnapshot);
  void CreateMirrorSnapshot(const std::string& image);
  void Demote(const std::string& image);
  void Promote(const std::string& image, Force force);
  MirrorImageInfo Info(const std::string& image) const;
  std::vector<MirrorSnapshot> Snapshots(const std::string& image) const;
  /// What reading the snapshot gives; see model::Snapshot.
  uint64_t SnapshotData(const std::string& image, uint64_t snapshot_id) const;
  std::vector<SiteStatus> Status(const std::string& image) const;
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
  /// Schedules by level, as `rbd mirror snapshot schedule list` prints them.
  std::string Schedules() const;

  // --- faults
  // ----------------------------------------------------------------------
  /// Down: connections are refused after 5 s, reads time out after 10 s,
  /// mutations hang until it is up again, its rbd-mirror does nothing.
  void SetClusterUp(bool up);
  /// Down: manager commands answer ETIMEDOUT after 5 s.
  void SetMgrUp(bool up);
  /// Not ready: the module's commands answer EAGAIN.
  void SetMgrModuleReady(bool ready);
  void SetMirrorDaemon(DaemonState state);
  void SetCopySpeed(double objects_per_second);
  /// How long a resync keeps the image away (7 s).
  void SetResyncAbsence(SteadyDuration duration);
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
  /// All entries by key as listed; those of ranges with "range " before it.
  std::map<std::string, WallTime> Blocklist() const;
  void ClearBlocklist();
  /// An administrator's `osd blocklist [range] add`; `key` as it is listed.
  void AddBlocklistEntry(const std::string& key, SteadyDuration expire);
  void AddRangeBlocklistEntry(const std::string& key, SteadyDuration expire);
  /// A writable open of an image that rbd-mirror copies blocklists rbd-mirror.
  void SetNeedlessOpenBlocklists(bool on);
  /// The key that the cluster accepts from now on.
  void SetKey(const std::string& key);

 private:
  friend class FakeWorld;
  friend class FakeClusterProvider;
  friend class FakeCluster;
  friend class FakePool;
  friend class FakeImage;

  // The world's lock is held in all of these.
  std::shared_ptr<model::Image> Find(const std::string& image) const;
  model::PoolState& Pool(const std::string& name) const;
  model::Namespace& Space(const model::Image& image) const;

  FakeWorld& world_;
  model::Site& site_;
};

}  // namespace addons

#endif  // ADDONS_TESTS_FAKES_FAKE_WORLD_H_
