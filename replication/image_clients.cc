#include "replication/image_clients.h"

#include <cstdint>
#include <set>

#include "base/status_macros.h"

namespace addons {

absl::StatusOr<ImageClients> FindClients(const OpenedVolume& opened,
                                         LeaseKeeper& leases, Image& image) {
  ADDONS_ASSIGN_OR_RETURN(ImageClients clients,
                          ListClients(opened.cluster(), *opened.reads, image));
  if (clients.workloads.empty()) return clients;
  ADDONS_ASSIGN_OR_RETURN(const std::set<uint64_t> daemons,
                          leases.DaemonClients(LeaseOf(opened.volume)));
  std::erase_if(clients.workloads, [&](const Watcher& watcher) {
    return daemons.contains(watcher.client_id);
  });
  return clients;
}

}  // namespace addons
