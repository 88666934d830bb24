#include "replication/look/peer_claims.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "replication/look/report.h"

namespace addons {
namespace {

/// The claim of the peer to be primary is older than the newest demotion.
bool ClaimIsOutdated(const SiteView& peer, const MirrorView& view) {
  const int64_t claimed = peer.status.last_update;
  const bool local_denies =
      view.LocalDaemonUp() && view.local->role == SiteRole::kNotPrimary;
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

bool ClaimsToBePrimary(const SiteView& peer, const MirrorView& view) {
  return peer.role == SiteRole::kPrimary && !ClaimIsOutdated(peer, view);
}

/// A report so old was the last one of a site that works, which writes one each
/// 30 s.
constexpr std::chrono::seconds kHeardBefore{60};

bool WasHeardBefore(const MirrorSnapshot& demotion, const MirrorView& view) {
  return view.own_demotion_mark.has_value() &&
         view.own_demotion_mark->heard.has_value() &&
         std::chrono::system_clock::to_time_t(demotion.created) -
                 *view.own_demotion_mark->heard <=
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

/// Says so with what it has of this image: in a split brain it says
/// "replaying", too, but has nothing.
bool CopiesFromHere(const SiteView& peer) {
  return IsReplaying(peer.status) &&
         CopiedUpTo(peer.status.description).has_value();
}

bool NewestIsWholeDemotion(const MirrorView& view) {
  const MirrorSnapshot* newest = view.Newest();
  return newest != nullptr && newest->demoted() && newest->complete;
}

}  // namespace

bool NeedsReport(const MirrorView& view) {
  return view.OwnDemotion() || view.info.mode == MirrorMode::kJournal;
}

bool KeptInStep(const MirrorView& view, SteadyDuration settle) {
  if (!view.OwnDemotion() || WasHeardBefore(*view.Newest(), view) ||
      EachPeerHasCopiedNewest(view)) {
    return true;
  }
  // That none reports shows nothing: a new rbd-mirror begins with that.
  return !view.peers.empty() &&
         std::all_of(view.peers.begin(), view.peers.end(),
                     [&](const SiteView& peer) {
                       return peer.age < settle && CopiesFromHere(peer);
                     });
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
  const auto claiming = std::find_if(
      view.peers.begin(), view.peers.end(),
      [&](const SiteView& peer) { return ClaimsToBePrimary(peer, view); });
  return claiming == view.peers.end() ? nullptr : &*claiming;
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
      view.LocalDaemonUp() && view.local->role == SiteRole::kNotPrimary;
  return !view.first_copy_pending && view.EntriesBehind() == 0 &&
         (local_says || view.FreshPeer(SiteRole::kNotPrimary, settle));
}

std::optional<std::string> PrimaryPeer(const MirrorView& view,
                                       SteadyDuration settle) {
  const MirrorSnapshot* newest = view.Newest();
  if (newest != nullptr && newest->demoted() && !view.OwnDemotion()) {
    return std::nullopt;
  }
  for (const SiteView& peer : view.peers) {
    if (peer.age < settle && ClaimsToBePrimary(peer, view)) {
      return peer.status.mirror_uuid;
    }
  }
  return std::nullopt;
}

bool HasCopiedOfTerm(const SiteView& peer, const MirrorView& view) {
  const std::optional<int64_t> since = view.PrimarySince();
  const std::optional<int64_t> copied = CopiedUpTo(peer.status.description);
  return since.has_value() && copied.has_value() && *copied >= *since;
}

FollowerVerdict JudgeFollowers(
    const MirrorView& view, SteadyDuration settle,
    const std::function<int(const std::string& mirror_uuid)>& rewritten) {
  const std::optional<int64_t> since = view.PrimarySince();
  FollowerVerdict verdict{FollowerState::kFollow, ""};
  // One whose report was removed may be about to write a new one.
  if (view.silent_peer_age.has_value()) {
    verdict.state = *view.silent_peer_age < settle ? FollowerState::kUnknown
                                                   : FollowerState::kSilent;
  }
  for (const SiteView& peer : view.peers) {
    const SiteStatus& report = peer.status;
    // A caller may have little time; what came between two calls counts, too.
    const int rewrites =
        std::max(rewritten(report.mirror_uuid), peer.rewrites.value_or(0));
    // Also of one that has fallen silent since. The two stamps are of several
    // OSDs, and there is no margin: a report that looks newer than it is only
    // makes this site give the role back for nothing, while a claim of the
    // first seconds that is passed over could be the last word of its site. One
    // that looks older than it is is no word that the peer follows, and the
    // next report tells.
    const bool current =
        since.has_value() ? report.last_update >= *since : rewrites > 0;
    if (peer.role == SiteRole::kPrimary && current) {
      return {FollowerState::kTaken, report.mirror_uuid};
    }
    if (peer.role == SiteRole::kSplitBrain && current) {
      verdict = {FollowerState::kParted, report.mirror_uuid};
      continue;
    }
    if (peer.age >= settle) {
      if (verdict.state == FollowerState::kFollow) {
        verdict = {FollowerState::kSilent, report.mirror_uuid};
      }
      continue;
    }
    // In a split brain it says "replaying", too, each time that it looks, but
    // without numbers.
    const bool follows =
        report.state == MirrorStatusState::kReplaying &&
        (since.has_value() ? HasCopiedOfTerm(peer, view) : rewrites >= 2);
    if (!follows && (verdict.state == FollowerState::kFollow ||
                     verdict.state == FollowerState::kSilent)) {
      verdict = {FollowerState::kUnknown, report.mirror_uuid};
    }
  }
  return verdict;
}

bool AwaitsFollowers(const MirrorView& view, SteadyDuration settle) {
  if (!view.info.primary || !view.own_demotion_mark.has_value()) return false;
  return view.peers.empty() ||
         JudgeFollowers(view, settle).state != FollowerState::kFollow;
}

}  // namespace addons
