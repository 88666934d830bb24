#ifndef ADDONS_REPLICATION_LOOK_PEER_CLAIMS_H_
#define ADDONS_REPLICATION_LOOK_PEER_CLAIMS_H_

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "replication/look/mirror_view.h"

namespace addons {

// What the reports of the other sites say about who is primary.

/// Where the last demotion was this site's own nothing of a peer had to arrive,
/// and in journal mode nothing shows that it has: only a report that was
/// written after the call began tells that no peer is primary.
bool NeedsReport(const MirrorView& view);

/// A peer, silent or not, whose last report says that its image is primary,
/// unless something newer has shown that it is not any more; nullptr: there is
/// none. A demotion of this site's own shows nothing of the kind.
const SiteView* ClaimingPeer(const MirrorView& view);

/// The local rbd-mirror, which looks at the peer's image as well, has not
/// reported since it must have seen what became of that claim and of the newest
/// snapshot: whether the claim still stands is not known yet.
bool MayYetBeDenied(const SiteView& peer, const MirrorView& view);

/// A demotion has arrived here whole (or is this site's own), and no claim of a
/// peer to be primary is newer.
bool DemotionArrived(const MirrorView& view, SteadyDuration settle);

/// Nothing was written on a peer that this site's own last demotion, if that is
/// the newest, could hide. That nobody claims to be primary now does not tell:
/// a peer may have been promoted by force while it was out of reach, and have
/// been demoted since, and rbd-mirror says of two demoted images that the other
/// one is not primary, whatever they hold. It is seen where each peer has
/// copied the demotion (rbd-mirror then unlinks the snapshots before it), or
/// copies from this image now, or had reported just before the demotion
/// (Demote knows from that what it was). What a peer said that has been silent
/// for the settle time is none of it.
bool KeptInStep(const MirrorView& view, SteadyDuration settle);
/// For a person, why that is not so.
std::string DescribeOutOfStep(const MirrorView& view,
                              const SiteNameFn& site_name);

/// For a person, why a site that gave its role back (GaveRoleBack()) is not
/// promoted, and that `site` is to be. That one may refuse for the same reason,
/// so that neither is promoted without force; then which of the two may be.
std::string DescribeGivenBack(const MirrorView& view, const std::string& site);

/// This site demoted itself, but that snapshot never became whole (the daemon
/// or the cluster died meanwhile). Its data is the newest unless a peer has
/// taken over, see ClaimingPeer().
bool OwnHalfDemotion(const MirrorView& view);

/// The peer that says now that its image is primary while nothing says that it
/// is about to be demoted; what the peer-is-primary clock counts.
std::optional<std::string> PrimaryPeer(const MirrorView& view,
                                       SteadyDuration settle);

/// The peer says that it has copied something that this site wrote since it
/// became primary; both are times of this site's own snapshots. Not in journal
/// mode, which has no such numbers.
bool HasCopiedOfTerm(const SiteView& peer, const MirrorView& view);

/// How the peers of a site stand that has taken its own demotion back.
enum class FollowerState {
  kFollow,   // each peer has the new state, so it cannot be promoted
  kSilent,   // one was silent for the settle time: it may have been promoted
  kUnknown,  // not yet
  kParted,   // one reports a split brain: it had gone on from another content
  kTaken,    // one of them is primary
};
struct FollowerVerdict {
  FollowerState state = FollowerState::kUnknown;
  std::string peer;  // mirror uuid of the one that this is about
};
/// `rewritten` tells how often a peer has rewritten its entry since this image
/// was seen to be primary; without it as for a call that has just begun.
FollowerVerdict JudgeFollowers(
    const MirrorView& view, SteadyDuration settle,
    const std::function<int(const std::string& mirror_uuid)>& rewritten =
        [](const std::string&) { return 0; });

/// This site is primary, has noted a demotion of its own, and waits for a peer
/// that may not follow. The note alone does not tell: a promotion by another
/// program leaves it.
bool AwaitsFollowers(const MirrorView& view, SteadyDuration settle);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_PEER_CLAIMS_H_
