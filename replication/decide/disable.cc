#include "replication/decide/disable.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "replication/look/leftover.h"
#include "replication/look/peers.h"
#include "replication/look/record.h"
#include "replication/look/rollback_mark.h"
#include "replication/look/signs_of_life.h"

namespace addons {
namespace {

using absl::StatusCode;

bool IsDisabling(const DisableSeen& s) {
  return s.view.info.state == MirrorImageState::kDisabling;
}

bool NeedsForce(const DisableSeen& s) {
  return CarryOnNeedsForce(s.view, s.plain_refused);
}

/// What an enable left that died in the middle.
bool IsHalfEnabled(const DisableSeen& s) {
  return !IsDisabling(s) && !s.view.info.primary && HalfEnabled(s.view);
}

bool IsCopy(const DisableSeen& s) {
  return !IsDisabling(s) && !s.view.info.primary && !IsHalfEnabled(s);
}

/// Of a copy: a peer that says for good that it is not primary; nullptr: none.
const SiteView* NotPrimary(const DisableSeen& s) {
  return FindPeer(s.view, Says::kNotPrimary, Word::kBefore,
                  s.options.settle_time);
}

constexpr Rule<DisableSeen> kDisableTable[] = {
    // --- nothing to disable
    {"mirrored-for-group",
     [](const DisableSeen& s) -> Judged {
       if (s.view.info.state != MirrorImageState::kDisabled ||
           !HasGroupMark(s.view) || s.view.marked_non_primary ||
           s.done.Of(Step::kForgetGroup) > 0) {
         return std::nullopt;
       }
       return Do(Step::kForgetGroup,
                 "replication is off: there is nothing to disable");
     }},
    {"off",
     [](const DisableSeen& s) -> Judged {
       if (s.view.info.state != MirrorImageState::kDisabled) {
         return std::nullopt;
       }
       return Answer(StatusCode::kOk,
                     "replication is off: there is nothing to disable");
     }},
    {"own-schedule",
     [](const DisableSeen& s) -> Judged {
       if (!s.for_something_else || !s.view.enabled() ||
           s.done.Of(Step::kKeepSchedule) > 0) {
         return std::nullopt;
       }
       return Do(Step::kKeepSchedule, "replication of its own is kept");
     }},
    {"kept",
     [](const DisableSeen& s) -> Judged {
       if (!s.for_something_else || !s.view.enabled()) return std::nullopt;
       return Answer(StatusCode::kOk, "replication of its own is kept");
     }},

    // --- somebody is disabling it, or died at that
    {"disabling-changes",
     [](const DisableSeen& s) -> Judged {
       if (!IsDisabling(s) || s.unchanged_for >= s.options.look_gap) {
         return std::nullopt;
       }
       return Wait("the image is still being disabled");
     }},
    {"disabling-at-work",
     [](const DisableSeen& s) -> Judged {
       if (!IsDisabling(s) || s.at_work.empty()) return std::nullopt;
       return Wait(
           absl::StrCat("the image is still being disabled, or its copy "
                        "removed, by ",
                        s.at_work));
     }},
    {"disabling-needs-force",
     [](const DisableSeen& s) -> Judged {
       if (!IsDisabling(s) || !NeedsForce(s) || s.force == Force::kYes) {
         return std::nullopt;
       }
       return Answer(StatusCode::kFailedPrecondition,
                     "a forced disable was interrupted on this site; pass the "
                     "parameter force: \"true\" to carry it on");
     }},
    {"disabling-does-not-end",
     [](const DisableSeen& s) -> Judged {
       if (!IsDisabling(s) || s.carried_on < kCarryOns) return std::nullopt;
       return Answer(StatusCode::kUnavailable,
                     "the image is still being disabled after a disable that "
                     "reported success; check the cluster's health and repeat "
                     "the call");
     }},

    // --- of a primary
    {"follower-late",
     [](const DisableSeen& s) -> Judged {
       if (IsDisabling(s) || !s.view.info.primary ||
           s.awaited_for.value_or(s.options.settle_time) >=
               s.options.settle_time) {
         return std::nullopt;
       }
       return Wait(
           "the peer, which was demoted, has not noticed yet that this site is "
           "primary, and would keep its image (up to a minute)");
     }},

    // --- of a secondary
    {"still-mirrored",
     [](const DisableSeen& s) -> Judged {
       if (IsDisabling(s) || s.view.info.primary || !s.forced) {
         return std::nullopt;
       }
       return Answer(StatusCode::kUnavailable,
                     "the image is still mirrored after a forced disable that "
                     "reported success; repeat the call");
     }},
    {"half-enabled-lately",
     [](const DisableSeen& s) -> Judged {
       // No peer has a copy of it, and there is nothing that it could copy.
       if (!IsHalfEnabled(s) || s.unchanged_for >= s.options.poll_interval) {
         return std::nullopt;
       }
       return Next{Step::kAwaitHalfEnable, StatusCode::kUnavailable,
                   "an earlier enable is half-done; looking once more"};
     }},
    {"leave-to-primary",
     [](const DisableSeen& s) -> Judged {
       if (!IsCopy(s)) return std::nullopt;
       const bool one_way_alive = s.view.OneWay() && s.view.LocalDaemonUp() &&
                                  s.view.local->says == Says::kSecondary;
       // A report whose daemon has gone since is no sign of a living primary:
       // OK would end the operator's care for a copy that stays mirrored.
       if (!one_way_alive &&
           !AnyLives(s.view, Says::kPrimary, s.options.settle_time)) {
         return std::nullopt;
       }
       return Answer(StatusCode::kOk,
                     "this site is the secondary of a living primary: nothing "
                     "is done here, the primary's disable removes this copy");
     }},
    {"peer-may-be-promoted",
     [](const DisableSeen& s) -> Judged {
       const SiteView* peer = NotPrimary(s);
       // It may just have been promoted.
       if (!IsCopy(s) || peer == nullptr ||
           WordOf(*peer, s.view) >= Word::kSettled) {
         return std::nullopt;
       }
       return Wait(
           "this site is secondary, and the peer has not reported yet whether "
           "it is primary now (up to a minute)");
     }},
    {"peer-may-live",
     [](const DisableSeen& s) -> Judged {
       if (!IsCopy(s) || NotPrimary(s) != nullptr ||
           ImageShowsNoLife(s.view, s.options)) {
         return std::nullopt;
       }
       return Wait(
           "this site is secondary, and it is not clear yet whether the peer "
           "lives");
     }},
    {"copy-needs-force",
     [](const DisableSeen& s) -> Judged {
       if (!IsCopy(s) || s.force == Force::kYes) return std::nullopt;
       return Answer(
           StatusCode::kFailedPrecondition,
           NotPrimary(s) != nullptr
               ? "neither site is primary; promote one of them and disable "
                 "there, or pass the parameter force: \"true\" to turn this "
                 "copy into an image of its own"
               : "this site is secondary and its peer shows no sign of life; "
                 "if the peer is lost for good, pass the parameter force: "
                 "\"true\"");
     }},

    // --- it is to be disabled
    {"obstacle",
     [](const DisableSeen& s) -> Judged {
       if (s.obstacle.empty()) return std::nullopt;
       return Answer(StatusCode::kUnavailable, s.obstacle);
     }},
    {"rescue-unread",
     [](const DisableSeen& s) -> Judged {
       if (s.rescue.has_value()) return std::nullopt;
       return Do(Step::kReadRescue);
     }},
    {"marked-copy-went-on",
     [](const DisableSeen& s) -> Judged {
       if (!MarkedCopyWentOn(s.rescue.value_or(std::nullopt), s.view)) {
         return std::nullopt;
       }
       return Answer(StatusCode::kUnavailable, kMarkedCopyWentOn);
     }},
    {"rescue-live",
     [](const DisableSeen& s) -> Judged {
       const auto rescue = s.rescue.value_or(std::nullopt);
       if (!rescue.has_value() || !RescueIsLive(*rescue, s.view)) {
         return std::nullopt;
       }
       return Answer(
           StatusCode::kUnavailable,
           absl::StrCat("a forced promotion that returns to the last complete "
                        "state is half-done, and disabling now would lose that "
                        "state; promote the image by force on this site first, "
                        "or remove the image '",
                        s.rescue_image.text(),
                        "' if its content is not needed"));
     }},
    {"rollback-begun",
     [](const DisableSeen& s) -> Judged {
       const auto rollback = ReadRollbackMark(s.view);
       // Its points, which hold both states, would go.
       if (!rollback.has_value() ||
           (s.view.info.primary ? s.force == Force::kYes : !IsCopy(s))) {
         return std::nullopt;
       }
       return Answer(
           StatusCode::kUnavailable,
           absl::StrCat(DescribeRollback(*rollback),
                        s.view.info.primary
                            ? "; or pass the parameter force: \"true\" to give "
                              "up both states"
                            : "; promote this copy by force first"));
     }},
    {"user-snapshot-in-mid-copy",
     [](const DisableSeen& s) -> Judged {
       const ImageSnapshot* snapshot = UserSnapshotInMidCopy(s.view);
       if (s.view.info.primary || snapshot == nullptr) return std::nullopt;
       return Answer(StatusCode::kUnavailable,
                     absl::StrCat(DescribeUserSnapshotInMidCopy(*snapshot),
                                  "; or promote the image by force on this "
                                  "site, and disable it then"));
     }},
    {"rescue-over",
     [](const DisableSeen& s) -> Judged {
       if (!s.rescue.value_or(std::nullopt).has_value()) return std::nullopt;
       return Do(Step::kRemoveRescue);
     }},
    {"half-enabled",
     [](const DisableSeen& s) -> Judged {
       if (!IsHalfEnabled(s)) return std::nullopt;
       return Do(Step::kUndoEnable,
                 "an earlier enable is half-done, and is undone");
     }},
    {"primary",
     [](const DisableSeen& s) -> Judged {
       if (IsDisabling(s) ? NeedsForce(s) : !s.view.info.primary) {
         return std::nullopt;
       }
       return Do(Step::kDisable,
                 "replication ends, and the other site's copy is removed");
     }},
    {"copy",
     [](const DisableSeen&) -> Judged {
       return Do(Step::kDisableByForce,
                 "this copy becomes an image of its own, with the content of "
                 "its last complete state");
     }},
};

}  // namespace

bool HasLateFollower(const MirrorView& view, SteadyDuration settle) {
  return view.info.primary &&
         std::any_of(
             view.peers.begin(), view.peers.end(), [&](const SiteView& peer) {
               return Lives(peer, settle) && (peer.says == Says::kNotPrimary ||
                                              MayBePrimary(peer, view));
             });
}

bool LacksFollower(const MirrorView& view) {
  return view.info.primary && view.peers.empty() &&
         std::any_of(view.snapshots.begin(), view.snapshots.end(),
                     [](const MirrorSnapshot& snapshot) {
                       return snapshot.kind ==
                              MirrorSnapshotKind::kNonPrimaryDemoted;
                     });
}

bool CarryOnNeedsForce(const MirrorView& view, bool plain_refused) {
  if (plain_refused) return true;
  if (view.info.mode == MirrorMode::kJournal) return !view.info.primary;
  const MirrorSnapshot* newest = view.Newest();
  return newest != nullptr && newest->kind != MirrorSnapshotKind::kPrimary;
}

bool MayBeAtWork(const MirrorView& view, bool plain_refused) {
  return view.marked_non_primary || CarryOnNeedsForce(view, plain_refused);
}

absl::Span<const Rule<DisableSeen>> DisableTable() { return kDisableTable; }

Next DecideDisable(const DisableSeen& seen) {
  return FirstOf(DisableTable(), seen);
}

}  // namespace addons
