#ifndef ADDONS_SERVER_SERVICES_H_
#define ADDONS_SERVER_SERVICES_H_

#include <grpcpp/impl/service_type.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "ceph/cluster.h"
#include "history/event_log.h"
#include "identity/capabilities.h"
#include "operation/operation_table.h"
#include "reclaimspace/reclaim_stats.h"
#include "reclaimspace/trim_stats.h"
#include "replication/environment.h"
#include "replication/look/watched.h"
#include "rpc/unary_call.h"
#include "server/config.h"
#include "volume/config_store.h"
#include "volume/resolver.h"
#include "watch/watch_snapshot.h"

namespace addons {

/// What services are built from. Nothing is owned; all of it outlives them.
struct ServiceParts {
  const Config& config;
  Clock& clock;
  Rpc& rpc;
  ConfigStore& config_store;
  ClusterProvider& clusters;
  Resolver& resolver;
  OperationTable& operations;
  /// What the watch has seen last; null: it is off. Asked by calls only.
  std::function<std::shared_ptr<const WatchSnapshot>()> watched;
};

struct ServiceSet {
  // What services share; they are destroyed before it.
  std::unique_ptr<ReplicationEnvironment> replication;
  std::unique_ptr<WatchedClusters> watched;  // where there is replication
  std::unique_ptr<TrimStats> trim_stats;     // null: trims are not served
  std::vector<std::unique_ptr<grpc::Service>> services;  // of CSI-Addons
  std::vector<std::unique_ptr<grpc::Service>> admin_services;
  const ReclaimStats* reclaim_stats = nullptr;  // of a service; null: likewise
  std::function<uint64_t()> evictions;          // of `replication`; likewise
  std::function<HistoryStats()> history;        // likewise
  ServedServices served;  // what GetCapabilities may promise
};

/// The administrators' service, and those that act on Ceph, for the modes that
/// are on. A new service is added here, in one row with its flag in `served`.
ServiceSet MakeServices(const ServiceParts& parts);

}  // namespace addons

#endif  // ADDONS_SERVER_SERVICES_H_
