#ifndef ADDONS_WATCH_WATCH_CONNECTION_H_
#define ADDONS_WATCH_WATCH_CONNECTION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "ceph/cluster.h"
#include "volume/config_store.h"

namespace addons {

// How what looks when no call asks reaches a cluster, with the user of a call.

/// Connects to `cluster_id` as config.json has it now. Blocks as
/// ClusterProvider::Connect() does, with its errors; NOT_FOUND: it is not in
/// config.json.
absl::StatusOr<std::shared_ptr<Cluster>> ConnectToWatch(
    ConfigStore& config, ClusterProvider& clusters,
    const std::string& cluster_id, const CephUserRef& user);

}  // namespace addons

#endif  // ADDONS_WATCH_WATCH_CONNECTION_H_
