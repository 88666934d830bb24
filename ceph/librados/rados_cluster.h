#ifndef ADDONS_CEPH_LIBRADOS_RADOS_CLUSTER_H_
#define ADDONS_CEPH_LIBRADOS_RADOS_CLUSTER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ceph/client_options.h"
#include "ceph/cluster.h"
#include "ceph/librados/cached_cluster.h"
#include "ceph/librados/client_environment.h"
#include "ceph/librados/rados_connection.h"
#include "ceph/librados/shared_slot.h"

namespace addons {

/// Cluster over four connections, one per ConnectionUse: each is made when it
/// is first needed, and anew when the last one is dead. Thread-safe.
class RadosCluster final : public CachedCluster, public ClientOptions {
 public:
  /// Connects for reading, which proves user and key and gives the fsid. Errors
  /// as for ClusterProvider::Connect().
  static absl::StatusOr<std::shared_ptr<CachedCluster>> Connect(
      const ClientEnvironment& environment, const ClusterTarget& target,
      const CephUserRef& user);

  const std::string& fsid() const override { return fsid_; }
  absl::StatusOr<std::unique_ptr<Pool>> OpenPool(
      int64_t pool_id, const std::string& rados_namespace,
      Access access) override;
  absl::StatusOr<std::string> MonCommand(const std::string& json) override;
  absl::StatusOr<std::string> MgrCommand(const std::string& json) override;
  absl::StatusOr<std::string> ConfiguredOption(
      const std::string& name) override;
  absl::Status SnapshotTogether(const std::vector<PlacedImage>& images,
                                const std::string& snapshot) override;
  std::vector<uint64_t> OwnClientIds() override;
  std::vector<std::string> OwnAddresses() override;
  absl::Status WaitForLatestMap() override;
  bool denied() const override;

 private:
  RadosCluster(ClientEnvironment environment, ClusterTarget target,
               CephUserRef user);
  SharedSlot<RadosConnection>& Slot(ConnectionUse use);
  absl::StatusOr<std::shared_ptr<RadosConnection>> Connection(
      ConnectionUse use);
  absl::Status WaitForLatestMap(
      const std::shared_ptr<RadosConnection>& connection);
  std::array<const SharedSlot<RadosConnection>*, 4> Slots() const {
    return {&read_, &mutate_, &mutate_gently_, &manager_};
  }

  const ClientEnvironment environment_;
  const ClusterTarget target_;
  const CephUserRef user_;
  std::string fsid_;  // set before anybody else sees this object
  std::atomic<bool> refused_ = false;
  SharedSlot<RadosConnection> read_;
  SharedSlot<RadosConnection> mutate_;
  SharedSlot<RadosConnection> mutate_gently_;
  SharedSlot<RadosConnection> manager_;
};

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_RADOS_CLUSTER_H_
