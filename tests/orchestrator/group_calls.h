#ifndef ADDONS_TESTS_ORCHESTRATOR_GROUP_CALLS_H_
#define ADDONS_TESTS_ORCHESTRATOR_GROUP_CALLS_H_

#include <cstddef>
#include <memory>
#include <string>

#include "tests/cluster/test_group.h"
#include "tests/orchestrator/call_log.h"
#include "tests/orchestrator/replication_calls.h"

namespace addons::testing {

/// A group of new volumes that is replicated from site a to site b.
TestGroup MakeReplicatedTestGroup(size_t members);

/// The calls about the group, answered by the daemon of `site`.
std::unique_ptr<ReplicationCalls> MakeGroupCalls(std::string site,
                                                 TestGroup group,
                                                 std::shared_ptr<CallLog> log);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_ORCHESTRATOR_GROUP_CALLS_H_
