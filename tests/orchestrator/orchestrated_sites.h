#ifndef ADDONS_TESTS_ORCHESTRATOR_ORCHESTRATED_SITES_H_
#define ADDONS_TESTS_ORCHESTRATOR_ORCHESTRATED_SITES_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/cluster/two_sites.h"
#include "tests/orchestrator/call_log.h"
#include "tests/orchestrator/control_loop.h"
#include "tests/orchestrator/replication_calls.h"
#include "tests/orchestrator/volume_replication.h"

namespace addons::testing {

/// Base of suites in which nobody calls the daemons but the model of the
/// operator: tests create, edit and delete custom resources, as an orchestrator
/// of disaster recovery does, and look at what became of the data.
///
/// Every answer "OK, ready=false" of a Resync is compared with what stands in
/// the cluster right before and after it: an orchestrator that hears it deletes
/// the resource, and nobody asks again.
class OrchestratedSitesTest : public TwoSitesTest {
 protected:
  using Role = VolumeReplication::Role;

  /// A volume with its custom resource on each site that has one.
  struct Volume {
    TestVolume volume;
    Parameters parameters;
    /// Where it is something else than a volume: who makes its calls.
    std::function<std::unique_ptr<ReplicationCalls>(
        const std::string& site, std::shared_ptr<CallLog> log)>
        calls{};
    std::map<std::string, std::unique_ptr<ControlLoop>> objects;
    std::map<std::string, std::shared_ptr<CallLog>> logs;

    ControlLoop& on(const std::string& site) { return *objects.at(site); }
  };
  using Volumes = std::vector<std::unique_ptr<Volume>>;

  void TearDown() override;

  /// Does `work` with all volumes at once.
  static void ForEach(const Volumes& volumes,
                      const std::function<void(Volume&)>& work);

  /// An image on a, replicated by a resource that wants it to be primary there,
  /// arrived on b.
  std::unique_ptr<Volume> Protect(const Parameters& parameters,
                                  const std::vector<std::string>& flags);
  /// One volume of each kind: ordinary, in a namespace, with a data pool.
  void ProtectAllKinds(Volumes* volumes);

  /// A volume group with its custom resource.
  struct ProtectedGroup {
    std::unique_ptr<Volume> resource;
    std::vector<TestVolume> members;
  };
  /// New volumes on a in a group that is replicated, primary on a, arrived on
  /// b.
  ProtectedGroup ProtectGroup(size_t members);

  void Create(Volume& volume, const std::string& site, Role wanted);
  static void Want(Volume& volume, const std::string& site, Role wanted);
  /// Waits for the resource's state.
  static void AwaitState(Volume& volume, const std::string& site, Role state,
                         std::chrono::seconds limit);
  /// Waits until an orchestrator would delete the secondary's resource, deletes
  /// it, and waits until it is gone.
  static void CleanUp(Volume& volume, const std::string& site,
                      std::chrono::seconds limit);
  static bool WasForced(const Volume& volume, const std::string& site);
  /// `site`, where it is wanted to be primary, is asked for `time`, and neither
  /// becomes primary nor is forced.
  static void ExpectWaits(Volume& volume, const std::string& site,
                          std::chrono::seconds time);

  /// Stops (continues) all of a site's cluster.
  void StopSite(const std::string& site);
  void ContinueSite(const std::string& site);

  // --- what counts in the end

  /// `primary` alone is primary, the other site follows it and holds the same.
  static void ExpectInStep(const Volume& volume, const std::string& primary);
  static void ExpectInStep(const TestVolume& image, const std::string& primary);
  /// The same, whatever they hold.
  static void ExpectFollowed(const TestVolume& image,
                             const std::string& primary);
  /// No schedule of an image that is gone, no incomplete snapshot, no resync
  /// request, no mark of a move, no rescue image, nothing in the trash.
  static void ExpectNothingLeft(const Volumes& volumes);
  static void ExpectNothingLeft(const std::vector<TestVolume>& images);

  /// Whether the daemons of a site answer clients of its cluster.
  static std::atomic<bool>& Lives(const std::string& site);

 private:
  class SiteCalls;
  static std::string LeftOn(const std::string& site,
                            const std::vector<TestVolume>& images);
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_ORCHESTRATOR_ORCHESTRATED_SITES_H_
