#ifndef ADDONS_CEPH_CLUSTER_H_
#define ADDONS_CEPH_CLUSTER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/cluster_id.h"
#include "base/image_name.h"
#include "base/secret.h"

namespace addons {

class Pool;

/// Which of a cluster's connections a pool is opened on; one more is for
/// manager commands alone. Reads have an OSD operation timeout, so that no
/// reader is ever stuck. Mutations have none: a stall during promote or demote
/// with that timeout ends in a crash inside librbd or in success with an
/// incomplete snapshot. All have monitor timeouts. What librbd does to an image
/// object by object (sparsify), it does with one object at a time where the
/// access is gentle, and with ten otherwise: others in the pool go on
/// meanwhile.
enum class Access { kRead, kMutate, kMutateGently };
/// Whether images and objects can be changed with it.
constexpr bool MayChange(Access access) { return access != Access::kRead; }

/// A Ceph user without the "client." prefix and its key.
struct CephUser {
  std::string id;
  Secret key;
};

/// The user of a request, made once from its secrets and shared by all who work
/// for it, also when they outlive it: the key is wiped when the last of them
/// lets go. Not null, except where a comment says so.
using CephUserRef = std::shared_ptr<const CephUser>;

inline CephUserRef MakeCephUser(std::string id, Secret key) {
  return std::make_shared<const CephUser>(
      CephUser{std::move(id), std::move(key)});
}

/// An image of a cluster, where it is and which one.
struct PlacedImage {
  int64_t pool_id = 0;
  std::string rados_namespace;
  ImageName name;
  std::string id;  // another image of that name is not meant
};

/// One cluster as one user. Thread-safe. When Ceph answers ESHUTDOWN (this
/// client was blocklisted) the connection concerned is dropped and the next
/// OpenPool() or command makes a new one; pools and images of the old one keep
/// failing with UNAVAILABLE and errno kBlocklistedErrno.
class Cluster {
 public:
  virtual ~Cluster() = default;
  Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  virtual const std::string& fsid() const = 0;

  /// NOT_FOUND: no pool with this id. Blocks only to connect (bounded). What
  /// needs space in a full pool ends with RESOURCE_EXHAUSTED, also of images
  /// that are opened in it and of their data pools, and what frees some is
  /// done: without that both wait, and what the OSDs drop when the pool becomes
  /// full is never sent again (seen, 16.2.15). rados_ioctx_create2,
  /// rados_set_pool_full_try, rados_ioctx_set_namespace
  virtual absl::StatusOr<std::unique_ptr<Pool>> OpenPool(
      int64_t pool_id, const std::string& rados_namespace, Access access) = 0;

  /// Runs a monitor (manager) command given as JSON and returns its output. The
  /// status text of a failed command is part of the error's message. Bounded by
  /// the monitor operation timeout. rados_mon_command, rados_mgr_command
  virtual absl::StatusOr<std::string> MonCommand(const std::string& json) = 0;
  virtual absl::StatusOr<std::string> MgrCommand(const std::string& json) = 0;

  /// Makes a user's snapshot of this name of each of `images`, which differ, at
  /// one instant: their writers wait from before the first is made until the
  /// last one is. They wait for some seconds at most, and no write fails. Where
  /// it fails each image has one or none.
  ///
  /// UNAVAILABLE: a writer kept its lock, or it took too long, so that it was
  /// given up. FAILED_PRECONDITION: an image has no exclusive lock, or this
  /// librbd no LockMode::kTransient. NOT_FOUND: an image is gone. Otherwise as
  /// Pool::OpenImage() and Image::CreateSnapshot(). Blocks for a minute at
  /// most.
  virtual absl::Status SnapshotTogether(const std::vector<PlacedImage>& images,
                                        const std::string& snapshot) = 0;

  /// The RADOS instance ids of the connections that are up: recognises our own
  /// watches. rados_get_instance_id
  virtual std::vector<uint64_t> OwnClientIds() = 0;

  // --- fencing ---------------------------------------------------------------
  /// The addresses that the cluster sees of the connections that are up, as
  /// Ceph writes them: "10.0.0.1:0/123" or "[v2:...,v1:...]". rados_getaddrs
  virtual std::vector<std::string> OwnAddresses() = 0;
  /// Blocks until the read and the mutation connection have the newest OSD map,
  /// at most for the monitor timeout each: what is sent on them from then on
  /// takes it to the OSDs. rados_wait_for_latest_osdmap
  virtual absl::Status WaitForLatestMap() = 0;
};

/// Where a cluster is and who wants to talk to it.
struct ClusterTarget {
  ClusterId cluster_id;               // for messages
  std::vector<std::string> monitors;  // as config.json writes them
};

/// Gives connected clusters. Thread-safe.
class ClusterProvider {
 public:
  virtual ~ClusterProvider() = default;

  /// Returns at once when this (monitors, user, key) is connected already; else
  /// connects, once for all callers that ask meanwhile. Blocks for at most the
  /// connect timeout. UNAUTHENTICATED: the key is no cephx key, or of a type
  /// that librados cannot use, or the cluster refuses user or key. UNAVAILABLE:
  /// no monitor answered.
  virtual absl::StatusOr<std::shared_ptr<Cluster>> Connect(
      const ClusterTarget& target, const CephUserRef& user) = 0;
};

}  // namespace addons

#endif  // ADDONS_CEPH_CLUSTER_H_
