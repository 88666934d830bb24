#ifndef ADDONS_NETWORKFENCE_PARAMETERS_H_
#define ADDONS_NETWORKFENCE_PARAMETERS_H_

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/cidr.h"
#include "networkfence/environment.h"

namespace addons {

/// What the parameters of a NetworkFence and its class ask for.
struct FenceParameters {
  ClusterId cluster_id;
  /// Five years, as ceph-csi: longer than anybody leaves a dead node dead.
  std::chrono::seconds expiry{157784760};
  bool allow_service_clients = false;
  bool remove_contained = false;
  bool remove_client_entries = false;

  static constexpr std::chrono::seconds kShortestExpiry{60};
  /// Fifty years: Ceph keeps the end in 32 bits.
  static constexpr std::chrono::seconds kLongestExpiry{1577847600};

  /// INVALID_ARGUMENT: one of the keys below is misspelt.
  static absl::Status CheckKeys(const std::map<std::string, std::string>& map);

  /// Reads clusterID (required), expirySeconds, allowServiceClients,
  /// removeContained and removeClientEntries; other keys are for others and
  /// ignored. INVALID_ARGUMENT names the key, its value and what is allowed.
  static absl::StatusOr<FenceParameters> Parse(
      const std::map<std::string, std::string>& map);
};

/// The ranges of a request, normalised, sorted, without duplicates.
/// INVALID_ARGUMENT when there is none or one is wrong; all wrong ones are
/// named.
absl::StatusOr<std::vector<Cidr>> ParseRanges(
    const std::vector<std::string>& texts);

/// INVALID_ARGUMENT, naming them, when some ranges are addresses that no node
/// has (unspecified, broadcast, multicast): a fence of them fences nobody.
absl::Status CheckNodesCanHave(const std::vector<Cidr>& ranges);

/// INVALID_ARGUMENT, naming them, when some ranges are wider than the options
/// allow.
absl::Status CheckWidth(const std::vector<Cidr>& ranges,
                        const FenceOptions& options);

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_PARAMETERS_H_
