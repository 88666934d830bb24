#ifndef ADDONS_REPLICATION_ENVIRONMENT_H_
#define ADDONS_REPLICATION_ENVIRONMENT_H_

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bounded_threads.h"
#include "base/clock.h"
#include "base/seldom.h"
#include "base/slots.h"
#include "base/start_thread.h"
#include "ceph/cluster.h"
#include "history/event_log.h"
#include "lease/holder.h"
#include "lease/keeper.h"
#include "operation/operation_context.h"
#include "replication/look/evictions.h"
#include "replication/look/last_roles.h"
#include "replication/look/manager_presence.h"
#include "replication/look/promote_series.h"
#include "replication/look/role_log.h"
#include "replication/look/timeline.h"
#include "replication/look/watched.h"
#include "replication/options.h"
#include "replication/point_plan.h"
#include "replication/verb_scope.h"
#include "volume/config_store.h"
#include "volume/csi_handle.h"
#include "volume/resolver.h"

namespace addons {

/// What all verbs of replication share, and what is remembered from one call to
/// the next. References are not owned; everything is thread-safe and outlives
/// the verbs.
struct ReplicationEnvironment {
  ReplicationEnvironment(Resolver& volume_resolver, ConfigStore& config_store,
                         Clock& steady_clock,
                         const ReplicationOptions& replication_options)
      : resolver(volume_resolver),
        config(config_store),
        clock(steady_clock),
        timeline(steady_clock),
        manager(steady_clock),
        series(steady_clock),
        point_plans(steady_clock),
        watched(steady_clock),
        schedule_sweeps(steady_clock, std::chrono::minutes(10)),
        leases(steady_clock, replication_options.leases),
        history(steady_clock, absl::StrCat(replication_options.leases.instance,
                                           " on host ", ThisProcess().host)),
        options(replication_options) {}

  Resolver& resolver;
  ConfigStore& config;
  Clock& clock;
  Timeline timeline;
  ManagerPresence manager;  // of each cluster
  LastRoles last_roles;
  PromoteSeries series;
  Evictions evictions;
  RoleChangeCounts role_changes;
  DueSchedules due_schedules;
  PointPlans point_plans;
  WatchedPools watched;
  Seldom schedule_sweeps;
  LeaseKeeper leases;
  EventLog history;
  ReplicationOptions options;
  /// How many rescues copy at the same time: each holds some 64 MiB of memory,
  /// and a disaster may hit all volumes in the middle of a copy.
  Slots rescue_slots{4};
  BoundedThreads threads{"promote-barrier"};
  /// Runs what no caller waits for, on the threads of a cluster (by fsid).
  /// Tests run it at once.
  std::function<void(const std::string& fsid, std::function<void()> job)>
      aside = [this](const std::string& fsid, std::function<void()> job) {
        threads.Run(fsid, std::move(job));
      };
  ThreadStarter start_thread = StartThread;  // tests give one of their own
};

/// The volume that a verb works on.
struct VolumeTarget {
  VolumeHandle volume_id;
  CephUserRef user;
  /// The cluster that it has to be on; empty: any. A member of a group is on
  /// the group's cluster, also where config.json has both sites' clusters.
  std::string fsid{};
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_ENVIRONMENT_H_
