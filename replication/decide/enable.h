#ifndef ADDONS_REPLICATION_DECIDE_ENABLE_H_
#define ADDONS_REPLICATION_DECIDE_ENABLE_H_

#include <optional>
#include <string>

#include "absl/types/span.h"
#include "base/clock.h"
#include "ceph/image.h"
#include "ceph/mirror.h"
#include "replication/decide/next.h"
#include "replication/look/mirror_view.h"
#include "replication/verb_scope.h"

namespace addons {

/// What is read of a pool before an image in it is mirrored.
struct PoolSeen {
  PoolMirrorMode mode = PoolMirrorMode::kUnknown;
  bool has_peer = false;
  /// Why the image has no room for the mirror snapshots; empty: it has.
  std::string no_room;
};

/// What an enable's table is about. Nothing is owned.
struct EnableSeen {
  const MirrorView& view;
  MirrorMode mode = MirrorMode::kSnapshot;  // the wanted one
  VerbScope scope = VerbScope::kVolume;
  /// Names of the pool, and of the pool with its namespace, for messages.
  std::string pool{};
  std::string pool_and_namespace{};
  /// Of an image that is HalfEnabled(): how long it has looked the same to this
  /// call, and how long it must.
  SteadyDuration unchanged_for{0};
  SteadyDuration look_gap{0};
  std::optional<PoolSeen> read{};  // nullopt: not yet
  /// The call asks for a schedule of mirror snapshots, and none is noted.
  bool schedule_due = false;
  /// This run has enabled it, which librbd refused (somebody was faster), or
  /// reported as done.
  bool refused = false;
  Done done{};
};

/// The rows of the table, from top to bottom.
absl::Span<const Rule<EnableSeen>> EnableTable();

/// What comes next, from one look; pure.
Next DecideEnable(const EnableSeen& seen);

}  // namespace addons

#endif  // ADDONS_REPLICATION_DECIDE_ENABLE_H_
