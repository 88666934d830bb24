#include "networkfence/fence_clients.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/ceph_address.h"

namespace addons {

std::vector<Cidr> SingleAddresses(const std::vector<std::string>& clients) {
  std::vector<Cidr> ranges;
  for (const std::string& text : clients) {
    for (const CephAddress& address : ParseCephAddresses(text)) {
      ranges.push_back(
          Cidr(address.ip, AddressBits(address.ip.family)).Unmapped());
    }
  }
  return SortedUnique(std::move(ranges));
}

absl::StatusOr<FenceClient> FindFenceClient(FenceEnvironment& environment,
                                            const FenceTarget& target) {
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<Cluster> cluster,
                          ConnectCluster(environment, target));
  FenceClient client{cluster->fsid(), SingleAddresses(cluster->OwnAddresses())};
  if (client.addresses.empty()) {
    return absl::UnavailableError(
        absl::StrCat("cluster '", target.cluster_id.text(),
                     "' does not say under which address it sees this node"));
  }
  return client;
}

}  // namespace addons
