#ifndef ADDONS_REPLICATION_DECIDE_DISABLE_H_
#define ADDONS_REPLICATION_DECIDE_DISABLE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/image_name.h"
#include "ceph/image.h"
#include "replication/look/mirror_view.h"
#include "replication/look/rescue_record.h"
#include "replication/options.h"

namespace addons {

/// What a disable does next.
enum class DisableAction {
  kRefuse,          // with the code of the decision
  kOff,             // nothing to disable
  kKept,            // mirrored for something else than what is to end
  kCarryOn,         // it is "disabling": DecideCarryOn() tells more
  kDisable,         // a primary
  kUndoEnable,      // what an enable left that died in the middle, by force
  kLeaveToPrimary,  // whose disable removes this copy
  kWait,
  kForce,  // a copy whose primary is not there becomes an image of its own
};

struct DisableDecision {
  DisableAction action = DisableAction::kRefuse;
  /// Of an answer that is given now, or when waiting does not help.
  absl::StatusCode code = absl::StatusCode::kUnavailable;
  /// For a person: what is seen, what is missing, what to do.
  std::string reason;
};

/// What a decision rests on. Nothing is owned.
struct DisableEvidence {
  const MirrorView& view;
  Force force = Force::kNo;
  /// Only mirroring for the volume's group is to end, and this is not that.
  bool for_something_else = false;
  /// This call has disabled it by force.
  bool forced = false;
  /// How long calls have waited for a follower, where AwaitsFollower() says so;
  /// nullopt: there is nobody to wait for.
  std::optional<SteadyDuration> awaited_for = std::nullopt;
};

/// Of a primary: a living peer that has demoted its image and does not follow
/// this one yet, so that its rbd-mirror would not remove that image with this
/// mirroring; it would stand in the way of a later one.
bool HasLateFollower(const MirrorView& view, SteadyDuration settle);

/// Of a primary that was a copy before, of a peer that has demoted its image:
/// no peer has reported on it. Of an image that was moved in its first seconds,
/// none may have yet. Whether the pool has a peer at all is not part of it.
bool LacksFollower(const MirrorView& view);

/// Decides from one look; a pure function.
DisableDecision DecideDisable(const DisableEvidence& seen,
                              const ReplicationOptions& options);

/// What it rests on whether a disable that was interrupted is carried on.
struct CarryOnEvidence {
  const MirrorView& view;
  Force force = Force::kNo;
  /// A disable without force was refused by librbd: a secondary's mirror
  /// snapshots are gone.
  bool plain_refused = false;
  /// Who is at the image; only read where MayBeAtWork(). Empty: nobody.
  std::string at_work{};
  /// How often this call has carried it on.
  int carried_on = 0;
};

/// How often a disable that does not end is carried on within one call.
inline constexpr int kCarryOns = 3;

/// Carrying it on takes force: it is a copy, or this site's own demotion.
bool CarryOnNeedsForce(const MirrorView& view, bool plain_refused);

/// Somebody may be disabling or removing this copy right now.
bool MayBeAtWork(const MirrorView& view, bool plain_refused);

/// Of an image that is "disabling" and has not changed for a moment: kWait,
/// kRefuse, kDisable or kForce. A pure function.
DisableDecision DecideCarryOn(const CarryOnEvidence& seen);

/// Why this image's mirroring must not be ended now although it was decided:
/// UNAVAILABLE. nullopt: nothing speaks against it. `rescue` is the record of
/// its rescue image, which is named `rescue_image`. A pure function.
std::optional<DisableDecision> RefuseToDisable(
    const MirrorView& view, const std::optional<RescueRecord>& rescue,
    const ImageName& rescue_image);

}  // namespace addons

#endif  // ADDONS_REPLICATION_DECIDE_DISABLE_H_
