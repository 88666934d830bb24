#ifndef ADDONS_ADMIN_STATUS_SERVICE_H_
#define ADDONS_ADMIN_STATUS_SERVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "rpc/unary_call.h"
#include "watch/watch_snapshot.h"

namespace addons {

/// Where StatusService has from what it tells. Both functions are thread-safe
/// and block for no cluster.
struct StatusSources {
  /// What the watch has seen last; null: it is off.
  std::function<std::shared_ptr<const WatchSnapshot>()> watched;
  /// Ids of this site's clusters in config.json; an error: it cannot be read.
  std::function<absl::StatusOr<std::vector<std::string>>()> clusters;
  bool replicates = false;  // the daemon has the replication service
  /// How many pools calls have named, looked at or not; null: none.
  std::function<size_t()> named = nullptr;
};

/// rbdaddons.admin.v1.Overview: how all volumes under replication are, from the
/// memory of the watch. Is no operation, so it answers also when all workers
/// hang. Thread-safe.
class StatusService final
    : public ::rbdaddons::admin::v1::Overview::CallbackService {
 public:
  static constexpr uint32_t kMostVolumes = 2500;  // of a page
  static constexpr uint32_t kVolumesByDefault = 1000;

  /// `rpc` is not owned. Ages are by its clock, which is the watch's.
  StatusService(Rpc& rpc, StatusSources sources);

  grpc::ServerUnaryReactor* ListStatus(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::ListStatusRequest* request,
      ::rbdaddons::admin::v1::ListStatusResponse* response) override;

 private:
  absl::Status Answer(
      const ::rbdaddons::admin::v1::ListStatusRequest& request,
      ::rbdaddons::admin::v1::ListStatusResponse* response) const;
  std::string WhyNothing(const WatchSnapshot* seen) const;

  Rpc& rpc_;
  const StatusSources sources_;
};

}  // namespace addons

#endif  // ADDONS_ADMIN_STATUS_SERVICE_H_
