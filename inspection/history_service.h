#ifndef ADDONS_INSPECTION_HISTORY_SERVICE_H_
#define ADDONS_INSPECTION_HISTORY_SERVICE_H_

#include <functional>
#include <string>
#include <vector>

#include "ceph/cluster.h"
#include "history/event_log.h"
#include "operation/operation_table.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "rpc/unary_call.h"
#include "volume/config_store.h"
#include "volume/resolver.h"

namespace addons {

/// rbdaddons.admin.v1.History: what happened to the volumes and volume groups
/// of a pool, as it was written there. Reads only. Thread-safe.
class HistoryService final
    : public ::rbdaddons::admin::v1::History::CallbackService {
 public:
  /// What people call a volume or group, by its id; empty: not known.
  using NameOf = std::function<std::string(const std::string& id)>;
  /// As it is known now. Does not block.
  using NameSource = std::function<NameOf()>;

  /// Nothing but `home` (as AuditService has it) and `names` is owned;
  /// everything outlives the service. What `log` still has of the last seconds
  /// is waited for.
  HistoryService(Rpc& rpc, OperationTable& operations, Resolver& resolver,
                 ConfigStore& config, ClusterProvider& clusters,
                 const EventLog& log, std::vector<ClusterId> home,
                 NameSource names);

  grpc::ServerUnaryReactor* ListHistory(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::ListHistoryRequest* request,
      ::rbdaddons::admin::v1::ListHistoryResponse* response) override;

 private:
  struct Asked;
  absl::StatusOr<ResolvedPlace> Find(OperationContext& context,
                                     const Asked& asked);

  Rpc& rpc_;
  OperationTable& operations_;
  Resolver& resolver_;
  ConfigStore& config_;
  ClusterProvider& clusters_;
  const EventLog& log_;
  const std::vector<ClusterId> home_;
  const NameSource names_;
};

}  // namespace addons

#endif  // ADDONS_INSPECTION_HISTORY_SERVICE_H_
