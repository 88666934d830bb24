#ifndef ADDONS_REPLICATION_MIRROR_CLIENTS_H_
#define ADDONS_REPLICATION_MIRROR_CLIENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ceph/cluster.h"
#include "ceph/image.h"
#include "ceph/pool.h"
#include "replication/peer_tracker.h"

namespace addons {

/// The clients that watch `rbd_mirroring` of this pool and namespace:
/// rbd-mirror of this site and of its peers, as of now (their ids change, so
/// nothing is cached). None at all is OK.
absl::StatusOr<std::vector<Watcher>> ListMirrorClients(Pool& pool);

/// Watchers of `image` that are neither rbd-mirror nor this process: clients
/// that have it open for writing.
absl::StatusOr<std::vector<Watcher>> ListWorkloads(Cluster& cluster, Pool& pool,
                                                   Image& image);

bool HasClient(const std::vector<Watcher>& watchers, uint64_t client_id);

/// Whether an rbd-mirror has `image`, a primary one, open: the peer's, which
/// copies from it.
absl::StatusOr<bool> MirrorFollows(Pool& pool, Image& image);

/// "client.4464 at 10.0.0.1:0/123, ...".
std::string DescribeWatchers(const std::vector<Watcher>& watchers);

/// Around a writable open of a non-primary image: librbd's lock handling may
/// put the local rbd-mirror on the blocklist, which stops all replication of
/// the site for a minute or two. The destructor looks, logs a hit and tells the
/// tracker.
class MirrorClientGuard {
 public:
  /// Nothing is owned. Reads who rbd-mirror is now.
  MirrorClientGuard(Cluster& cluster, Pool& pool, PeerTracker& tracker);
  ~MirrorClientGuard();
  MirrorClientGuard(const MirrorClientGuard&) = delete;
  MirrorClientGuard& operator=(const MirrorClientGuard&) = delete;

 private:
  Cluster& cluster_;
  PeerTracker& tracker_;
  std::vector<Watcher> before_;
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_MIRROR_CLIENTS_H_
