#ifndef ADDONS_REPLICATION_LOOK_WATCHED_CLUSTERS_H_
#define ADDONS_REPLICATION_LOOK_WATCHED_CLUSTERS_H_

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "ceph/cluster.h"

namespace addons {

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

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_WATCHED_CLUSTERS_H_
