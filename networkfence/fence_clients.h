#ifndef ADDONS_NETWORKFENCE_FENCE_CLIENTS_H_
#define ADDONS_NETWORKFENCE_FENCE_CLIENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/cidr.h"
#include "networkfence/environment.h"

namespace addons {

struct FenceClient {
  std::string id;               // the cluster's fsid
  std::vector<Cidr> addresses;  // single ones, sorted
};

/// Where clients are that Ceph writes as "10.0.0.1:0/123" or
/// "[v2:10.0.0.1:0/5,v1:...]": each address once, as a range of one, sorted.
/// What cannot be read is left out.
std::vector<Cidr> SingleAddresses(const std::vector<std::string>& clients);

/// GetFenceClients: under which addresses the cluster knows this process, all
/// of them, each as a range of one. They are those of the node's other clients
/// only where both use the host's network. UNAVAILABLE when Ceph names no
/// address that can be read.
absl::StatusOr<FenceClient> FindFenceClient(FenceEnvironment& environment,
                                            const FenceTarget& target);

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_FENCE_CLIENTS_H_
