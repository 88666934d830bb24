#ifndef ADDONS_TESTS_CHAOS_APPLICATIONS_H_
#define ADDONS_TESTS_CHAOS_APPLICATIONS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/chaos/workload.h"
#include "tests/orchestrator/orchestrated_sites.h"

namespace addons::testing {

/// Base of suites with volumes and a group of which each has a workload where
/// it is primary.
class ApplicationsTest : public OrchestratedSitesTest {
 protected:
  static std::string Other(const std::string& site) {
    return site == "a" ? "b" : "a";
  }

  /// A volume or a group.
  struct Application {
    std::unique_ptr<Volume> resource;
    std::vector<TestVolume> images;
    std::string at;  // where it is primary, and works
    std::unique_ptr<Workload> workload;
    Clearing clearing = Clearing::kNo;
    uint64_t whole = 0;  // of the last state that arrived in whole
    const std::string& name() const { return resource->volume.image; }
  };
  using Applications = std::vector<Application*>;

  /// Makes so many volumes and one group of so many members (0: none) at site
  /// a, replicated, and lets them work there.
  void Make(uint64_t volumes, uint64_t members,
            Clearing clearing = Clearing::kNo);
  /// One volume more, as Protect() makes it, that works at site a.
  Application& MakeOne(const Parameters& parameters,
                       const std::vector<std::string>& flags);
  std::vector<TestVolume> Images() const;
  static std::vector<NamedDisk> Open(const std::string& site,
                                     const Application& application,
                                     Disk::Mode mode);
  /// Goes on after the number `last`.
  static void Work(Application& application, uint64_t last);
  /// Ends the workload; the last number that was acknowledged.
  static uint64_t Rest(Application& application);
  /// What the images hold at `site`; all that no writer can have left is a
  /// failure, but what it cleared and mirroring did not. The lowest and the
  /// highest newest number.
  static std::pair<uint64_t, uint64_t> Read(const std::string& site,
                                            const Application& application);
  /// Both sites hold the same, but for what was not cleared at one of them.
  void ExpectSame(const Application& application);
  /// `work` for each of them at once.
  static void AtOnce(const Applications& applications,
                     const std::function<void(Application&)>& work);

  /// Waits until it is primary at `to`, by a move that nobody forced and that
  /// keeps what was `written` until its workload ended, and lets it work there.
  static void ArriveByMove(Application& application, const std::string& to,
                           uint64_t written, std::chrono::seconds limit);
  /// Sends their present state from `site` to the other one, which
  /// Application::whole is then, and begins to send one more.
  static void SendState(const Applications& applications,
                        const std::string& site);
  /// Lets it be taken over by force from `site`, which has died: it holds at
  /// least the whole state, and works at the other site then.
  void TakeOver(Application& application, const std::string& site);
  /// Ends the workloads, compares the sites and what is left on them, and lets
  /// the workloads go on.
  void ExpectAllInStep();

  std::vector<std::unique_ptr<Application>> applications_;
  /// What ExpectSame() has found: blocks that are zeros at one site and old at
  /// the other one, which is Ceph's doing, and those that are damaged.
  std::atomic<uint64_t> not_cleared_{0};
  std::atomic<uint64_t> damaged_{0};

 private:
  std::unique_ptr<Application> MakeGroupOf(uint64_t members);
  /// Asks for the replication info of an image that is primary at `site`, until
  /// the daemon has seen that its first copy has arrived, and has removed the
  /// note that it was awaited. It tries that for two seconds of a call, and an
  /// operator asks as seldom as once in an hour.
  static void AskForInfo(const std::string& site, const TestVolume& image);
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CHAOS_APPLICATIONS_H_
