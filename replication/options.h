#ifndef ADDONS_REPLICATION_OPTIONS_H_
#define ADDONS_REPLICATION_OPTIONS_H_

#include <chrono>
#include <cstddef>

#include "ceph/image_copy.h"
#include "lease/keeper.h"

namespace addons {

/// Times that decide about failover. docs/replication.md explains them.
struct ReplicationOptions {
  /// How long a peer must be silent, and nothing have arrived, before a promote
  /// says that it may be forced. More than two status intervals of rbd-mirror
  /// (30 s).
  std::chrono::milliseconds settle_time = std::chrono::seconds(90);
  /// How long a peer must be primary before that; not less than settle_time.
  std::chrono::milliseconds takeover_time = std::chrono::seconds(180);
  /// The silence of this site's own rbd-mirror is no reason to wait: it is
  /// stopped on purpose before a failover.
  bool force_without_local_mirror = false;
  /// The first call of a series of promotions that wait is answered then, so
  /// that the reason is shown.
  std::chrono::milliseconds first_answer = std::chrono::seconds(20);
  /// A demotion that a workload keeps from going on is answered then, and the
  /// other site is told, unless that site was told before.
  std::chrono::milliseconds first_refusal = std::chrono::seconds(5);
  /// Who has an image open for less may be Ceph's manager, which makes a
  /// scheduled mirror snapshot, or an rbd-mirror that died: a little more than
  /// watch_timeout, which both may wait for.
  std::chrono::milliseconds passing_client = std::chrono::seconds(35);
  std::chrono::milliseconds poll_interval{1000};
  /// A promotion that waits opens the image again after this time at the
  /// latest; in between only when something has changed in its header.
  std::chrono::milliseconds longest_rest{5000};
  /// The same while the other site lives and is primary, and the listing of the
  /// pool that all promotions share says of the image what the look has seen.
  std::chrono::milliseconds settled_rest{30000};
  /// Distance of the two looks that prove that nothing is being copied.
  std::chrono::milliseconds look_gap{3000};
  /// After this time Ceph drops the watch of a client that died.
  std::chrono::seconds watch_timeout{30};
  /// How long a mgr module that is starting is waited for.
  std::chrono::seconds mgr_patience{60};
  /// The same for the schedule of an image that is primary already.
  std::chrono::seconds schedule_patience{10};
  /// How often schedules that could not be set are tried again.
  std::chrono::milliseconds upkeep_interval = std::chrono::seconds(30);
  /// How often an rbd-mirror that comes back is sent away while librbd promotes
  /// by force: real time, because that is what librbd blocks in.
  std::chrono::milliseconds eviction_round{1000};
  /// How long a promotion that began is repeated while rbd-mirror lets go.
  std::chrono::seconds promote_patience{120};
  /// How many members of a volume group are worked on at the same time, not
  /// counting those that wait.
  size_t group_members_at_once = 16;
  /// How many threads a verb on a group has at most; a member that waits within
  /// its verb occupies one. Where there are more members, the last
  /// `group_looking_threads` of them never wait: the members that have no
  /// thread to wait on are at least looked at, so that their clocks run with
  /// those of the others.
  size_t group_threads = 256;
  size_t group_looking_threads = 16;
  /// Groups are replicated member by member also where the class does not say
  /// so.
  bool group_members_by_default = false;
  ImageCopyOptions rescue_copy;
  LeaseOptions leases;
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_OPTIONS_H_
