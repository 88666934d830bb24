#ifndef ADDONS_REPLICATION_DECIDE_PROMOTE_H_
#define ADDONS_REPLICATION_DECIDE_PROMOTE_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "ceph/image.h"
#include "replication/look/mirror_view.h"
#include "replication/look/promote_series.h"
#include "replication/look/rescue_record.h"
#include "replication/options.h"
#include "replication/verb_scope.h"

namespace addons {

/// The rows of the promote table, tried from top to bottom.
enum class PromoteAction {
  kRefuseOff,           // replication is not enabled
  kAlreadyPrimary,      // nothing to promote
  kPlain,               // the demotion is here and whole: plain promote
  kRefusePeerTookBack,  // ... but the peer took the role back, and is silent
  kWaitForLocalMirror,  // this site's own rbd-mirror is down
  kRefusePeerPrimary,   // the peer has been primary for the takeover time
  kWaitForWorkload,     // the peer is to be demoted, and a workload is there
  kRefuseNoLife,        // nobody is there who could still hand over
  kWait,                // look again soon
  kNothingToForce,      // no snapshot has arrived completely
  kForced,              // forced promote of a whole copy
  kRescue,  // forced promote that brings the last complete state back
};

/// What a decision rests on. Nothing is owned.
struct PromoteEvidence {
  const MirrorView& view;
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

/// What a call is answered for such a row: OK stands for a row that goes on to
/// promote. In a group a member without replication is no reason to force the
/// others.
absl::StatusCode AnswerTo(PromoteAction action, VerbScope scope);

/// Whether the clocks of a series count for such a call: a forced one rests on
/// none of that, and must not fail for it.
bool NeedsClocks(const MirrorView& view, Force force);

/// What the series is told of a look.
PromoteSeries::Seen SeenInSeries(const MirrorView& view,
                                 const std::string& rados_namespace,
                                 bool disturbed,
                                 const ReplicationOptions& options);

/// Decides from one look; a pure function. FAILED_PRECONDITION makes the
/// operator promote by force at once, so a kRefuse... row stands only where
/// that is right. `site_name` gives a peer's name for messages.
PromoteDecision DecidePromote(const PromoteEvidence& seen, Force force,
                              const ReplicationOptions& options,
                              const SiteNameFn& site_name);

}  // namespace addons

#endif  // ADDONS_REPLICATION_DECIDE_PROMOTE_H_
