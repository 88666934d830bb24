#ifndef ADDONS_TESTS_CHAOS_SIDE_JOBS_H_
#define ADDONS_TESTS_CHAOS_SIDE_JOBS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/chaos/sites_network.h"
#include "tests/cluster/two_sites.h"

namespace addons::testing {

/// What other controllers ask of a site's daemon all the time, beside the
/// moves: hosts and empty addresses are fenced and unfenced, space is
/// reclaimed, a volume group gets other members. Each call is repeated until it
/// is OK, as its controller does, for at most ten minutes; and then what stands
/// in the cluster is compared with what was asked for. Failures are of the test
/// that runs.
class SideJobs {
 public:
  struct Place {
    std::string site;
    /// There, not replicated: their space is reclaimed, and a group has them.
    std::vector<TestVolume> volumes;
    /// On both sites; reclaimed, too.
    std::vector<TestVolume> replicated;
    /// A host that writes to an image of its own may be fenced; null: none is.
    SitesNetwork* network = nullptr;
  };

  SideJobs(Place place, uint64_t seed);
  ~SideJobs() { Stop(); }
  SideJobs(const SideJobs&) = delete;
  SideJobs& operator=(const SideJobs&) = delete;

  /// Waits for the end of the job under way, and begins no new one: the site is
  /// to die.
  void Pause();
  void Continue() { paused_ = false; }
  /// Waits for the end of the job under way, and takes the group away.
  void Stop();
  int done() const { return done_; }

 private:
  void Run(const std::stop_token& stop);
  void Do(uint64_t number);
  void MakeHost();
  /// `while_fenced` is called after the fence was listed.
  void Fence(const std::string& range,
             const std::function<void()>& while_fenced);
  void FenceHost();
  void Reclaim(const TestVolume& volume, bool may_be_away);
  void ChangeGroup(uint64_t members);
  /// Repeats `call` until it is OK.
  static void UntilOk(const std::string& what,
                      const std::function<grpc::Status()>& call);

  const Place place_;
  const uint64_t seed_;
  std::string group_id_;
  std::string host_;                // its address
  std::vector<std::string> enter_;  // put before a command to run it there
  int host_lives_ = 0;
  std::mutex job_;  // held while there is one under way
  std::atomic<bool> paused_{false};
  std::atomic<int> done_{0};
  std::jthread thread_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CHAOS_SIDE_JOBS_H_
