#ifndef ADDONS_TESTS_CONTRACT_CONTRACT_BED_H_
#define ADDONS_TESTS_CONTRACT_CONTRACT_BED_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/cluster.h"
#include "ceph/pool.h"

namespace addons {

/// Two sites that mirror one pool in both directions, in image mode, with
/// rbd-mirror running on both. The methods are what administrators and
/// workloads do; everything under test goes through Cluster.
class ContractBed {
 public:
  enum class Site { kA, kB };

  ContractBed() = default;
  virtual ~ContractBed() = default;
  ContractBed(const ContractBed&) = delete;
  ContractBed& operator=(const ContractBed&) = delete;

  /// Connected as the CSI user.
  virtual Cluster& ClusterFor(Site site) = 0;
  virtual int64_t PoolId(Site site) = 0;
  virtual std::string PoolName() = 0;

  virtual absl::Status CreateImage(Site site, const std::string& name,
                                   uint64_t bytes) = 0;
  /// A clone of a snapshot of `parent`.
  virtual absl::Status CreateClone(Site site, const std::string& parent,
                                   const std::string& clone) = 0;
  /// Fills the image with something that depends on `value` alone.
  virtual absl::Status Write(Site site, const std::string& image,
                             uint64_t value) = 0;
  /// Equal exactly when the contents are.
  virtual absl::StatusOr<std::string> Fingerprint(Site site,
                                                  const std::string& image) = 0;
  virtual absl::Status CreateOmap(Site site, const std::string& object,
                                  const OmapValues& values) = 0;

  /// Leaves the rbd group as a client does that dies while it adds the image
  /// with this internal id, which may be gone.
  virtual absl::Status LeaveGroupImageIncomplete(
      Site site, const std::string& group, const std::string& image_id) = 0;

  /// `rbd group snap create`.
  virtual absl::Status CreateGroupSnapshot(Site site, const std::string& group,
                                           const std::string& snapshot) = 0;

  /// rbd-mirror does nothing any more (SIGSTOP), for less than 20 s; and goes
  /// on.
  virtual absl::Status FreezeMirrorDaemon(Site site) = 0;
  virtual absl::Status ThawMirrorDaemon(Site site) = 0;
  /// It ends as it is told to (SIGTERM).
  virtual absl::Status EndMirrorDaemon(Site site) = 0;
  /// It dies (SIGKILL).
  virtual absl::Status KillMirrorDaemon(Site site) = 0;
  /// A new one, after either.
  virtual absl::Status StartMirrorDaemon(Site site) = 0;
  /// `rbd snap limit set`, or clear (nullopt).
  virtual absl::Status SetSnapshotLimit(Site site, const std::string& image,
                                        std::optional<uint64_t> limit) = 0;

  /// `rbd snap create`, and `rbd snap rollback` to it.
  virtual absl::Status CreateSnapshot(Site site, const std::string& image,
                                      const std::string& snapshot) = 0;
  virtual absl::Status RollBack(Site site, const std::string& image,
                                const std::string& snapshot) = 0;

  /// `rbd lock add` with the id "by-hand"; its client ends.
  virtual absl::Status LockByHand(Site site, const std::string& image) = 0;

  /// Why no flatten task can be given to the manager of site a.
  virtual std::optional<std::string> NoFlattenTasks() { return std::nullopt; }

  /// Looks again and again until `condition` holds; false: not within
  /// `timeout`.
  virtual bool WaitFor(const std::function<bool()>& condition,
                       std::chrono::seconds timeout) = 0;

  /// Set by the suite: the mirrored images exist.
  bool prepared = false;
};

struct BedFactory {
  const char* name;
  std::unique_ptr<ContractBed> (*make)();  // nullptr: no bed
  friend std::ostream& operator<<(std::ostream& out,
                                  const BedFactory& factory) {
    return out << factory.name;
  }
};

}  // namespace addons

#endif  // ADDONS_TESTS_CONTRACT_CONTRACT_BED_H_
