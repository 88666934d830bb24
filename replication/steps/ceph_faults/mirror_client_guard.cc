#include "replication/steps/ceph_faults/mirror_client_guard.h"

#include <exception>
#include <utility>

#include "base/log.h"
#include "ceph/blocklist_commands.h"
#include "ceph/mirror_clients.h"

namespace addons {

MirrorClientGuard::MirrorClientGuard(Cluster& cluster, Pool& pool,
                                     Timeline& timeline)
    : cluster_(cluster), timeline_(timeline) {
  auto clients = ListMirrorClients(pool);
  if (clients.ok()) before_ = *std::move(clients);
}

MirrorClientGuard::~MirrorClientGuard() {
  try {
    Look();
  } catch (const std::exception&) {
    // No memory: a destructor must not end the process for it.
    timeline_.NoteDisturbance(cluster_.fsid());
  }
}

void MirrorClientGuard::Look() {
  if (before_.empty()) return;
  const auto blocklist = ReadBlocklist(cluster_);
  if (!blocklist.ok()) {
    // Waiting longer than need be is better than taking a peer for dead.
    timeline_.NoteDisturbance(cluster_.fsid());
    Log().warn("cannot tell whether rbd-mirror was blocklisted cluster={}: {}",
               cluster_.fsid(), blocklist.status().ToString());
    return;
  }
  for (const Watcher& client : before_) {
    if (blocklist->FindClient(client.address) != nullptr) {
      timeline_.NoteDisturbance(cluster_.fsid());
      Log().warn(
          "rbd-mirror was blocklisted while an image changed its role; it "
          "reconnects by itself client={} address={} cluster={}",
          client.client_id, client.address, cluster_.fsid());
    }
  }
}

}  // namespace addons
