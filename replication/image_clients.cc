#include "replication/image_clients.h"

#include <cstdint>
#include <set>

#include "base/status_macros.h"

namespace addons {

namespace {

absl::StatusOr<ImageClients> WithoutDaemons(
    const OpenedVolume& opened, LeaseKeeper& leases,
    absl::StatusOr<ImageClients> clients) {
  if (!clients.ok() || clients->workloads.empty()) return clients;
  ADDONS_ASSIGN_OR_RETURN(const std::set<uint64_t> daemons,
                          leases.DaemonClients(LeaseOf(opened.volume)));
  std::erase_if(clients->workloads, [&](const Watcher& watcher) {
    return daemons.contains(watcher.client_id);
  });
  return clients;
}

}  // namespace

absl::StatusOr<ImageClients> FindClients(const OpenedVolume& opened,
                                         LeaseKeeper& leases, Image& image) {
  return WithoutDaemons(opened, leases,
                        ListClients(opened.cluster(), *opened.reads, image));
}

absl::StatusOr<ImageClients> FindClients(const OpenedVolume& opened,
                                         LeaseKeeper& leases,
                                         const std::string& image_id) {
  return WithoutDaemons(opened, leases,
                        ListClients(opened.cluster(), *opened.reads, image_id));
}

}  // namespace addons
