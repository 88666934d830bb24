#ifndef ADDONS_CEPH_LIBRADOS_CACHED_CLUSTER_H_
#define ADDONS_CEPH_LIBRADOS_CACHED_CLUSTER_H_

#include "ceph/cluster.h"

namespace addons {

/// A connected cluster that tells the connection cache when it must not be
/// given out any more.
class CachedCluster : public Cluster {
 public:
  /// The cluster refuses our user or key since we connected. Must not block.
  virtual bool denied() const = 0;
};

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_CACHED_CLUSTER_H_
