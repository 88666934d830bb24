#ifndef ADDONS_VOLUME_POOL_ROOM_H_
#define ADDONS_VOLUME_POOL_ROOM_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "ceph/cluster.h"

namespace addons {

/// How many bytes may still be written into the pool with this id: what the
/// monitors call max_avail ("df"), or less where a quota says so. What was
/// removed a moment ago may not be in it yet. INTERNAL: the answer does not
/// tell. Others are those of Cluster::MonCommand().
absl::StatusOr<uint64_t> ReadPoolRoom(Cluster& cluster, int64_t pool_id);

}  // namespace addons

#endif  // ADDONS_VOLUME_POOL_ROOM_H_
