#ifndef ADDONS_TESTS_CLUSTER_REAL_BED_H_
#define ADDONS_TESTS_CLUSTER_REAL_BED_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ceph/cluster.h"
#include "ceph/librados/connection_cache.h"
#include "tests/cluster/testbed.h"

namespace addons::testing {

/// Two throwaway Ceph clusters, "a" and "b", that mirror each other: started by
/// scripts/testbed in a temporary folder and ended with this object.
class RealBed {
 public:
  /// `flags` as of `testbed up`, besides --mirror.
  static absl::StatusOr<std::unique_ptr<RealBed>> Start(
      const std::vector<std::string>& flags = {});
  ~RealBed();
  RealBed(const RealBed&) = delete;
  RealBed& operator=(const RealBed&) = delete;

  /// `scripts/testbed COMMAND <bed> ARGS...`; returns what it prints, without
  /// the last line's end. It is ended after `limit` (zero: none). kNamespace in
  /// the arguments of rbd and rados stands for that of the site, the first one.
  absl::StatusOr<std::string> Run(
      const std::string& command, const std::vector<std::string>& args,
      std::chrono::seconds limit = std::chrono::seconds(0));

  /// Leaves an rbd group of kPool as a client does that dies while it adds the
  /// image with this internal id, after the image was told, if there is one.
  absl::Status LeaveGroupImageIncomplete(
      const std::string& site, const std::string& group,
      const std::string& image_id, const std::string& rados_namespace = "");

  /// What config.json and the secret of a site say.
  ClusterTarget Target(const std::string& site) const;
  CephUserRef User(const std::string& site) const;
  /// Of "replicapool" there.
  int64_t PoolId(const std::string& site) const;
  /// A file of this name in the bed's folder.
  std::string Path(const std::string& name) const { return dir_ + "/" + name; }
  static constexpr char kPool[] = "replicapool";
  static constexpr char kNamespace[] = "tenant1";
  /// $TESTBED_NAMESPACE: where volumes and groups are whose makers name no
  /// other RADOS namespace; "" is the pool itself.
  static std::string EveryNamespace();
  /// What `rados_namespace` is called on `site`: $TESTBED_REMOTE_NAMESPACE for
  /// kNamespace on site b, where that is set.
  static std::string NamespaceOn(const std::string& site,
                                 const std::string& rados_namespace);

 private:
  explicit RealBed(std::string dir) : dir_(std::move(dir)) {}
  std::string ReadFile(const std::string& name) const;
  const std::string dir_;
};

/// Short bounds, so that tests of hung daemons end soon.
inline ConnectionCacheOptions ShortTimeouts() {
  return {{std::chrono::seconds(5), std::chrono::seconds(3),
           std::chrono::seconds(3)},
          std::chrono::seconds(600)};
}

/// The bed of this test program, started before the first test. Never null in a
/// test.
RealBed& Bed();

/// Why the manager of site a must be given no flatten task, which that of one
/// release does not survive; nullopt: it may. "Known faults of the
/// distributions" in docs/compatibility.md.
std::optional<std::string> NoFlattenTasks();

/// Has Bed() started with these flags of `testbed up`, too, in each run that
/// tests of one of `suites` are part of; in all runs when none is named. To be
/// called before main(), by the initializer of a global, whose value it is.
bool StartBedWith(const std::vector<std::string>& flags,
                  const std::vector<std::string>& suites = {});

/// The same for OSDs on BlueStore, as real clusters have them. For suites that
/// compare what images hold after discards, zeros, trims, snapshots, rollbacks
/// or clones: on the memstore that a bed has otherwise, much that mirroring
/// does not carry is at the other site all the same, and an object map that is
/// wrong there is not seen.
bool OnBluestore(const std::vector<std::string>& suites = {});

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_REAL_BED_H_
