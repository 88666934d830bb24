#ifndef ADDONS_REPLICATION_PROMOTE_DECISION_H_
#define ADDONS_REPLICATION_PROMOTE_DECISION_H_

#include <functional>
#include <optional>
#include <string>

#include "ceph/image.h"
#include "replication/environment.h"
#include "replication/mirror_view.h"
#include "replication/rescue_record.h"

namespace addons {

/// The rows of the promote table, tried from top to bottom.
enum class PromoteAction {
  kRefuseOff,          // replication is not enabled
  kAlreadyPrimary,     // nothing to promote
  kPlain,              // the demotion is here and whole: librbd's plain promote
  kRefusePeerPrimary,  // the peer has been primary for the settle time
  kRefuseNoLife,       // nobody is there who could still hand over
  kWait,               // look again soon
  kNothingToForce,     // no snapshot has arrived whole
  kForced,             // forced promote of a whole copy
  kRescue,             // forced promote that brings the last whole state back
};

struct PromoteDecision {
  PromoteAction action = PromoteAction::kWait;
  /// For a person: what is seen, what is missing, what to do.
  std::string reason;
};

/// Decides from one look. FAILED_PRECONDITION makes the operator promote by
/// force at once, so a kRefuse... row stands only where that is right.
/// `rescue` is the record of the image's rescue image, if there is one.
/// `site_name` gives a peer's name for messages. Starts and forgets clocks of
/// the tracker.
PromoteDecision DecidePromote(
    const MirrorView& view, const MirrorView* first_look,
    const std::optional<RescueRecord>& rescue, Force force, bool disturbed,
    PeerTracker& tracker, const ReplicationOptions& options,
    const std::function<std::string(const std::string&)>& site_name);

/// The demotion of the present primary has arrived here whole, and the peer
/// does not claim to have become primary again since.
bool DemotionArrived(const MirrorView& view, SteadyDuration settle);

/// No peer has reported for the settle time and nothing is being copied here.
bool NoSignOfLife(const MirrorView& view, const ReplicationOptions& options);

}  // namespace addons

#endif  // ADDONS_REPLICATION_PROMOTE_DECISION_H_
