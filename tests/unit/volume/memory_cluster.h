#ifndef ADDONS_TESTS_UNIT_VOLUME_MEMORY_CLUSTER_H_
#define ADDONS_TESTS_UNIT_VOLUME_MEMORY_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "ceph/cluster.h"
#include "ceph/pool.h"
#include "tests/testing/gate.h"

namespace addons::testing {

/// Is asked before each call ("Connect", "OpenPool 2", "ReadOmap
/// csi.volume.x"): it may block, and its error becomes the call's.
using CallHook = std::function<absl::Status(const std::string& call)>;

/// Omap objects of one cluster in memory. Everything else is UNIMPLEMENTED.
class MemoryCluster : public Cluster {
 public:
  MemoryCluster();

  void AddPool(int64_t id, const std::string& name);
  /// Makes the object, and its pool's namespace if need be.
  void Put(int64_t pool_id, const std::string& rados_namespace,
           const std::string& object, const OmapValues& values);
  /// Puts a complete journal object of a volume.
  void PutVolume(int64_t pool_id, const std::string& uuid);
  void Erase(int64_t pool_id, const std::string& rados_namespace,
             const std::string& object);
  OmapValues Get(int64_t pool_id, const std::string& rados_namespace,
                 const std::string& object);
  /// What an ioctx sees of the cluster; also the contents of the fixtures.
  void PutFixtures();

  void SetHook(CallHook hook);
  /// All calls so far, Connect included.
  std::vector<std::string> Calls();
  int CountCalls(const std::string& call);
  absl::Status Enter(const std::string& call);

  const std::string& fsid() const override;
  absl::StatusOr<std::unique_ptr<Pool>> OpenPool(
      int64_t pool_id, const std::string& rados_namespace,
      Access access) override;
  absl::StatusOr<std::string> MonCommand(const std::string& json) override;
  absl::StatusOr<std::string> MgrCommand(const std::string& json) override;
  absl::Status SnapshotTogether(const std::vector<PlacedImage>& images,
                                const std::string& snapshot) override;
  std::vector<uint64_t> OwnClientIds() override;
  std::vector<std::string> OwnAddresses() override;
  absl::Status WaitForLatestMap() override;

  class Contents;

 private:
  const std::string fsid_ = "00000000-0000-0000-0000-000000000001";
  std::shared_ptr<Contents> contents_;  // pools outlive their cluster
};

/// Knows clusters by their first monitor address.
class MemoryClusters : public ClusterProvider {
 public:
  void Add(const std::string& monitor, std::shared_ptr<MemoryCluster> cluster);

  absl::StatusOr<std::shared_ptr<Cluster>> Connect(
      const ClusterTarget& target, const CephUserRef& user) override;

 private:
  std::map<std::string, std::shared_ptr<MemoryCluster>> clusters_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_UNIT_VOLUME_MEMORY_CLUSTER_H_
