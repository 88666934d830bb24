#ifndef ADDONS_REPLICATION_LOOK_FORMER_PEERS_H_
#define ADDONS_REPLICATION_LOOK_FORMER_PEERS_H_

#include <vector>

#include "ceph/mirror.h"

namespace addons {

/// Takes away the reports of sites that are no peers any more. Ceph keeps them
/// until this site's rbd-mirror is started again, and they would count as those
/// of a peer that is silent, or claims to be primary. All stay while one of
/// `peers` has no uuid yet, because theirs cannot be told then.
void DropFormerPeers(const std::vector<MirrorPeer>& peers,
                     std::vector<SiteStatus>* sites);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_FORMER_PEERS_H_
