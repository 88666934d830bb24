#ifndef ADDONS_REPLICATION_LOOK_WATCHED_H_
#define ADDONS_REPLICATION_LOOK_WATCHED_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "ceph/cluster.h"
#include "replication/look/role_turn.h"
#include "volume/csi_handle.h"
#include "volume/resolved.h"

namespace addons {

/// The pools and namespaces in which calls have found mirrored images, with the
/// newest user of such a call, and those that the daemon has found with a user
/// of its own, for the background watch: in memory only. What no call has asked
/// for in kForgetAfter is forgotten with its user. Thread-safe.
class WatchedPools {
 public:
  static constexpr size_t kMost = 64;
  static constexpr size_t kMostImages = 5000;  // names, of each pool
  static constexpr std::chrono::hours kForgetAfter{24};
  /// A change is looked at when none has followed it for kQuiet, and kAtLatest
  /// after it: many volumes change at once.
  static constexpr std::chrono::seconds kQuiet{2};
  static constexpr std::chrono::seconds kAtLatest{20};
  /// While reports that are older than a change are awaited.
  static constexpr std::chrono::seconds kLookAgain{10};

  /// Cluster id, pool id, namespace.
  using Key = std::tuple<std::string, int64_t, std::string>;
  /// What a call has told of an image.
  struct Named {
    std::string image;
    std::string volume_id;    // as the call wrote it
    std::string volume_name;  // csi.volname: the PersistentVolume's, mostly
    /// "namespace/name" of its claim, as ceph-csi notes it at the image; empty:
    /// it has not.
    std::string claim;
    /// The other site's copy lacks what the image had from its parent
    /// (CloneStateOf()).
    bool lacks_parent = false;
    /// A forced promotion in the middle of a copy waits for a decision
    /// (AwaitsRestore()).
    bool awaits_restore = false;
    /// A rollback to a point has not ended (rollback_mark.h).
    bool rolls_back = false;
    std::optional<SeenRole> role = std::nullopt;  // the last one, if told
    std::optional<RoleTurn> turn = std::nullopt;  // the last one
  };
  struct Watched {
    Key key;
    std::string pool_name;
    CephUserRef user;  // null: it was refused, and no call has come since
    CephUserRef own;   // the daemon's, which only reads; null: none, or refused

    /// Who looks: the daemon's own user first. null: nobody.
    const CephUserRef& reader() const { return own != nullptr ? own : user; }
  };

  /// `clock` is not owned.
  explicit WatchedPools(Clock& clock) : clock_(clock) {}

  /// A call by `user` has found `volume` under mirroring, its image's id being
  /// `image_id`.
  void Note(const ResolvedVolume& volume, const std::string& image_id,
            const CephUserRef& user, bool lacks_parent = false,
            const std::string& claim = "",
            const std::optional<SeenRole>& role = std::nullopt);
  /// Of an image that Note() was told of.
  void NoteMixture(const ResolvedVolume& volume, const std::string& image_id,
                   bool awaits_restore, bool rolls_back);
  /// The daemon's own user `own` has found these; what it had found before
  /// stays where `all` is false. True: one of them was not watched, or by
  /// nobody.
  bool SetOwn(const std::vector<ResolvedPlace>& places, const CephUserRef& own,
              bool all);
  /// Why not all that the daemon's own user should find is found; empty: it is.
  void SetOwnTrouble(const std::string& why);
  std::string own_trouble() const;
  /// A call has changed the role of an image, or has seen that it is another
  /// one: what was seen of the cluster is old. A new image counts by itself.
  void NoteChange(const std::string& cluster_id);
  /// A look has found reports that are older than a change: the next one is due
  /// in kLookAgain.
  void AwaitReports(const std::string& cluster_id);
  /// How many turns there were.
  uint64_t turns() const;
  /// Those after `time`, of images of this pool.
  std::vector<Named> TurnedSince(const Key& key, SteadyTime time) const;
  /// The clusters with a change that is to be looked at now.
  std::set<std::string> ChangesDue() const;
  /// A look at the cluster begins.
  void ForgetChanges(const std::string& cluster_id);
  /// The cluster refuses `user`: it is not used any more, unless a call, or
  /// SetOwn(), has brought another one meanwhile.
  void Refuse(const Key& key, const CephUserRef& user);
  /// Forgets what is old first. Ordered by key.
  std::vector<Watched> All();
  /// nullopt: no call has named the image with this id.
  std::optional<Named> NameOf(const Key& key,
                              const std::string& image_id) const;
  /// How many pools and namespaces are not watched because there are kMost
  /// already; counted up to a thousand.
  size_t left_out() const;

 private:
  struct Entry {
    std::string pool_name;
    CephUserRef user;
    CephUserRef own;
    SteadyTime asked_at;
    std::map<std::string, Named> images;  // by image id
  };
  /// nullptr: there are too many.
  Entry* Find(const Key& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Changed(const std::string& cluster_id, SteadyTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  mutable Mutex mutex_;
  std::map<Key, Entry> pools_ ABSL_GUARDED_BY(mutex_);
  std::set<Key> left_out_ ABSL_GUARDED_BY(mutex_);
  std::string own_trouble_ ABSL_GUARDED_BY(mutex_);
  /// When they are to be looked at: the earlier of both.
  struct Changes {
    SteadyTime when_quiet;
    SteadyTime at_latest;
  };
  uint64_t turns_ ABSL_GUARDED_BY(mutex_) = 0;
  // Not looked at, by cluster.
  std::map<std::string, Changes> changes_ ABSL_GUARDED_BY(mutex_);
};

/// A volume group under replication, as the last call has found it.
struct WatchedGroup {
  std::string group_id;
  std::vector<std::string> members;  // volume ids
};

/// What calls have told the background watch beside WatchedPools: the clusters
/// whose fences they were about, with the newest user of such a call, and the
/// volume groups whose replication they asked for. In memory only; what no call
/// has named in kForgetAfter is forgotten with its user. Thread-safe.
class WatchedClusters {
 public:
  static constexpr size_t kMostClusters = 32;
  static constexpr size_t kMostGroups = 1000;
  static constexpr std::chrono::hours kForgetAfter{24};

  /// `clock` is not owned.
  explicit WatchedClusters(Clock& clock) : clock_(clock) {}

  /// A call by `user` was about the fences of a cluster.
  void NoteFences(const std::string& cluster_id, const CephUserRef& user);
  /// The cluster refuses `user`: it is not used any more, unless a call has
  /// brought another one meanwhile.
  void RefuseFences(const std::string& cluster_id, const CephUserRef& user);
  /// The clusters, with the user; null: it was refused. Forgets what is old
  /// first.
  std::map<std::string, CephUserRef> FenceUsers();

  /// A call has found this group; and it is not replicated any more.
  void NoteGroup(WatchedGroup group);
  void ForgetGroup(const std::string& group_id);
  /// By id. Forgets what is old first.
  std::vector<WatchedGroup> Groups();

 private:
  struct FenceUser {
    CephUserRef user;
    SteadyTime asked_at;
  };
  struct Group {
    WatchedGroup group;
    SteadyTime asked_at;
  };

  Clock& clock_;
  Mutex mutex_;
  std::map<std::string, FenceUser> fences_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Group> groups_ ABSL_GUARDED_BY(mutex_);
};

/// The volumes that this process has promoted while the manager was away, whose
/// mirror snapshot schedule is therefore still to be set. What is wanted stands
/// in the image's metadata, so a restart loses only the reminder: replication
/// info finds the schedule missing, and so does the next promote. Thread-safe.
class DueSchedules {
 public:
  struct Due {
    VolumeHandle volume_id;
    CephUserRef user;
  };

  /// Keeps the newest user of a volume. Beyond kMost volumes nothing more is
  /// remembered, and false returned.
  bool Add(const VolumeHandle& volume_id, const CephUserRef& user);
  void Remove(const VolumeHandle& volume_id);
  std::vector<Due> All() const;

  static constexpr size_t kMost = 2000;

 private:
  mutable Mutex mutex_;
  std::map<VolumeHandle, CephUserRef> volumes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_WATCHED_H_
