#include "replication/look/peers.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "replication/look/record.h"
#include "replication/look/report.h"

namespace addons {
namespace {

/// The claim of the peer to be primary is older than the newest demotion.
bool ClaimIsOutdated(const SiteView& peer, const MirrorView& view) {
  const int64_t claimed = peer.status.last_update;
  const bool local_denies =
      view.LocalDaemonUp() && view.local->says == Says::kNotPrimary;
  const int64_t denied = local_denies ? view.local->status.last_update : 0;
  // The local rbd-mirror looked at the peer's image after the claim and found
  // it not primary. Both are entries of one object.
  if (local_denies && denied >= claimed + kReportLag.count()) return true;
  // Nothing came from the peer that a claim could be older than.
  if (NeedsReport(view)) return false;
  const MirrorSnapshot* demotion = view.Newest();
  if (demotion == nullptr || !demotion->demoted()) return false;
  const int64_t arrived =
      std::chrono::system_clock::to_time_t(demotion->created);
  // Or it was written just before, and the local rbd-mirror has found the
  // peer's image not primary since.
  return claimed + kStampMargin.count() <= arrived ||
         (claimed < arrived && denied >= arrived);
}

/// A report so old was the last one of a site that works, which writes one each
/// 30 s.
constexpr std::chrono::seconds kHeardBefore{60};

bool WasHeardBefore(const MirrorSnapshot& demotion, const MirrorView& view) {
  return view.own.demotion.has_value() &&
         view.own.demotion->heard.has_value() &&
         std::chrono::system_clock::to_time_t(demotion.created) -
                 *view.own.demotion->heard <=
             kHeardBefore.count();
}

/// The peer that copies a snapshot unlinks those before it.
bool EachPeerHasCopiedNewest(const MirrorView& view) {
  return std::none_of(view.snapshots.begin(), std::prev(view.snapshots.end()),
                      [](const MirrorSnapshot& snapshot) {
                        return !snapshot.copied() &&
                               !snapshot.unsynced_peer_uuids.empty();
                      });
}

bool NewestIsWholeDemotion(const MirrorView& view) {
  const MirrorSnapshot* newest = view.Newest();
  return newest != nullptr && newest->demoted() && newest->complete;
}

/// Since when the image of a secondary has its present role: since its own
/// demotion, else since it was made.
int64_t SecondarySince(const MirrorView& view) {
  if (!view.OwnDemotion()) return view.created.seconds;
  return std::chrono::system_clock::to_time_t(view.Newest()->created) +
         kStampMargin.count();
}

/// The report before a peer's present one was written this long after this site
/// became primary: then it holds whatever stood still. Where the peer became
/// primary first, it was so for so long beside this one that it knew of that,
/// and has noted that its demotion is not one to take back: on either side a
/// report is up to 60 s old, and tells what was seen up to 30 s before; the
/// rest is for the clocks. Where it became primary last, this site's own
/// "primary", which it has long had, keeps it from noting that the two were in
/// step.
constexpr std::chrono::seconds kClaimStands{150};

/// Reports that were rewritten so often tell of a time after the first of the
/// looks in which that was counted.
constexpr int kRewritesOfPresent = 2;

/// The stamps of report and term are of several OSDs, and there is no margin. A
/// report that looks newer than it is only makes this site give its role back
/// for nothing. A claim of the first seconds that was passed over could be the
/// last word of its site. One that looks older is followed by the next report.
Word WordBesidePrimary(const SiteView& peer, const MirrorView& view) {
  const std::optional<int64_t> since = view.PrimarySince();
  const auto later = [&since](std::optional<int64_t> stamp,
                              std::chrono::seconds than) {
    return since.has_value() && stamp.has_value() &&
           *stamp >= *since + than.count();
  };
  if (peer.rewrites >= kRewritesOfPresent ||
      later(peer.reported_before, kClaimStands)) {
    return Word::kSettled;
  }
  const int64_t told = peer.status.last_update;
  if (later(told, kReportLag)) return Word::kCurrent;
  if (peer.rewrites > 0 || later(told, std::chrono::seconds(0))) {
    return Word::kLagging;
  }
  return since.has_value() || view.primary_for.has_value() ? Word::kBefore
                                                           : Word::kUndated;
}

Word WordBesideSecondary(const SiteView& site, const MirrorView& view) {
  if (site.says == Says::kPrimary && ClaimIsOutdated(site, view)) {
    return Word::kOutdated;
  }
  if (site.rewrites_in_call >= kRewritesOfPresent) return Word::kSettled;
  return site.status.last_update >= SecondarySince(view) ? Word::kLagging
                                                         : Word::kBefore;
}

}  // namespace

Word WordOf(const SiteView& site, const MirrorView& view) {
  return view.info.primary ? WordBesidePrimary(site, view)
                           : WordBesideSecondary(site, view);
}

const SiteView* ReportOf(const MirrorPeer& peer, const MirrorView& view) {
  const auto found = std::find_if(
      view.peers.begin(), view.peers.end(), [&peer](const SiteView& site) {
        return site.status.mirror_uuid == peer.mirror_uuid;
      });
  return found == view.peers.end() ? nullptr : &*found;
}

bool Lives(const SiteView& peer, SteadyDuration settle) {
  return peer.status.up && peer.age < settle;
}

bool AnyLives(const MirrorView& view, Says says, SteadyDuration settle) {
  return std::any_of(view.peers.begin(), view.peers.end(),
                     [&](const SiteView& peer) {
                       return peer.says == says && Lives(peer, settle) &&
                              WordOf(peer, view) >= Word::kLagging;
                     });
}

bool SaysPrimary(const SiteView& peer, const MirrorView& view, Word at_least) {
  return peer.says == Says::kPrimary && WordOf(peer, view) >= at_least;
}

bool MayBePrimary(const SiteView& peer, const MirrorView& view) {
  return peer.says == Says::kPrimary && WordOf(peer, view) < Word::kCurrent;
}

const SiteView* FindPeer(const MirrorView& view, Says says, Word at_least,
                         SteadyDuration settle) {
  const auto found = std::find_if(
      view.peers.begin(), view.peers.end(), [&](const SiteView& peer) {
        return peer.says == says && peer.age < settle &&
               WordOf(peer, view) >= at_least;
      });
  return found == view.peers.end() ? nullptr : &*found;
}

void AssumeReportedBefore(MirrorView* view) {
  for (SiteView& peer : view->peers) {
    if (!peer.reported_before.has_value()) {
      peer.reported_before = peer.status.last_update;
    }
  }
}

Copied CopiedBy(const SiteView& peer, const MirrorView& view) {
  // One that starts or stops may be about to find that it cannot follow.
  if (!IsReplaying(peer.status)) return Copied::kNothing;
  const std::optional<int64_t> copied = CopiedUpTo(peer.status.description);
  if (!copied.has_value()) return Copied::kTries;
  const std::optional<int64_t> since = view.PrimarySince();
  return since.has_value() && *copied >= *since ? Copied::kOfThisTerm
                                                : Copied::kSays;
}

bool HasCopied(const SiteView& peer, const std::string& peer_uuid,
               const MirrorView& view, uint64_t snapshot, int64_t created) {
  if (!IsReplaying(peer.status)) return false;
  const std::optional<int64_t> copied = CopiedUpTo(peer.status.description);
  // Without a word that it has ever copied something, that nothing is linked
  // may be because it was no peer yet.
  if (!copied.has_value()) return false;
  // Reports come each half minute. A peer keeps the last snapshot that it has
  // copied linked until it has the next one.
  const MirrorSnapshot* const newest = view.Newest();
  if (newest != nullptr && newest->id == snapshot &&
      std::find(newest->unsynced_peer_uuids.begin(),
                newest->unsynced_peer_uuids.end(),
                peer_uuid) != newest->unsynced_peer_uuids.end() &&
      EachPeerHasCopiedNewest(view)) {
    return true;
  }
  if (*copied < created) return false;
  // The report has whole seconds. Of two snapshots of one second the older one
  // lists its peers until they have copied the newer one.
  return *copied > created ||
         std::none_of(view.snapshots.begin(), view.snapshots.end(),
                      [&](const MirrorSnapshot& other) {
                        return other.id < snapshot && !other.copied() &&
                               !other.unsynced_peer_uuids.empty() &&
                               std::chrono::system_clock::to_time_t(
                                   other.created) == created;
                      });
}

bool MustHaveCopied(const MirrorView& view) {
  return view.info.mode != MirrorMode::kJournal &&
         (!PrimaryTermBeganInStep(view) ||
          std::any_of(view.peers.begin(), view.peers.end(),
                      [](const SiteView& peer) { return peer.went_on; }));
}

bool Follows(const SiteView& peer, const MirrorView& view) {
  switch (CopiedBy(peer, view)) {
    case Copied::kNothing:
      return false;
    case Copied::kOfThisTerm:
      return true;
    case Copied::kTries:
    case Copied::kSays:
      break;
  }
  if (MustHaveCopied(view)) return false;
  // Nothing else tells it in journal mode, where a site in split brain says
  // "replaying", too, each time that it looks.
  const bool parted =
      view.info.mode == MirrorMode::kJournal && view.own.demotion.has_value();
  return WordOf(peer, view) >= (parted ? Word::kSettled : Word::kLagging);
}

bool MayHaveGoneOn(const SiteView& peer) {
  return peer.says == Says::kPrimary || peer.says == Says::kSplitBrain;
}

bool Diverged(const SiteView& peer, const MirrorView& view) {
  return peer.says == Says::kSplitBrain && WordOf(peer, view) >= Word::kLagging;
}

bool WentOn(const SiteView& peer, const MirrorView& view) {
  return view.info.primary &&
         (Diverged(peer, view) || SaysPrimary(peer, view, Word::kCurrent));
}

bool ToldNobody(const MirrorView& view) {
  return view.own.demotion.has_value() &&
         view.own.demotion->step == OwnDemotionStep::kTakenBack;
}

std::optional<int64_t> HeardOfAll(const MirrorView& view) {
  std::optional<int64_t> heard;
  for (const SiteView& peer : view.peers) {
    const int64_t told = peer.status.last_update;
    heard = std::min(heard.value_or(told), told);
  }
  return heard;
}

bool NeedsReport(const MirrorView& view) {
  return view.OwnDemotion() || view.info.mode == MirrorMode::kJournal;
}

bool PeerInSync(const MirrorView& view, SteadyDuration settle) {
  if (!view.OwnDemotion() || WasHeardBefore(*view.Newest(), view) ||
      EachPeerHasCopiedNewest(view)) {
    return true;
  }
  // That none reports shows nothing: a new rbd-mirror begins with that.
  return !view.peers.empty() &&
         std::all_of(view.peers.begin(), view.peers.end(),
                     [&](const SiteView& peer) {
                       return peer.age < settle &&
                              CopiedBy(peer, view) >= Copied::kSays;
                     });
}

bool RefusalStands(const MirrorView& view) {
  if (!view.refused_demotion.has_value() ||
      view.refused_demotion_age >= kRefusalCounts) {
    return false;
  }
  // A daemon that has just begun does not know how long the note has been here.
  // What that site has reported or written long after it tells that it is none
  // of today.
  int64_t newest = view.NewestOnPrimary().value_or(0);
  for (const SiteView& peer : view.peers) {
    newest = std::max(newest, peer.status.last_update);
  }
  const int64_t told = view.refused_demotion->told;
  return view.refused_demotion->unclear || told == 0 ||
         newest <= told + std::chrono::seconds(kRefusalCounts).count() +
                       kReportLag.count();
}

std::string DescribeOutOfStep(const MirrorView& view,
                              const SiteNameFn& site_name) {
  std::vector<std::string> peers;
  for (const SiteView& peer : view.peers) {
    peers.push_back(site_name(peer.status.mirror_uuid));
  }
  const std::string names = absl::StrJoin(peers, ", ");
  return absl::StrCat("no report of ", names.empty() ? "the peer site" : names,
                      " is known that was new when this site demoted itself, "
                      "and that demotion was not copied there: the image may "
                      "have been promoted there before");
}

std::string DescribeGivenBack(const MirrorView& view, const std::string& site) {
  const bool untold = view.GaveRoleBackUntold();
  return absl::StrCat(
      "this site gave the role back because another site was primary",
      untold ? ", before anybody was told that this one is" : "",
      ", and what was written there since is not here: promote ", site,
      untold ? " (by force, if it refuses: nothing was acknowledged here since)"
             : " (if it refuses for the same reason, by force that of the two "
               "on which the workload ran last)");
}

const SiteView* ClaimingPeer(const MirrorView& view) {
  return FindPeer(view, Says::kPrimary, Word::kBefore, SteadyDuration::max());
}

bool MayYetBeDenied(const SiteView& peer, const MirrorView& view) {
  if (!view.LocalDaemonUp()) return false;
  int64_t told_by = peer.status.last_update + kReportLag.count();
  if (const MirrorSnapshot* newest = view.Newest(); newest != nullptr) {
    told_by = std::max<int64_t>(
        told_by, std::chrono::system_clock::to_time_t(newest->created) +
                     kReportLag.count());
  }
  return view.local->status.last_update < told_by;
}

bool DeniedSince(const MirrorView& view, WallTime time) {
  return view.LocalDaemonUp() && view.local->says == Says::kNotPrimary &&
         view.local->status.last_update >
             std::chrono::system_clock::to_time_t(time);
}

bool OwnHalfDemotion(const MirrorView& view) {
  return view.info.mode != MirrorMode::kJournal && view.OwnDemotion() &&
         !view.Newest()->complete;
}

bool DemotionArrived(const MirrorView& view, SteadyDuration settle) {
  if (ClaimingPeer(view) != nullptr) return false;
  if (view.info.mode != MirrorMode::kJournal) {
    return NewestIsWholeDemotion(view);
  }
  // In journal mode the demotion is an event of the journal itself, and librbd
  // refuses to promote before it was replayed. What remains to be seen is that
  // nobody claims the image, and that somebody said so.
  const bool local_says =
      view.LocalDaemonUp() && view.local->says == Says::kNotPrimary;
  return !view.first_copy_pending && view.EntriesBehind() == 0 &&
         (local_says ||
          FindPeer(view, Says::kNotPrimary, Word::kBefore, settle) != nullptr);
}

std::optional<std::string> PrimaryPeer(const MirrorView& view,
                                       SteadyDuration settle) {
  const MirrorSnapshot* newest = view.Newest();
  if (newest != nullptr && newest->demoted() && !view.OwnDemotion()) {
    return std::nullopt;
  }
  const SiteView* const peer =
      FindPeer(view, Says::kPrimary, Word::kBefore, settle);
  if (peer == nullptr) return std::nullopt;
  return peer->status.mirror_uuid;
}

FollowerVerdict JudgeFollowers(const MirrorView& view, SteadyDuration settle) {
  FollowerVerdict verdict{FollowerState::kFollow, ""};
  // One whose report was removed may be about to write a new one.
  if (view.silent_peer_age.has_value()) {
    verdict.state = *view.silent_peer_age < settle ? FollowerState::kUnknown
                                                   : FollowerState::kSilent;
  }
  for (const SiteView& peer : view.peers) {
    const std::string& uuid = peer.status.mirror_uuid;
    // Also of one that has fallen silent since, as the next one.
    if (SaysPrimary(peer, view, Word::kLagging)) {
      return {FollowerState::kTaken, uuid};
    }
    if (Diverged(peer, view)) {
      verdict = {FollowerState::kParted, uuid};
    } else if (peer.age >= settle) {
      if (verdict.state == FollowerState::kFollow) {
        verdict = {FollowerState::kSilent, uuid};
      }
    } else if (!Follows(peer, view) &&
               (verdict.state == FollowerState::kFollow ||
                verdict.state == FollowerState::kSilent)) {
      verdict = {FollowerState::kUnknown, uuid};
    }
  }
  return verdict;
}

bool AwaitsFollowers(const MirrorView& view, SteadyDuration settle) {
  if (!view.info.primary || !view.own.demotion.has_value()) return false;
  return view.peers.empty() ||
         JudgeFollowers(view, settle).state != FollowerState::kFollow;
}

}  // namespace addons
