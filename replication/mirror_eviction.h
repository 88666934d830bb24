#ifndef ADDONS_REPLICATION_MIRROR_EVICTION_H_
#define ADDONS_REPLICATION_MIRROR_EVICTION_H_

#include <chrono>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "ceph/cluster.h"
#include "ceph/pool.h"

namespace addons {

/// Blocklists the rbd-mirror clients that have `image` open.
absl::Status EvictMirrorClients(Cluster& cluster, Pool& pool,
                                const std::string& image);

/// Around a forced promotion: an rbd-mirror that was copying when the other
/// site died hangs in a call to that site and never lets go of the image, and
/// librbd waits for ever for a holder that is alive. While this object lives,
/// and once 30 s have passed, those rbd-mirror clients that hold the image are
/// blocklisted, which is what librbd does with a holder that does not answer.
/// They reconnect by themselves.
///
/// Works on a thread of its own, because the caller's is inside librbd; and by
/// real time, because that is what librbd blocks in. The destructor waits for
/// it.
class MirrorEviction {
 public:
  static constexpr std::chrono::seconds kPatience{30};

  /// Nothing is owned; `pool` is left to this object while it lives.
  MirrorEviction(Cluster& cluster, Pool& pool, std::string image);
  MirrorEviction(const MirrorEviction&) = delete;
  MirrorEviction& operator=(const MirrorEviction&) = delete;

 private:
  std::jthread thread_;
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_MIRROR_EVICTION_H_
