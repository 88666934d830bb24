#ifndef ADDONS_REPLICATION_PROMOTE_DECISION_H_
#define ADDONS_REPLICATION_PROMOTE_DECISION_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "ceph/image.h"
#include "replication/environment.h"
#include "replication/state/mirror_view.h"
#include "replication/state/promote_series.h"
#include "replication/state/rescue_record.h"

namespace addons {

/// The rows of the promote table, tried from top to bottom.
enum class PromoteAction {
  kRefuseOff,           // replication is not enabled
  kAlreadyPrimary,      // nothing to promote
  kPlain,               // the demotion is here and whole: plain promote
  kRefusePeerTookBack,  // ... but the peer took the role back, and is silent
  kRefusePeerPrimary,   // the peer has been primary for the takeover time
  kWaitForWorkload,     // the peer is to be demoted, and a workload is there
  kWaitForLocalMirror,  // this site's own rbd-mirror is down
  kRefuseNoLife,        // nobody is there who could still hand over
  kWait,                // look again soon
  kNothingToForce,      // no snapshot has arrived completely
  kForced,              // forced promote of a whole copy
  kRescue,  // forced promote that brings the last complete state back
};

/// What a decision rests on. Nothing is owned.
struct PromoteEvidence {
  const MirrorView& view;
  /// The first look of this call; nullptr: `view` is that.
  const MirrorView* first_look = nullptr;
  /// The record of the image's rescue image, if there is one.
  const std::optional<RescueRecord>& rescue;
  SeriesClocks clocks{};
  /// rbd-mirror of this site was blocklisted by us a moment ago.
  bool disturbed = false;
  /// How often the primary takes mirror snapshots, if the caller said so.
  std::optional<std::chrono::minutes> interval{};
};

struct PromoteDecision {
  PromoteAction action = PromoteAction::kWait;
  /// For a person: what is seen, what is missing, what to do.
  std::string reason;
};

/// Decides from one look; a pure function. FAILED_PRECONDITION makes the
/// operator promote by force at once, so a kRefuse... row stands only where
/// that is right. `site_name` gives a peer's name for messages.
PromoteDecision DecidePromote(
    const PromoteEvidence& seen, Force force, const ReplicationOptions& options,
    const std::function<std::string(const std::string&)>& site_name);

}  // namespace addons

#endif  // ADDONS_REPLICATION_PROMOTE_DECISION_H_
