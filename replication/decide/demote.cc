#include "replication/decide/demote.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ceph/mirror_clients.h"
#include "replication/look/leftover.h"
#include "replication/look/mirrored_clone.h"
#include "replication/look/nvmeof_export.h"
#include "replication/look/peers.h"
#include "replication/look/report.h"
#include "replication/look/rollback_mark.h"

namespace addons {
namespace {

using absl::StatusCode;

/// A demotion that ends half-done is repaired so often within one run.
constexpr int kRepairs = 3;

/// That `peer` is primary, too, is no older text that rbd-mirror wrote once
/// more before it looked again.
bool IsPrimaryNow(const SiteView& peer, const MirrorView& view) {
  // As the promotion does that waits for this peer: JudgeFollowers().
  return SaysPrimary(peer, view,
                     ToldNobody(view) ? Word::kLagging : Word::kSettled);
}

std::string DescribeMissingFollower(const DemoteSeen& seen) {
  // The way out first: a group's answer cuts long reasons of its members.
  constexpr char kLost[] =
      "; demoted now, its copy would stay behind for ever, and its next "
      "promotion would lose what was written here";
  for (const SiteView& peer : seen.view.peers) {
    const std::string site = seen.site_name(peer.status.mirror_uuid);
    if (Diverged(peer, seen.view)) {
      return absl::StrCat(site,
                          " reports a split brain: resync the image there "
                          "first (autoResync: true, or state: resync); if the "
                          "content there is the right one, promote it there by "
                          "force instead",
                          kLost);
    }
    if (peer.says == Says::kError) {
      return absl::StrCat(site, " does not copy the image ('",
                          DescriptionText(peer.status.description),
                          "'): see to that first", kLost);
    }
  }
  return absl::StrCat(
      "no peer has noticed yet that this site is primary",
      MustHaveCopied(seen.view)
          ? " and reported that it has copied something since"
          : "",
      "; check that rbd-mirror of the other site runs (`rbd mirror pool "
      "status`)",
      kLost);
}

/// What is wrong with the image after a demotion that reported success; empty:
/// nothing. It is demoted when the newest snapshot that this site made itself
/// says so and is whole. (Newer ones may be copies of what the peer, promoted
/// since, has written.)
std::string DescribeBadDemotion(const MirrorView& view) {
  if (view.info.primary) {
    return "the image is still primary after a demotion that reported success; "
           "repeat the call";
  }
  if (view.info.mode == MirrorMode::kJournal) return "";
  const auto own = std::find_if(
      view.snapshots.rbegin(), view.snapshots.rend(),
      [](const MirrorSnapshot& snapshot) {
        return snapshot.kind == MirrorSnapshotKind::kPrimary ||
               snapshot.kind == MirrorSnapshotKind::kPrimaryDemoted;
      });
  if (own == view.snapshots.rend()) {
    return "the image is not primary after the demotion, but none of its "
           "mirror snapshots is a demotion of this site; repeat the call";
  }
  if (own->kind != MirrorSnapshotKind::kPrimaryDemoted) {
    return absl::StrCat(
        "the image is not primary after the demotion, but the newest mirror "
        "snapshot of this site (id ",
        own->id, ") is of the kind '", Name(own->kind),
        "' and no demotion; check the cluster's health and repeat the call");
  }
  return own->complete ? ""
                       : "the demotion snapshot does not become complete; "
                         "check the cluster's health and repeat the call";
}

/// What a demotion leaves, for a person who asks before.
std::string DescribeDemotion(const DemoteSeen& s) {
  const bool given_back =
      MarkOfDemotion(s.view).step == OwnDemotionStep::kGivenBack;
  return absl::StrCat(
      "nobody has the image open for writing",
      given_back   ? ", and another site is primary as well: what was "
                     "written here is not there, and a resync after this "
                     "deletes it"
      : s.no_peers ? ", and the pool has no peer: nothing is copied"
                   : ", and what is written is copied");
}

constexpr Rule<DemoteSeen> kDemoteTable[] = {
    // --- before anything was changed
    {"disabling",
     [](const DemoteSeen& s) -> Judged {
       if (s.begun || s.view.info.state != MirrorImageState::kDisabling) {
         return std::nullopt;
       }
       return Answer(StatusCode::kUnavailable, kDisablingText);
     }},
    {"off",
     [](const DemoteSeen& s) -> Judged {
       if (s.begun || s.view.enabled()) return std::nullopt;
       return Answer(StatusCode::kFailedPrecondition,
                     "replication is not enabled");
     }},
    {"rescue-awaited",
     [](const DemoteSeen& s) -> Judged {
       if (s.begun || !s.rescue.has_value() ||
           !AwaitsRestore(*s.rescue, s.view)) {
         return std::nullopt;
       }
       return Answer(StatusCode::kUnavailable,
                     DescribeAwaitedRestore(*s.rescue, s.image, s.rescue_spec));
     }},
    {"rollback-begun",
     [](const DemoteSeen& s) -> Judged {
       const auto rollback = ReadRollbackMark(s.view);
       if (s.begun || !s.view.info.primary || !rollback.has_value()) {
         return std::nullopt;
       }
       return Answer(StatusCode::kUnavailable, DescribeRollback(*rollback));
     }},
    {"clone-loss",
     [](const DemoteSeen& s) -> Judged {
       // The site that is promoted next would go on with a copy that is not
       // whole.
       if (s.begun || !s.view.info.primary) return std::nullopt;
       std::string loss = DescribeCloneLoss(s.view, s.spec);
       if (loss.empty()) return std::nullopt;
       return Answer(StatusCode::kFailedPrecondition, std::move(loss));
     }},

    // --- of a secondary
    {"half-demotion-claimed",
     [](const DemoteSeen& s) -> Judged {
       const SiteView* peer = ClaimingPeer(s.view);
       if (s.view.info.primary || !OwnHalfDemotion(s.view) || peer == nullptr) {
         return std::nullopt;
       }
       return Answer(
           StatusCode::kUnavailable,
           absl::StrCat(
               "an earlier demotion is half-done and cannot be repaired, "
               "because ",
               s.site_name(peer->status.mirror_uuid),
               peer->age >= s.settle
                   ? " was primary when its rbd-mirror reported last, and is "
                     "silent now; start rbd-mirror there, and resync this "
                     "image if that site is still primary; if that site is "
                     "lost, promote this image by force"
                   : " is primary; resync this image"));
     }},
    {"half-demotion-unclear",
     [](const DemoteSeen& s) -> Judged {
       const std::string unclear = s.view.UnclearReport(s.settle);
       if (s.view.info.primary || !OwnHalfDemotion(s.view) || unclear.empty()) {
         return std::nullopt;
       }
       return Answer(StatusCode::kUnavailable,
                     absl::StrCat("an earlier demotion is half-done and is not "
                                  "repaired, because ",
                                  unclear));
     }},
    {"half-demotion",
     [](const DemoteSeen& s) -> Judged {
       if (s.view.info.primary || !OwnHalfDemotion(s.view) ||
           s.done.Of(Step::kRepair) > kRepairs) {
         return std::nullopt;
       }
       return Do(Step::kRepair,
                 "an earlier demotion is half-done; the image is promoted and "
                 "demoted again");
     }},
    {"bad-demotion",
     [](const DemoteSeen& s) -> Judged {
       // By this run.
       if (s.view.info.primary || (s.done.Of(Step::kDemote) == 0 &&
                                   s.done.Of(Step::kRepair) <= kRepairs)) {
         return std::nullopt;
       }
       std::string bad = DescribeBadDemotion(s.view);
       if (bad.empty()) return std::nullopt;
       return Answer(StatusCode::kUnavailable, std::move(bad));
     }},
    {"secondary",
     [](const DemoteSeen& s) -> Judged {
       if (s.view.info.primary) return std::nullopt;
       return Answer(StatusCode::kOk,
                     "it is no primary: there is nothing to demote");
     }},

    // --- of a primary
    {"workload",
     [](const DemoteSeen& s) -> Judged {
       if (s.workloads.empty()) return std::nullopt;
       return Next{Step::kAwaitWorkloadEnd, StatusCode::kFailedPrecondition,
                   DescribeUse(DescribeWatchers(s.workloads), s.view)};
     }},
    {"no-follower",
     [](const DemoteSeen& s) -> Judged {
       if (s.begun || FollowerSeen(s) || s.no_peers) return std::nullopt;
       return Next{Step::kAwaitFollower, StatusCode::kUnavailable,
                   DescribeMissingFollower(s)};
     }},
    {"published",
     [](const DemoteSeen& s) -> Judged {
       // Its client may be between two watches; a mark alone must not stop a
       // failover for ever.
       if (s.begun || s.awaited_workload ||
           PublishedMark(s.published).empty()) {
         return std::nullopt;
       }
       return Next{Step::kAwaitReturn, StatusCode::kUnavailable,
                   "the volume is still marked as published; looking once "
                   "more"};
     }},
    {"demotion-without-effect",
     [](const DemoteSeen& s) -> Judged {
       if (s.done.Of(Step::kDemote) <= kRepairs) return std::nullopt;
       return Answer(StatusCode::kUnavailable, DescribeBadDemotion(s.view));
     }},
    {"demote",
     [](const DemoteSeen& s) -> Judged {
       return Do(Step::kDemote, DescribeDemotion(s));
     }},
};

}  // namespace

bool FollowerSeen(const DemoteSeen& seen) {
  const std::vector<SiteView>& peers = seen.view.peers;
  if (std::any_of(peers.begin(), peers.end(), [&](const SiteView& peer) {
        return Diverged(peer, seen.view);
      })) {
    // As the promotion would do that waits for this peer.
    return ToldNobody(seen.view);
  }
  // In split brain it opens the image, too, and says "replaying" for a moment,
  // each time that it looks whether it can follow.
  if (seen.open_by_mirror && !MustHaveCopied(seen.view)) return true;
  return std::any_of(peers.begin(), peers.end(), [&](const SiteView& peer) {
    // A primary will not copy: demoting this side is the way out.
    return IsPrimaryNow(peer, seen.view) || Follows(peer, seen.view);
  });
}

std::string PublishedMark(const std::map<std::string, std::string>& published) {
  const auto mark =
      std::find_if(published.begin(), published.end(), [](const auto& entry) {
        return absl::StrContains(entry.first, "/clientaddress/") ||
               absl::StrContains(entry.first, "/userid/");
      });
  return mark == published.end() ? "" : mark->first;
}

std::string DescribeUse(const std::string& workload, const MirrorView& view) {
  std::string text = absl::StrCat("the image is in use by ", workload,
                                  "; stop the workload (a client that died is "
                                  "gone from this list after 30 s)");
  if (const std::string exported = DescribeNvmeofExport(view.exported);
      !exported.empty()) {
    absl::StrAppend(&text, "; if a gateway still exports it, remove ", exported,
                    ", which has it open also while no pod uses it");
  }
  return text;
}

OwnDemotionMark MarkOfDemotion(const MirrorView& view) {
  // One that was given back stays so, until this site has copied from the peer.
  // Another program may have promoted it since, and told somebody.
  if (view.own.demotion.has_value() &&
      view.own.demotion->step == OwnDemotionStep::kGivenBack) {
    return {OwnDemotionStep::kGivenBack};
  }
  // Two were primary: this one gives the role to the other one, whose content
  // is not here, and must not take it back as if nothing had been written.
  const bool untold = ToldNobody(view);
  const auto other = [&](const SiteView& peer) {
    return SaysPrimary(peer, view, untold ? Word::kLagging : Word::kCurrent) ||
           (untold && Diverged(peer, view));
  };
  if (std::any_of(view.peers.begin(), view.peers.end(), other)) {
    OwnDemotionMark mark{OwnDemotionStep::kGivenBack};
    mark.told_nobody = untold;
    return mark;
  }
  OwnDemotionMark mark;
  // Perhaps an older text, but no word that it was in step just now.
  if (std::none_of(view.peers.begin(), view.peers.end(), MayHaveGoneOn)) {
    mark.heard = HeardOfAll(view);
  }
  return mark;
}

absl::Span<const Rule<DemoteSeen>> DemoteTable() { return kDemoteTable; }

Next DecideDemote(const DemoteSeen& seen) {
  return FirstOf(DemoteTable(), seen);
}

}  // namespace addons
