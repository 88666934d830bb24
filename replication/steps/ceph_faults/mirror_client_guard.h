#ifndef ADDONS_REPLICATION_STEPS_CEPH_FAULTS_MIRROR_CLIENT_GUARD_H_
#define ADDONS_REPLICATION_STEPS_CEPH_FAULTS_MIRROR_CLIENT_GUARD_H_

#include <vector>

#include "ceph/cluster.h"
#include "ceph/image.h"
#include "ceph/pool.h"
#include "replication/look/timeline.h"

namespace addons {

/// Around a writable open of a non-primary image: librbd's lock handling may
/// put the local rbd-mirror on the blocklist, which stops all replication of
/// the site for a minute or two. The destructor looks, logs a hit and tells the
/// timeline, also when it cannot tell.
class MirrorClientGuard {
 public:
  /// Nothing is owned. Reads who rbd-mirror is now.
  MirrorClientGuard(Cluster& cluster, Pool& pool, Timeline& timeline);
  ~MirrorClientGuard();
  MirrorClientGuard(const MirrorClientGuard&) = delete;
  MirrorClientGuard& operator=(const MirrorClientGuard&) = delete;

 private:
  void Look();

  Cluster& cluster_;
  Timeline& timeline_;
  std::vector<Watcher> before_;
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_CEPH_FAULTS_MIRROR_CLIENT_GUARD_H_
