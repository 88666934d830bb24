#ifndef ADDONS_TESTS_FAULTS_PROCESS_H_
#define ADDONS_TESTS_FAULTS_PROCESS_H_

#include <chrono>

#include "base/bounded_threads.h"
#include "networkfence/environment.h"
#include "reclaimspace/sparsify.h"
#include "tests/unit/replication/verbs_fixture.h"
#include "tests/unit/volumegroup/mirroring_of.h"
#include "volumegroup/environment.h"
#include "watch/mirror_restart_watch.h"

namespace addons::testing {

/// All that the process of a site's daemon keeps in memory: it dies with this.
class Process final : public Daemon {
 public:
  /// `start` makes its threads.
  Process(FakeWorld& world, const MirroredPair& pair, FakeSite& site,
          const ThreadStarter& start);

  VolumeGroupEnvironment& groups() { return groups_; }
  FenceEnvironment& fences() { return fences_; }
  SparsifyEnvironment& reclaims() { return reclaims_; }
  /// Of the pools that calls have named; looks only when told to.
  MirrorRestartWatch& restarts() { return restarts_; }

 private:
  VolumeGroupEnvironment groups_{
      environment().resolver,     config(), clusters(), environment().leases,
      MirroringOf(environment()), {}};
  BoundedThreads barrier_;
  FenceEnvironment fences_{config(), clusters(), barrier_, {}};
  ReclaimStats reclaim_stats_;
  SparsifyEnvironment reclaims_{
      environment().resolver, environment().leases, reclaim_stats_, {}};
  MirrorRestartWatch restarts_{environment(), clusters(),
                               std::chrono::milliseconds(0)};
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_FAULTS_PROCESS_H_
