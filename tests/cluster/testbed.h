#ifndef ADDONS_TESTS_CLUSTER_TESTBED_H_
#define ADDONS_TESTS_CLUSTER_TESTBED_H_

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace addons::testing {

/// `scripts/testbed ARGS...`; returns what it prints, without the last line's
/// end. INTERNAL: it ended with an error, or was ended after `limit` (zero:
/// none). A command of Ceph that asks a manager which dies meanwhile may never
/// end.
absl::StatusOr<std::string> RunTestbed(
    const std::vector<std::string>& args,
    std::chrono::seconds limit = std::chrono::seconds(0));

/// Looks every tenth of a second until `condition` holds; false after `limit`.
bool Eventually(const std::function<bool()>& condition,
                std::chrono::seconds limit = std::chrono::seconds(60));

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_TESTBED_H_
