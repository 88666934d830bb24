#ifndef ADDONS_VOLUMEGROUP_ENVIRONMENT_H_
#define ADDONS_VOLUMEGROUP_ENVIRONMENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ceph/cluster.h"
#include "history/event_log.h"
#include "lease/keeper.h"
#include "operation/operation_context.h"
#include "volume/config_store.h"
#include "volume/membership.h"
#include "volume/resolver.h"
#include "volume/seen_mirroring.h"

namespace addons {

struct VolumeGroupOptions {
  std::string instance_id = "default";  // ceph-csi's --instanceid
  size_t max_members = 100;
  /// Ids of this site's clusters: groups are made and listed nowhere else;
  /// empty: all of config.json.
  std::vector<ClusterId> home{};
  /// How many members of one group are worked on at a time.
  size_t concurrency = 32;
};

/// What replication has to do when the members of a group change: while a group
/// is replicated, those that come are mirrored too, and those that leave are
/// not any more. Called by the operation that holds the keys of the group and
/// of all volumes concerned, on its thread; from several operations at a time.
///
/// check() is called before BeginMutation(), join() and leave() within
/// ChangeMembers(), which draws the order. The journal decides who is a member.
/// It changes last, so a call that was interrupted anywhere is repeated with
/// the same change: join() and leave() must be idempotent.
struct MemberReplication {
  using Step = std::function<absl::Status(
      OperationContext&, const MembershipChange&, const SeenMirroring&)>;
  /// Changes nothing. Not OK: the answer, and the group stays as it is.
  Step check;
  /// Not OK: those that are added do not become members, and nobody is removed.
  Step join;
  /// Not OK: those that are removed stay members.
  Step leave;
};

/// What all verbs of volume groups share. What is referred to is not owned;
/// everything is thread-safe and outlives the verbs.
struct VolumeGroupEnvironment {
  Resolver& resolver;
  ConfigStore& config;
  ClusterProvider& clusters;
  LeaseKeeper& leases;
  MemberReplication replication;
  VolumeGroupOptions options;
  EventLog* history = nullptr;  // told of changes; null: nobody is
};

/// A group in an answer.
struct GroupAnswer {
  struct Volume {
    std::string volume_id;
    uint64_t capacity_bytes = 0;  // 0: not looked at
    std::map<std::string, std::string> context;
  };
  std::string group_id;
  std::map<std::string, std::string> context;
  std::vector<Volume> volumes;
};

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_ENVIRONMENT_H_
