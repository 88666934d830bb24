#ifndef ADDONS_REPLICATION_LOOK_WATCHED_POOLS_H_
#define ADDONS_REPLICATION_LOOK_WATCHED_POOLS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "ceph/cluster.h"
#include "volume/resolved.h"

namespace addons {

/// The pools and namespaces in which calls have found mirrored images, with the
/// newest user of such a call, for the background watch: in memory only. What
/// no call has asked for in kForgetAfter is forgotten with its user.
/// Thread-safe.
class WatchedPools {
 public:
  static constexpr size_t kMost = 64;
  static constexpr size_t kMostImages = 5000;  // names, of each pool
  static constexpr std::chrono::hours kForgetAfter{24};

  /// Cluster id, pool id, namespace.
  using Key = std::tuple<std::string, int64_t, std::string>;
  /// What a call has told of an image.
  struct Named {
    std::string image;
    std::string volume_id;    // as the call wrote it
    std::string volume_name;  // csi.volname: the PersistentVolume's, mostly
    /// The other site's copy lacks what the image had from its parent
    /// (CloneStateOf()).
    bool lacks_parent = false;
    /// A forced promotion in the middle of a copy waits for a decision
    /// (AwaitsRestore()).
    bool awaits_restore = false;
  };
  struct Watched {
    Key key;
    std::string pool_name;
    CephUserRef user;  // null: it was refused, and no call has come since
  };

  /// `clock` is not owned.
  explicit WatchedPools(Clock& clock) : clock_(clock) {}

  /// A call by `user` has found `volume` under mirroring, its image's id being
  /// `image_id`.
  void Note(const ResolvedVolume& volume, const std::string& image_id,
            const CephUserRef& user, bool lacks_parent = false);
  /// Of an image that Note() was told of.
  void NoteRescue(const ResolvedVolume& volume, const std::string& image_id,
                  bool awaits_restore);
  /// The cluster refuses `user`: it is not used any more, unless a call has
  /// brought another one meanwhile.
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
    SteadyTime asked_at;
    std::map<std::string, Named> images;  // by image id
  };

  Clock& clock_;
  mutable Mutex mutex_;
  std::map<Key, Entry> pools_ ABSL_GUARDED_BY(mutex_);
  std::set<Key> left_out_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_WATCHED_POOLS_H_
