#ifndef ADDONS_TESTS_CHAOS_SIDE_JOBS_H_
#define ADDONS_TESTS_CHAOS_SIDE_JOBS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/cluster/two_sites.h"

namespace addons::testing {

/// What other controllers ask of a site's daemon all the time, beside the
/// moves: address ranges are fenced and unfenced, space is reclaimed, a volume
/// group gets other members. Each call is repeated until it is OK, as its
/// controller does, for at most ten minutes; and then what stands in the
/// cluster is compared with what was asked for. Failures are of the test that
/// runs.
class SideJobs {
 public:
  /// `volumes` are on site a, not replicated.
  SideJobs(std::vector<TestVolume> volumes, uint64_t seed);
  ~SideJobs() { Stop(); }
  SideJobs(const SideJobs&) = delete;
  SideJobs& operator=(const SideJobs&) = delete;

  /// Begins no new job while a site is dead.
  void Pause() { paused_ = true; }
  void Continue() { paused_ = false; }
  /// Waits for the end of the job under way, and takes the group away.
  void Stop();
  int done() const { return done_; }

 private:
  void Run(const std::stop_token& stop);
  void Fence(const std::string& range);
  void Reclaim(const TestVolume& volume);
  void ChangeGroup(uint64_t members);
  /// Repeats `call` until it is OK.
  static void UntilOk(const std::string& what,
                      const std::function<grpc::Status()>& call);

  const std::vector<TestVolume> volumes_;
  const uint64_t seed_;
  std::string group_id_;
  std::atomic<bool> paused_{false};
  std::atomic<int> done_{0};
  std::jthread thread_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CHAOS_SIDE_JOBS_H_
