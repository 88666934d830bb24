#ifndef ADDONS_REPLICATION_ENVIRONMENT_H_
#define ADDONS_REPLICATION_ENVIRONMENT_H_

#include <chrono>
#include <cstddef>
#include <string>

#include "ceph/cluster.h"
#include "operation/operation_context.h"
#include "replication/image_copy.h"
#include "replication/peer_tracker.h"
#include "replication/rescue_slots.h"
#include "volume/config_store.h"
#include "volume/resolver.h"

namespace addons {

/// Times that decide about failover. docs/replication.md explains them.
struct ReplicationOptions {
  /// How long a peer must be silent, or primary, before a promote says that it
  /// may be forced. More than two status intervals of rbd-mirror (30 s).
  std::chrono::milliseconds settle_time = std::chrono::seconds(90);
  std::chrono::milliseconds poll_interval{1000};
  /// Distance of the two looks that prove that nothing is being copied.
  std::chrono::milliseconds look_gap{3000};
  /// After this time Ceph drops the watch of a client that died.
  std::chrono::seconds watch_timeout{30};
  /// How long a mgr module that is starting is waited for.
  std::chrono::seconds mgr_patience{60};
  /// How long a promotion that began is repeated while rbd-mirror lets go.
  std::chrono::seconds promote_patience{120};
  /// How many members of a volume group are worked on at the same time, not
  /// counting those that wait.
  size_t group_members_at_once = 16;
  ImageCopyOptions rescue_copy;
};

/// What all verbs of replication share. Nothing is owned; everything is
/// thread-safe and outlives the verbs.
struct ReplicationEnvironment {
  Resolver& resolver;
  ConfigStore& config;
  PeerTracker& tracker;
  ReplicationOptions options;
  RescueSlots rescue_slots{4};
};

/// The volume that a verb works on.
struct VolumeTarget {
  std::string volume_id;
  CephUser user;
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_ENVIRONMENT_H_
