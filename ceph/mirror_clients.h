#ifndef ADDONS_CEPH_MIRROR_CLIENTS_H_
#define ADDONS_CEPH_MIRROR_CLIENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ceph/image.h"

namespace addons {

class Cluster;
class Pool;

/// The clients that watch `rbd_mirroring` of this pool and namespace:
/// rbd-mirror of this site and of its peers, as of now (their ids change, so
/// nothing is cached). None at all is OK.
absl::StatusOr<std::vector<Watcher>> ListMirrorClients(Pool& pool);

/// Who has an image open for writing, this process left out.
struct ImageClients {
  std::vector<Watcher> workloads;  // all but rbd-mirror
  /// An rbd-mirror has it open: of a primary the peer's, which copies from it.
  bool mirror = false;
};
absl::StatusOr<ImageClients> ListClients(Cluster& cluster, Pool& pool,
                                         Image& image);
/// The same without opening it, by its internal id. NOT_FOUND: no such image.
absl::StatusOr<ImageClients> ListClients(Cluster& cluster, Pool& pool,
                                         const std::string& image_id);

/// The id in "client.4464", as librbd and the OSDs name who has a lock;
/// nullopt: it is no client's name.
std::optional<uint64_t> ClientIdOf(absl::string_view client);

bool HasClient(const std::vector<Watcher>& watchers, uint64_t client_id);

/// "client.4464 at 10.0.0.1:0/123, ...".
std::string DescribeWatchers(const std::vector<Watcher>& watchers);

}  // namespace addons

#endif  // ADDONS_CEPH_MIRROR_CLIENTS_H_
