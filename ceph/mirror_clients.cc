#include "ceph/mirror_clients.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "ceph/cluster.h"
#include "ceph/image_objects.h"
#include "ceph/pool.h"

namespace addons {
namespace {

constexpr char kMirroringObject[] = "rbd_mirroring";

/// `watchers` of an image, by what they are.
absl::StatusOr<ImageClients> ClientsAmong(std::vector<Watcher> watchers,
                                          Cluster& cluster, Pool& pool) {
  const std::vector<uint64_t> own = cluster.OwnClientIds();
  std::erase_if(watchers, [&](const Watcher& watcher) {
    return std::find(own.begin(), own.end(), watcher.client_id) != own.end();
  });
  if (watchers.empty()) return ImageClients();
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Watcher> mirror,
                          ListMirrorClients(pool));
  const size_t mirrors = std::erase_if(watchers, [&](const Watcher& watcher) {
    return HasClient(mirror, watcher.client_id);
  });
  return ImageClients{std::move(watchers), mirrors > 0};
}

}  // namespace

absl::StatusOr<std::vector<Watcher>> ListMirrorClients(Pool& pool) {
  auto watchers = pool.ListWatchers(kMirroringObject);
  // The object is made when mirroring of the pool is enabled.
  if (absl::IsNotFound(watchers.status())) return std::vector<Watcher>();
  return watchers;
}

absl::StatusOr<ImageClients> ListClients(Cluster& cluster, Pool& pool,
                                         Image& image) {
  ADDONS_ASSIGN_OR_RETURN(std::vector<Watcher> watchers, image.Watchers());
  return ClientsAmong(std::move(watchers), cluster, pool);
}

absl::StatusOr<ImageClients> ListClients(Cluster& cluster, Pool& pool,
                                         const std::string& image_id) {
  ADDONS_ASSIGN_OR_RETURN(std::vector<Watcher> watchers,
                          pool.ListWatchers(HeaderObject(image_id)));
  return ClientsAmong(std::move(watchers), cluster, pool);
}

std::optional<uint64_t> ClientIdOf(absl::string_view client) {
  uint64_t id = 0;
  if (!absl::ConsumePrefix(&client, "client.") ||
      !absl::SimpleAtoi(client, &id)) {
    return std::nullopt;
  }
  return id;
}

bool HasClient(const std::vector<Watcher>& watchers, uint64_t client_id) {
  return std::any_of(
      watchers.begin(), watchers.end(),
      [&](const Watcher& watcher) { return watcher.client_id == client_id; });
}

std::string DescribeWatchers(const std::vector<Watcher>& watchers) {
  return absl::StrJoin(watchers, ", ", [](std::string* out, const Watcher& w) {
    absl::StrAppend(out, "client.", w.client_id, " at ", w.address);
  });
}

}  // namespace addons
