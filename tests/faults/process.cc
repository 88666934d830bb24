#include "tests/faults/process.h"

namespace addons::testing {

Process::Process(FakeWorld& world, const MirroredPair& pair, FakeSite& site,
                 const ThreadStarter& start)
    : Daemon(world, pair, site), barrier_("fence-barrier", start) {
  environment().start_thread = start;
  // Fewer calls that do the same again.
  options().poll_interval = std::chrono::seconds(10);
  options().rescue_copy.pieces = 32;
  // One thread, so that the calls of a verb have an order.
  options().group_members_at_once = 1;
  options().group_threads = 1;
  options().group_looking_threads = 0;
  groups_.options.concurrency = 1;
  // Real time, in which the model answers at once.
  fences_.options.services_patience = std::chrono::milliseconds(500);
  fences_.options.barrier_patience = std::chrono::milliseconds(500);
  reclaims_.start_thread = start;
  // One look, after the work: how many there are in its middle is a matter of
  // chance.
  reclaims_.options.look_interval = std::chrono::seconds(2);
  reclaims_.options.permit = std::chrono::seconds(10);
}

}  // namespace addons::testing
