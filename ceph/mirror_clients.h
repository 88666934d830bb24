#ifndef ADDONS_CEPH_MIRROR_CLIENTS_H_
#define ADDONS_CEPH_MIRROR_CLIENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ceph/image.h"

namespace addons {

class Cluster;
class Pool;

/// The clients that watch `rbd_mirroring` of this pool and namespace:
/// rbd-mirror of this site and of its peers, as of now (their ids change, so
/// nothing is cached). None at all is OK.
absl::StatusOr<std::vector<Watcher>> ListMirrorClients(Pool& pool);

/// Watchers of `image` that are neither rbd-mirror nor this process: clients
/// that have it open for writing.
absl::StatusOr<std::vector<Watcher>> ListWorkloads(Cluster& cluster, Pool& pool,
                                                   Image& image);

/// Those of `watchers`, the watchers of an image in `pool`, that are neither
/// rbd-mirror nor this process.
absl::StatusOr<std::vector<Watcher>> OnlyWorkloads(
    Cluster& cluster, Pool& pool, std::vector<Watcher> watchers);

bool HasClient(const std::vector<Watcher>& watchers, uint64_t client_id);

/// Whether an rbd-mirror has `image`, a primary one, open: the peer's, which
/// copies from it.
absl::StatusOr<bool> MirrorFollows(Pool& pool, Image& image);

/// "client.4464 at 10.0.0.1:0/123, ...".
std::string DescribeWatchers(const std::vector<Watcher>& watchers);

}  // namespace addons

#endif  // ADDONS_CEPH_MIRROR_CLIENTS_H_
