#include "ceph/mirror_clients.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "ceph/cluster.h"
#include "ceph/pool.h"

namespace addons {
namespace {

constexpr char kMirroringObject[] = "rbd_mirroring";

}  // namespace

absl::StatusOr<std::vector<Watcher>> ListMirrorClients(Pool& pool) {
  auto watchers = pool.ListWatchers(kMirroringObject);
  // The object is made when mirroring of the pool is enabled.
  if (absl::IsNotFound(watchers.status())) return std::vector<Watcher>();
  return watchers;
}

absl::StatusOr<std::vector<Watcher>> ListWorkloads(Cluster& cluster, Pool& pool,
                                                   Image& image) {
  ADDONS_ASSIGN_OR_RETURN(std::vector<Watcher> watchers, image.Watchers());
  return OnlyWorkloads(cluster, pool, std::move(watchers));
}

absl::StatusOr<std::vector<Watcher>> OnlyWorkloads(
    Cluster& cluster, Pool& pool, std::vector<Watcher> watchers) {
  const std::vector<uint64_t> own = cluster.OwnClientIds();
  std::erase_if(watchers, [&](const Watcher& watcher) {
    return std::find(own.begin(), own.end(), watcher.client_id) != own.end();
  });
  if (watchers.empty()) return watchers;
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Watcher> mirror,
                          ListMirrorClients(pool));
  std::erase_if(watchers, [&](const Watcher& watcher) {
    return HasClient(mirror, watcher.client_id);
  });
  return watchers;
}

bool HasClient(const std::vector<Watcher>& watchers, uint64_t client_id) {
  return std::any_of(
      watchers.begin(), watchers.end(),
      [&](const Watcher& watcher) { return watcher.client_id == client_id; });
}

absl::StatusOr<bool> MirrorFollows(Pool& pool, Image& image) {
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Watcher> watchers,
                          image.Watchers());
  if (watchers.empty()) return false;
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Watcher> mirror,
                          ListMirrorClients(pool));
  return std::any_of(watchers.begin(), watchers.end(),
                     [&](const Watcher& watcher) {
                       return HasClient(mirror, watcher.client_id);
                     });
}

std::string DescribeWatchers(const std::vector<Watcher>& watchers) {
  return absl::StrJoin(watchers, ", ", [](std::string* out, const Watcher& w) {
    absl::StrAppend(out, "client.", w.client_id, " at ", w.address);
  });
}

}  // namespace addons
