#ifndef ADDONS_VOLUMEGROUP_ENVIRONMENT_H_
#define ADDONS_VOLUMEGROUP_ENVIRONMENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ceph/cluster.h"
#include "volume/config_store.h"
#include "volume/resolver.h"
#include "volumegroup/member_replication.h"

namespace addons {

struct VolumeGroupOptions {
  std::string instance_id = "default";  // ceph-csi's --instanceid
  size_t max_members = 100;
  /// How many members of one group are worked on at a time.
  size_t concurrency = 32;
};

/// What all verbs of volume groups share. Nothing is owned; everything is
/// thread-safe and outlives the verbs.
struct VolumeGroupEnvironment {
  Resolver& resolver;
  ConfigStore& config;
  ClusterProvider& clusters;
  MemberReplication& replication;
  VolumeGroupOptions options;
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

/// Which objects a verb concerns is known only once it has read the group. It
/// runs with the keys that the request alone tells; when it finds that it needs
/// more, it changes nothing and says which, and is to be run again with these,
/// too.
struct GroupOutcome {
  GroupAnswer group;
  std::set<std::string> more_keys;  // not empty: nothing was done
};

/// The keys of the operation table that a verb holds.
using HeldKeys = std::set<std::string>;

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_ENVIRONMENT_H_
