#ifndef ADDONS_TESTS_CLUSTER_RECLAIM_CLIENT_H_
#define ADDONS_TESTS_CLUSTER_RECLAIM_CLIENT_H_

#include <string>

#include "tests/testing/reclaim_call.h"

namespace addons::testing {

/// Calls the daemon on `socket`, with a connection of its own, which a killed
/// daemon does not spoil for the next call.
Reclaimed CallReclaim(const std::string& socket, const ReclaimAsk& ask);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_RECLAIM_CLIENT_H_
