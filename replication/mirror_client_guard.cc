#include "replication/mirror_client_guard.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "ceph/mirror_clients.h"

namespace addons {
namespace {

constexpr char kBlocklistCommand[] =
    R"({"prefix":"osd blocklist ls","format":"json"})";

}  // namespace

MirrorClientGuard::MirrorClientGuard(Cluster& cluster, Pool& pool,
                                     PeerTracker& tracker)
    : cluster_(cluster), tracker_(tracker) {
  auto clients = ListMirrorClients(pool);
  if (clients.ok()) before_ = *std::move(clients);
}

MirrorClientGuard::~MirrorClientGuard() {
  if (before_.empty()) return;
  const auto blocklist = cluster_.MonCommand(kBlocklistCommand);
  if (!blocklist.ok()) return;
  for (const Watcher& client : before_) {
    // An entry is "address:port/nonce", quoted; the nonce makes it unique.
    if (absl::StrContains(*blocklist,
                          absl::StrCat("\"", client.address, "\""))) {
      tracker_.NoteDisturbance(cluster_.fsid());
      Log().warn(
          "rbd-mirror was blocklisted while an image changed its role; it "
          "reconnects by itself client={} address={} cluster={}",
          client.client_id, client.address, cluster_.fsid());
    }
  }
}

}  // namespace addons
