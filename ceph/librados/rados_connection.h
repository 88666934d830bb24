#ifndef ADDONS_CEPH_LIBRADOS_RADOS_CONNECTION_H_
#define ADDONS_CEPH_LIBRADOS_RADOS_CONNECTION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "ceph/cluster.h"
#include "ceph/librados/client_environment.h"
#include "ceph/librados/handles.h"
#include "ceph/librados/refusals.h"

namespace addons {

/// What a connection is for, which decides its bounds; see Access. kManager:
/// commands to the manager, without a monitor timeout. When rados_mgr_command
/// gives up after that timeout, the manager's late answer is written where its
/// stack was, which ends the process (measured). Who calls it must bound it
/// otherwise.
enum class ConnectionUse { kRead, kMutate, kMutateGently, kManager };

/// One rados_t: a connected client of a cluster. Pools and images hold it by
/// shared_ptr, so that it is shut down after the last of them. Thread-safe.
///
/// It reads no ceph.conf and no keyring of this host. All calls on its handles
/// go through Call().
class RadosConnection {
 public:
  /// Connects. Blocks for at most the connect timeout. Errors as for
  /// ClusterProvider::Connect(). rados_create2, rados_conf_set, rados_connect
  static absl::StatusOr<std::shared_ptr<RadosConnection>> Connect(
      const ClientEnvironment& environment, const ClusterTarget& target,
      const CephUser& user, ConnectionUse use);

  ~RadosConnection();
  RadosConnection(const RadosConnection&) = delete;
  RadosConnection& operator=(const RadosConnection&) = delete;

  /// CallGate::Call() that also notices what an answer says about this
  /// connection.
  int Call(absl::string_view name, absl::FunctionRef<int()> call);

  /// Whether images and objects are changed through it.
  bool may_change() const {
    return use_ == ConnectionUse::kMutate ||
           use_ == ConnectionUse::kMutateGently;
  }
  /// Ceph answered ESHUTDOWN: this client was put on the blocklist. Nothing
  /// brings such a connection back, not even the removal of the entry.
  bool dead() const { return dead_; }
  /// Ceph refused this client: its key or caps may have been changed since.
  bool denied() const {
    return refusals_.AskAnew(std::chrono::steady_clock::now());
  }
  uint64_t client_id() const { return client_id_; }

  /// rados_cluster_fsid
  absl::StatusOr<std::string> Fsid();
  /// The value that an option has here. NOT_FOUND: there is no such option.
  /// rados_conf_get
  absl::StatusOr<std::string> Option(const std::string& name);
  /// As Cluster::OwnAddresses(); empty when librados cannot tell.
  /// rados_getaddrs
  std::string Addresses();
  /// Has no bound. rados_wait_for_latest_osdmap
  absl::Status WaitForLatestMap();
  absl::Status LatestMapError(int result) const;
  /// NOT_FOUND: no pool with this id. Bounded by the monitor timeout. Where the
  /// pool is full calls fail in place of waiting: Cluster::OpenPool().
  absl::StatusOr<IoctxHandle> OpenIoctx(int64_t pool_id,
                                        const std::string& rados_namespace);
  /// rados_mon_command
  absl::StatusOr<std::string> MonCommand(const std::string& json);
  /// Only for kManager, and has no bound. rados_mgr_command
  absl::StatusOr<std::string> MgrCommand(const std::string& json);
  /// What a caller is told who did not wait for MgrCommand() any longer.
  absl::Status MgrCommandTimeout(const std::string& json) const;

 private:
  RadosConnection(std::shared_ptr<CallGate> gate, ClusterId cluster_id,
                  ConnectionUse use, ClusterHandle cluster);
  using CommandFn = decltype(&rados_mon_command);
  absl::StatusOr<std::string> Command(absl::string_view name,
                                      CommandFn function,
                                      absl::string_view daemon,
                                      const std::string& json);
  absl::Status CommandError(int result, absl::string_view daemon,
                            const std::string& json) const;
  absl::Status CheckPoolExists(int64_t pool_id);

  const std::shared_ptr<CallGate> gate_;
  const ClusterId cluster_id_;
  const ConnectionUse use_;
  const ClusterHandle cluster_;
  uint64_t client_id_ = 0;
  std::atomic<bool> dead_ = false;
  Refusals refusals_{std::chrono::steady_clock::now()};
  Mutex mutex_;
  std::set<int64_t> known_pools_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_RADOS_CONNECTION_H_
