#include "replication/look/former_peers.h"

#include <set>
#include <string>

namespace addons {

void DropFormerPeers(const std::vector<MirrorPeer>& peers,
                     std::vector<SiteStatus>* sites) {
  std::set<std::string> known;
  for (const MirrorPeer& peer : peers) {
    if (peer.mirror_uuid.empty()) return;
    known.insert(peer.mirror_uuid);
  }
  std::erase_if(*sites, [&](const SiteStatus& site) {
    return !site.local() && !known.contains(site.mirror_uuid);
  });
}

}  // namespace addons
