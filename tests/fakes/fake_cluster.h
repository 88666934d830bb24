#ifndef ADDONS_TESTS_FAKES_FAKE_CLUSTER_H_
#define ADDONS_TESTS_FAKES_FAKE_CLUSTER_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "ceph/cluster.h"
#include "tests/fakes/fake_world.h"

namespace addons {

/// Gives the clusters of a FakeWorld. A target means the site that has its
/// cluster id or one of its monitors ("site-a:6789"). A second provider on the
/// same world is a second process: it has its own clients.
class FakeClusterProvider final : public ClusterProvider {
 public:
  /// `world` is not owned and outlives the provider and its clusters.
  explicit FakeClusterProvider(FakeWorld& world) : world_(world) {}

  absl::StatusOr<std::shared_ptr<Cluster>> Connect(
      const ClusterTarget& target, const CephUserRef& user) override;

  /// The cluster of a site as its own user; ends the test when it is not there.
  std::shared_ptr<Cluster> Get(FakeSite& site);

 private:
  FakeWorld& world_;
  Mutex mutex_;
  /// By site, user and key's fingerprint.
  std::map<std::string, std::shared_ptr<Cluster>> clusters_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_TESTS_FAKES_FAKE_CLUSTER_H_
