#ifndef ADDONS_REPLICATION_DECIDE_DISABLE_H_
#define ADDONS_REPLICATION_DECIDE_DISABLE_H_

#include <optional>
#include <string>

#include "absl/types/span.h"
#include "base/clock.h"
#include "base/image_name.h"
#include "ceph/image.h"
#include "replication/decide/next.h"
#include "replication/look/mirror_view.h"
#include "replication/look/rescue_record.h"
#include "replication/options.h"

namespace addons {

/// What a disable's table is about. Nothing is owned.
struct DisableSeen {
  const MirrorView& view;
  const ReplicationOptions& options;
  Force force = Force::kNo;
  /// Only mirroring for the volume's group is to end, and this is not that.
  bool for_something_else = false;
  /// How long calls have waited for a follower, where AwaitsFollower() says so;
  /// nullopt: there is nobody to wait for.
  std::optional<SteadyDuration> awaited_for{};
  // --- of an image that is "disabling", or HalfEnabled()
  /// How long it has looked the same to this call.
  SteadyDuration unchanged_for{0};
  /// Who is at it; only read where MayBeAtWork(). Empty: nobody.
  std::string at_work{};
  // --- of one that is to be disabled
  /// What librbd waits for, or refuses for; empty: nothing.
  std::string obstacle{};
  /// The record of its rescue image; nullopt: it was not read yet.
  std::optional<std::optional<RescueRecord>> rescue{};
  ImageName rescue_image{};
  // --- what this call has done
  bool forced = false;         // disabled it by force
  bool plain_refused = false;  // librbd refused to without force
  int carried_on = 0;          // a disable that was interrupted
  Done done{};
};

/// Of a primary: a living peer that has demoted its image and does not follow
/// this one yet, so that its rbd-mirror would not remove that image with this
/// mirroring; it would stand in the way of a later one.
bool HasLateFollower(const MirrorView& view, SteadyDuration settle);

/// Of a primary that was a copy before, of a peer that has demoted its image:
/// no peer has reported on it. Of an image that was moved in its first seconds,
/// none may have yet. Whether the pool has a peer at all is not part of it.
bool LacksFollower(const MirrorView& view);

/// How often a disable that does not end is carried on within one call.
inline constexpr int kCarryOns = 3;

/// Carrying it on takes force: it is a copy, or this site's own demotion.
bool CarryOnNeedsForce(const MirrorView& view, bool plain_refused);

/// Somebody may be disabling or removing this copy right now.
bool MayBeAtWork(const MirrorView& view, bool plain_refused);

/// The rows of the table, from top to bottom.
absl::Span<const Rule<DisableSeen>> DisableTable();

/// What comes next, from one look; pure.
Next DecideDisable(const DisableSeen& seen);

}  // namespace addons

#endif  // ADDONS_REPLICATION_DECIDE_DISABLE_H_
