#ifndef ADDONS_REPLICATION_LOOK_PEERS_H_
#define ADDONS_REPLICATION_LOOK_PEERS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "replication/look/mirror_view.h"

namespace addons {

// What a report of rbd-mirror means is judged here, and nowhere else: what the
// site is, of which time it speaks, and what of this site's image it has.

/// Of which time a report speaks, seen from the role that this site's image has
/// now. rbd-mirror looks every 30 s and writes every 30 s, so that a report may
/// tell what was true kReportLag before it was written. One that stood still
/// writes what it knew once more before it looks again.
enum class Word {
  kOutdated,  // that it is primary: something newer shows that it is not
  kBefore,    // written before this site's image had its role
  kUndated,   // journal mode: nothing tells which of both is so
  kLagging,   // written since, and may tell what was so before
  kCurrent,   // tells what was so since
  kSettled,   // likewise, even of an rbd-mirror that stood still meanwhile
};
Word WordOf(const SiteView& site, const MirrorView& view);

/// The report of a peer's rbd-mirror on the image; nullptr: there is none.
const SiteView* ReportOf(const MirrorPeer& peer, const MirrorView& view);

/// Its rbd-mirror is up, and reported within `settle`.
bool Lives(const SiteView& peer, SteadyDuration settle);

/// A peer that lives has said so since this site's image has its role.
bool AnyLives(const MirrorView& view, Says says, SteadyDuration settle);

/// It says that its image is primary, with such a word at least. From kBefore
/// on nothing speaks against it, from kCurrent on it is so beside this primary.
bool SaysPrimary(const SiteView& peer, const MirrorView& view, Word at_least);

/// It says so beside this primary, which may be an older text.
bool MayBePrimary(const SiteView& peer, const MirrorView& view);

/// A peer that has reported `says` within `settle`, with such a word at least;
/// nullptr: there is none.
const SiteView* FindPeer(const MirrorView& view, Says says, Word at_least,
                         SteadyDuration settle);

/// Takes each report for one that stood already when the last one was written.
void AssumeReportedBefore(MirrorView* view);

/// What a site that replays says to have copied.
enum class Copied {
  kNothing,  // it does not replay
  kTries,    // it replays, and names nothing: so it says in a split brain, too
  kSays,     // something of this image
  kOfThisTerm,  // something that this site wrote since it is primary
};
Copied CopiedBy(const SiteView& peer, const MirrorView& view);

/// Snapshot mode: this site's mirror snapshot with the id `snapshot`, made at
/// `created` (unix seconds by this site's cluster), or a newer one is whole at
/// the peer that this cluster calls `peer_uuid`, whose report is `peer`: it
/// says so, or it has unlinked what was before. False: that is not seen.
bool HasCopied(const SiteView& peer, const std::string& peer_uuid,
               const MirrorView& view, uint64_t snapshot, int64_t created);

/// Only what was copied shows that a peer follows this primary, and not that it
/// tries to: its image may have gone on from another content, before the
/// present term, or since (SiteView::went_on). Journal mode has no numbers that
/// tell it.
bool MustHaveCopied(const MirrorView& view);

/// What is written on this primary arrives at the peer.
bool Follows(const SiteView& peer, const MirrorView& view);

/// It says that its image goes on from another content, or may.
bool MayHaveGoneOn(const SiteView& peer);

/// It reports a split brain of this site's present term: nothing that is
/// written here arrives there before a resync.
bool Diverged(const SiteView& peer, const MirrorView& view);

/// Beside this primary it tells that its own image has gone on from another
/// content: it is primary as well, or in split brain.
bool WentOn(const SiteView& peer, const MirrorView& view);

/// This site takes its own demotion back, and has told nobody yet that it is
/// primary: nothing was acknowledged here that a peer would have to copy.
bool ToldNobody(const MirrorView& view);

/// When the peer that has been silent for longest has reported last, unix
/// seconds by this site's cluster; nullopt: there is no report.
std::optional<int64_t> HeardOfAll(const MirrorView& view);

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

/// rbd-mirror of this site has looked at the peer's image since `time`, by this
/// site's cluster, and found it not primary: it does not copy.
bool DeniedSince(const MirrorView& view, WallTime time);

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
bool PeerInSync(const MirrorView& view, SteadyDuration settle);
/// For a person, why that is not so.
std::string DescribeOutOfStep(const MirrorView& view,
                              const SiteNameFn& site_name);

/// A note that a demotion was refused counts for so long, unless it is renewed.
inline constexpr std::chrono::minutes kRefusalCounts{10};
/// The peer has told within that time that its demotion is wanted, and kept
/// from going on (MirrorView::refused_demotion).
bool RefusalStands(const MirrorView& view);

/// For a person, why a site that gave its role back (Yielded()) is not
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
FollowerVerdict JudgeFollowers(const MirrorView& view, SteadyDuration settle);

/// This site is primary, has noted a demotion of its own, and waits for a peer
/// that may not follow. The note alone does not tell: a promotion by another
/// program leaves it.
bool AwaitsFollowers(const MirrorView& view, SteadyDuration settle);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_PEERS_H_
