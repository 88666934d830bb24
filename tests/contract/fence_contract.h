#ifndef ADDONS_TESTS_CONTRACT_FENCE_CONTRACT_H_
#define ADDONS_TESTS_CONTRACT_FENCE_CONTRACT_H_

// The contract's part that fencing relies on; see contract_fixture.h.

#include <string>

#include "absl/status/status.h"
#include "ceph/cluster.h"
#include "nlohmann/json.hpp"
#include "tests/contract/contract_fixture.h"

namespace addons {

class FenceContractTest : public ContractTest {
 protected:
  static Cluster& cluster() { return bed().ClusterFor(kA); }
  static absl::Status Blocklist(const std::string& operation,
                                const std::string& address, bool range,
                                double expire = 600);
  static std::string List();
  /// The end of an entry as listed; empty: there is none.
  static std::string UntilOf(const std::string& key);
  static nlohmann::json OsdDump();
};

}  // namespace addons

#endif  // ADDONS_TESTS_CONTRACT_FENCE_CONTRACT_H_
