#ifndef ADDONS_POINTS_TEST_FAILOVER_H_
#define ADDONS_POINTS_TEST_FAILOVER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "operation/operation_context.h"
#include "points/prove.h"
#include "points/started_tests.h"
#include "replication/environment.h"
#include "volume/resolved.h"

namespace addons {

// A test failover: a volume of its own that holds what a point held, on the
// site that would take over, while replication goes on. It is a copy and no
// clone, so that nothing links it with the image that it was made of: promote,
// demote, resync and disable find that as if there were no test.

struct TestFailoverOptions {
  /// Empty: the newest point that is here with its record.
  std::string point;
  /// So fast at most; 0: as fast as it goes.
  uint64_t bytes_per_second = 0;
};

struct StartedFailover {
  StartedTest test;
  ResolvedPlace place;
  Proof proof;  // of the image that it was made of
};

/// Makes the test of a volume, proven to hold what the point held where it was
/// made. Blocks for hours, maybe, with a lease on this test.
///
// clang-format off
///   StartTest(): RunLeased()
///     Start(): SeeImage(), Take()                         the lease
///     FindWholePoint()  "looking at the image"            see points/whole_point.h
///     ├─ it has one that is ready ─> ALREADY_EXISTS
///     ├─ the pool has no room ─> RESOURCE_EXHAUSTED
///     └─ BeginMutation()
///        RemoveTestVolume()  "removing what a test that died has left"
///        WriteTest()         not ready: from now on it can be found
///        Fill()              "copying the point"
///          CreateImage(), ProveWholePoint()
///          ├─ not as the record says ─> FAILED_PRECONDITION, and all is removed
///          GiveEntry()       "giving the test its entry of the journal"
///          MarkReady()
///
///   StopTest(): RunLeased()
///     OpenVolume()  "looking for the test"                 or StopTestAt()
///     Stop(): ReadTests(), Take()                          the lease
///     └─ BeginMutation(), RemoveTestVolume()  "removing the test's image"
///          ├─ CheckUnused(): open, replicated, with snapshots ─> it stays
///          RemoveImage(), Release(), Remove(), RemoveTest()
// clang-format on
///
/// What a call leaves that died, the next one removes, and so does StopTest().
/// Where it fails it removes what it has made. FAILED_PRECONDITION: the point
/// is damaged here, its record does not tell, or ceph-csi could not open the
/// test of this encrypted volume. Others as ProvePoint(), and those of the
/// lease.
absl::StatusOr<StartedFailover> StartTest(OperationContext& context,
                                          ReplicationEnvironment& environment,
                                          const VolumeTarget& target,
                                          const TestFailoverOptions& options);

/// Ends the test of a volume: `target` is that volume, or the test's own.
/// Removes its image, and its entry of ceph-csi's journal. The test that was;
/// without a uuid: there was none, which is OK. UNAVAILABLE: somebody has the
/// image open. FAILED_PRECONDITION: it is replicated, or has snapshots.
absl::StatusOr<StartedTest> StopTest(OperationContext& context,
                                     ReplicationEnvironment& environment,
                                     const VolumeTarget& target);

/// The same in the pool and namespace of `place`, of the volume with its uuid
/// (either of the two), of which the journal need not know any more.
absl::StatusOr<StartedTest> StopTestAt(OperationContext& context,
                                       ReplicationEnvironment& environment,
                                       const ResolvedPlace& place);

struct ListedTest {
  enum class State {
    kMaking,  // or who made it has died
    kReady,
    kGone,  // somebody has removed its image
  };
  StartedTest test;
  ResolvedPlace place;
  State state = State::kMaking;
};

/// The tests in these pools and namespaces, the oldest one first. What could
/// not be looked at is added to `unseen`. Blocks for two reads of each.
absl::StatusOr<std::vector<ListedTest>> ListTests(
    OperationContext& context, const std::vector<ResolvedPlace>& places,
    std::vector<std::string>* unseen);

}  // namespace addons

#endif  // ADDONS_POINTS_TEST_FAILOVER_H_
