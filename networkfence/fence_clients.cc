#include "networkfence/fence_clients.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "networkfence/ceph_address.h"

namespace addons {

absl::StatusOr<FenceClient> FindFenceClient(FenceEnvironment& environment,
                                            const FenceTarget& target) {
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<Cluster> cluster,
                          ConnectCluster(environment, target));
  FenceClient client{cluster->fsid(), {}};
  for (const std::string& text : cluster->OwnAddresses()) {
    for (const CephAddress& address : ParseCephAddresses(text)) {
      client.addresses.push_back(
          Cidr(address.ip, AddressBits(address.ip.family)).Unmapped());
    }
  }
  client.addresses = SortedUnique(std::move(client.addresses));
  if (client.addresses.empty()) {
    return absl::UnavailableError(
        absl::StrCat("cluster '", target.cluster_id,
                     "' does not say under which address it sees this node"));
  }
  return client;
}

}  // namespace addons
