#include "server/services.h"

#include <functional>
#include <memory>
#include <utility>

#include "admin/admin_service.h"
#include "admin/status_service.h"
#include "base/status_macros.h"
#include "doctor/doctor_service.h"
#include "inspection/adopt_service.h"
#include "inspection/audit_service.h"
#include "inspection/history_service.h"
#include "inspection/inspection_service.h"
#include "inspection/installation_check.h"
#include "inspection/rescue_service.h"
#include "keyrotation/key_rotation_service.h"
#include "networkfence/network_fence_service.h"
#include "points/points_service.h"
#include "points/test_failover_service.h"
#include "reclaimspace/controller_reclaim_service.h"
#include "reclaimspace/node_reclaim_service.h"
#include "replication/copying_service.h"
#include "replication/membership.h"
#include "replication/replication_service.h"
#include "volume/home_clusters.h"
#include "volumegroup/volumegroup_service.h"
#include "watch/watched_names.h"

namespace addons {
namespace {

ReplicationOptions OptionsOf(const Config& config) {
  ReplicationOptions options;
  options.settle_time = config.settle_time;
  options.takeover_time = config.takeover_time;
  options.force_without_local_mirror = config.force_without_local_mirror;
  options.group_members_by_default = config.group_members_by_default;
  options.leases.instance = config.instance_id;
  return options;
}

FenceOptions FenceOptionsOf(const Config& config) {
  FenceOptions options;
  options.shortest_mask_ipv4 = config.fence_shortest_mask_ipv4;
  options.shortest_mask_ipv6 = config.fence_shortest_mask_ipv6;
  options.auto_unfence = config.enable_fencing;
  options.home = config.site_clusters;
  return options;
}

VolumeGroupOptions GroupOptionsOf(const Config& config) {
  VolumeGroupOptions options;
  options.instance_id = config.instance_id;
  options.max_members = config.group_max_members;
  options.home = config.site_clusters;
  return options;
}

/// The mirroring of members is kept in step with their group.
MemberReplication MembersOf(ReplicationEnvironment& environment) {
  const auto step = [&environment](auto* change_mirroring) {
    return [&environment, change_mirroring](OperationContext& context,
                                            const MembershipChange& change,
                                            const SeenMirroring& seen) {
      return change_mirroring(context, environment, change, seen);
    };
  };
  return {step(&CheckGroupChange), step(&EnableAdded), step(&DisableRemoved)};
}

/// What doctor asks of replication.
ReplicationChecks ChecksOf(ReplicationEnvironment& environment,
                           const std::string& instance_id) {
  ReplicationChecks checks;
  checks.pace = [&environment](OperationContext& context,
                               const MirroredPlace& place) {
    return CheckPace(context, environment, place);
  };
  checks.before_handover =
      [&environment, instance_id,
       threads = std::make_shared<BoundedThreads>("handover")](
          OperationContext& context, const MirroredPlace& place) {
        return CheckBeforeHandover(context, environment, *threads, place,
                                   instance_id);
      };
  return checks;
}

/// What the history calls volumes and groups: as the watch has seen them when
/// it is asked.
HistoryService::NameSource NamesOf(const AdminService::Watched& watched) {
  return [watched]() -> HistoryService::NameOf {
    const auto seen = watched ? watched() : nullptr;
    const auto names = std::make_shared<const WatchedNames>(seen.get());
    return [names](const std::string& id) { return names->NameOf(id); };
  };
}

/// The ids of this site's clusters in config.json.
absl::StatusOr<std::vector<std::string>> HomeClustersOf(
    ConfigStore& store, const std::vector<ClusterId>& home) {
  ADDONS_ASSIGN_OR_RETURN(const auto config, store.Current());
  std::vector<std::string> ids;
  for (const ClusterEntry& entry : config->entries()) {
    if (IsHome(home, entry.cluster_id)) ids.push_back(entry.cluster_id.text());
  }
  return ids;
}

}  // namespace

ServiceSet MakeServices(const ServiceParts& parts) {
  ServiceSet set;
  EventLog* history = nullptr;
  if (parts.config.modes.controller) {
    set.replication = std::make_unique<ReplicationEnvironment>(
        parts.resolver, parts.config_store, parts.clock,
        OptionsOf(parts.config));
    history = &set.replication->history;
    set.watched = std::make_unique<WatchedClusters>(parts.clock);
    set.replication->leases.StartRenewing();
    set.evictions = [replication = set.replication.get()] {
      return replication->evictions.count();
    };
    set.history = [replication = set.replication.get()] {
      return replication->history.stats();
    };
    set.services.push_back(std::make_unique<ReplicationService>(
        parts.rpc, parts.operations, *set.replication, *set.watched));
    set.served.volume_replication = true;
    set.admin_services.push_back(std::make_unique<AuditService>(
        parts.rpc, parts.operations, parts.config_store, parts.clusters,
        set.replication->leases, parts.config.site_clusters,
        parts.config.instance_id));
    set.admin_services.push_back(std::make_unique<InspectionService>(
        parts.rpc, parts.operations, parts.config_store, parts.clusters,
        *set.replication, parts.config.site_clusters,
        parts.config.instance_id));
    set.admin_services.push_back(std::make_unique<HistoryService>(
        parts.rpc, parts.operations, parts.resolver, parts.config_store,
        parts.clusters, *history, parts.config.site_clusters,
        NamesOf(parts.watched)));
    set.admin_services.push_back(std::make_unique<RescueService>(
        parts.rpc, parts.operations, *set.replication));
    set.admin_services.push_back(std::make_unique<CopyingService>(
        parts.rpc, parts.operations, *set.replication));
    set.admin_services.push_back(std::make_unique<PointsService>(
        parts.rpc, parts.operations, *set.replication));
    set.admin_services.push_back(std::make_unique<TestFailoverService>(
        parts.rpc, parts.operations, *set.replication, parts.clusters,
        parts.config.site_clusters, parts.config.driver_name));
    set.admin_services.push_back(std::make_unique<AdoptService>(
        parts.rpc, parts.operations, parts.config_store, parts.clusters,
        set.replication->leases, *history, parts.config.site_clusters,
        parts.config.instance_id));
    set.admin_services.push_back(std::make_unique<DoctorService>(
        parts.rpc, parts.operations, parts.config_store, parts.clusters,
        parts.config.site_clusters,
        ChecksOf(*set.replication, parts.config.instance_id)));
    set.served.replication_destination_info = true;
    set.services.push_back(std::make_unique<VolumeGroupService>(
        parts.rpc, parts.operations,
        VolumeGroupEnvironment{parts.resolver, parts.config_store,
                               parts.clusters, set.replication->leases,
                               MembersOf(*set.replication),
                               GroupOptionsOf(parts.config), history}));
    set.served.volume_group = true;
    auto reclaim = std::make_unique<ControllerReclaimService>(
        parts.rpc, parts.operations, parts.resolver, set.replication->leases,
        SparsifyOptions(), history);
    set.reclaim_stats = &reclaim->stats();
    set.services.push_back(std::move(reclaim));
    set.served.reclaim_space_controller = true;
  }
  if (parts.config.modes.node) {
    set.trim_stats = std::make_unique<TrimStats>();
    TrimEnvironment environment{parts.resolver, parts.config_store,
                                *set.trim_stats};
    environment.image_exports = parts.config.image_exports;
    set.services.push_back(std::make_unique<NodeReclaimService>(
        parts.rpc, parts.operations, std::move(environment)));
    set.served.reclaim_space_node = true;
  }
  if (parts.config.modes.node && parts.config.rotate_keys) {
    RotationEnvironment environment{parts.resolver};
    environment.kms_config_dir = parts.config.kms_config_dir;
    environment.image_exports = parts.config.image_exports;
    set.services.push_back(std::make_unique<KeyRotationService>(
        parts.rpc, parts.operations, std::move(environment)));
    set.served.key_rotation = true;
  }
  if (parts.config.modes.controller || parts.config.modes.node) {
    std::function<void(const FenceTarget&)> asked;
    if (set.replication != nullptr) {
      asked = [watched = set.watched.get()](const FenceTarget& target) {
        watched->NoteFences(target.cluster_id.text(), target.user);
      };
    }
    set.services.push_back(std::make_unique<NetworkFenceService>(
        parts.rpc, parts.operations, parts.config_store, parts.clusters,
        FenceOptionsOf(parts.config), std::move(asked), history));
    set.served.network_fence = true;
    set.served.fence_clients = true;
  }
  set.admin_services.push_back(std::make_unique<AdminService>(
      parts.rpc, parts.operations, history, parts.watched));
  std::function<size_t()> named;
  if (set.replication != nullptr) {
    named = [&watched = set.replication->watched] {
      return watched.All().size();
    };
  }
  set.admin_services.push_back(std::make_unique<StatusService>(
      parts.rpc, StatusSources{parts.watched,
                               [&store = parts.config_store,
                                home = parts.config.site_clusters] {
                                 return HomeClustersOf(store, home);
                               },
                               set.replication != nullptr, std::move(named)}));
  return set;
}

}  // namespace addons
