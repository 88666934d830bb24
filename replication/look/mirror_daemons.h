#ifndef ADDONS_REPLICATION_LOOK_MIRROR_DAEMONS_H_
#define ADDONS_REPLICATION_LOOK_MIRROR_DAEMONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ceph/cluster.h"

namespace addons {

/// What an rbd-mirror of this site tells the manager.
struct MirrorDaemon {
  std::string id;           // unique among those that live
  std::string last_beacon;  // the manager's stamp; another one each few seconds
  /// It says of the pool that it cannot connect to the peer's cluster. Such a
  /// one reports on no image when it was started meanwhile, for as long as the
  /// peer is dead (measured, 16.2.15).
  bool cut_off = false;
};

/// The rbd-mirrors of this site that have told something about the pool; the
/// manager forgets one that is silent for a minute. Blocks for a manager's
/// command, with its errors; PERMISSION_DENIED names the capability. INTERNAL:
/// the answer has another shape.
/// rados_mgr_command "service status"
absl::StatusOr<std::vector<MirrorDaemon>> ReadMirrorDaemons(Cluster& cluster,
                                                            int64_t pool_id);
/// The same of an answer.
absl::StatusOr<std::vector<MirrorDaemon>> ParseMirrorDaemons(
    absl::string_view answer, int64_t pool_id);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_MIRROR_DAEMONS_H_
