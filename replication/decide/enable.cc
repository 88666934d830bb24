#include "replication/decide/enable.h"

#include "absl/strings/str_cat.h"
#include "replication/look/leftover.h"
#include "replication/look/mirrored_clone.h"
#include "replication/look/record.h"

namespace addons {
namespace {

using absl::StatusCode;

PoolSeen PoolOf(const EnableSeen& s) { return s.read.value_or(PoolSeen()); }

constexpr char kOn[] = "it is replicated already";

constexpr Rule<EnableSeen> kEnableTable[] = {
    // --- it is on, or was
    {"half-enabled-lately",
     [](const EnableSeen& s) -> Judged {
       if (!HalfEnabled(s.view) || s.unchanged_for >= s.look_gap) {
         return std::nullopt;
       }
       return Next{
           Step::kAwaitHalfEnable, StatusCode::kUnavailable,
           "another client enables it, or died at that; looking once more"};
     }},
    {"half-enabled",
     [](const EnableSeen& s) -> Judged {
       if (!HalfEnabled(s.view)) return std::nullopt;
       return Do(Step::kClearHalfEnable,
                 "an earlier enable is half-done; it is undone and done again");
     }},
    {"other-mode",
     [](const EnableSeen& s) -> Judged {
       if (!s.view.enabled() || s.view.info.mode == s.mode) {
         return std::nullopt;
       }
       return Answer(
           StatusCode::kFailedPrecondition,
           absl::StrCat("it is mirrored in ", Name(s.view.info.mode),
                        " mode already; disable replication before you "
                        "change the parameter mirroringMode to ",
                        Name(s.mode)));
     }},
    {"mirrored-for-group",
     [](const EnableSeen& s) -> Judged {
       // What was mirrored for its group is asked for by itself now, and stays
       // mirrored when it leaves.
       if (!s.view.enabled() || s.scope != VerbScope::kVolume ||
           !HasGroupMark(s.view) || !s.view.info.primary ||
           s.done.Of(Step::kEnable) > 0) {
         return std::nullopt;
       }
       return Do(Step::kTakeOverFromGroup, kOn);
     }},
    {"clone",
     [](const EnableSeen& s) -> Judged {
       if (!s.view.enabled() || !s.view.info.primary ||
           CloneMarkDue(s.view).empty() || s.done.Of(Step::kEnable) > 0) {
         return std::nullopt;
       }
       return Do(Step::kRememberClone, kOn);
     }},
    {"volume-not-noted",
     [](const EnableSeen& s) -> Judged {
       // Of volumes that were enabled before this was noted, and of those whose
       // entry has changed.
       if (!s.view.enabled() || !s.view.info.primary ||
           s.view.volume_note_due.empty() || s.done.Of(Step::kEnable) > 0 ||
           s.done.Of(Step::kNoteVolume) > 0) {
         return std::nullopt;
       }
       return Do(Step::kNoteVolume, kOn);
     }},
    {"schedule",
     [](const EnableSeen& s) -> Judged {
       // One that is noted is changed by a promotion alone.
       if (!s.view.enabled() || !s.view.info.primary || !s.schedule_due ||
           s.done.Of(Step::kKeepSchedule) > 0) {
         return std::nullopt;
       }
       return Do(Step::kKeepSchedule, kOn);
     }},
    {"on",
     [](const EnableSeen& s) -> Judged {
       if (!s.view.enabled()) return std::nullopt;
       return Answer(StatusCode::kOk, kOn);
     }},
    {"enable-without-effect",
     [](const EnableSeen& s) -> Judged {
       if (s.done.Of(Step::kEnable) == 0) return std::nullopt;
       return Answer(
           StatusCode::kUnavailable,
           absl::StrCat("the image is ", Name(s.view.info.state),
                        s.refused ? ", which somebody else is changing; repeat "
                                    "the call"
                                  : " after an enable that reported success; "
                                    "repeat the call"));
     }},
    {"resync-requested",
     [](const EnableSeen& s) -> Judged {
       if (!s.view.resync_requested) return std::nullopt;
       return Wait("rbd-mirror is about to replace the image (resync)");
     }},
    {"disabling",
     [](const EnableSeen& s) -> Judged {
       if (s.view.info.state == MirrorImageState::kDisabled) {
         return std::nullopt;
       }
       return Wait(kDisablingText);
     }},

    // --- it is off
    {"left-copy",
     [](const EnableSeen& s) -> Judged {
       if (!LeftCopy(s.view)) return std::nullopt;
       return Answer(StatusCode::kFailedPrecondition, kLeftCopyText);
     }},
    {"pool-unread",
     [](const EnableSeen& s) -> Judged {
       if (s.read.has_value()) return std::nullopt;
       return Do(Step::kReadPool);
     }},
    {"pool-mode-unknown",
     [](const EnableSeen& s) -> Judged {
       if (PoolOf(s).mode != PoolMirrorMode::kUnknown) return std::nullopt;
       return Answer(
           StatusCode::kUnavailable,
           absl::StrCat("pool '", s.pool_and_namespace,
                        "' is mirrored in a way that this build does not "
                        "know"));
     }},
    {"pool-not-mirrored",
     [](const EnableSeen& s) -> Judged {
       if (PoolOf(s).mode != PoolMirrorMode::kDisabled) return std::nullopt;
       return Answer(StatusCode::kFailedPrecondition,
                     absl::StrCat("pool '", s.pool_and_namespace,
                                  "' is not mirrored; run `rbd mirror pool "
                                  "enable ",
                                  s.pool_and_namespace, " image`"));
     }},
    {"pool-mirrored-as-a-whole",
     [](const EnableSeen& s) -> Judged {
       if (PoolOf(s).mode != PoolMirrorMode::kPool) return std::nullopt;
       return Answer(StatusCode::kFailedPrecondition,
                     absl::StrCat("pool '", s.pool_and_namespace,
                                  "' is mirrored as a whole, not per image; "
                                  "run `rbd mirror pool enable ",
                                  s.pool_and_namespace, " image`"));
     }},
    {"no-peer",
     [](const EnableSeen& s) -> Judged {
       if (PoolOf(s).has_peer) return std::nullopt;
       return Answer(
           StatusCode::kFailedPrecondition,
           absl::StrCat("pool '", s.pool,
                        "' has no peer to replicate to; run `rbd mirror pool "
                        "enable ",
                        s.pool,
                        " image` on both sites, also where only namespaces of "
                        "the pool are mirrored, then `rbd mirror pool peer "
                        "bootstrap create ",
                        s.pool,
                        "` here and `... bootstrap import` on the other "
                        "site"));
     }},
    {"no-room",
     [](const EnableSeen& s) -> Judged {
       if (PoolOf(s).no_room.empty()) return std::nullopt;
       return Answer(StatusCode::kFailedPrecondition, PoolOf(s).no_room);
     }},
    {"parent",
     [](const EnableSeen& s) -> Judged {
       if (!s.view.parent.has_value() || s.done.Of(Step::kPrepareParent) > 0) {
         return std::nullopt;
       }
       return Do(Step::kPrepareParent);
     }},
    {"enable", [](const EnableSeen&) -> Judged { return Do(Step::kEnable); }},
};

}  // namespace

absl::Span<const Rule<EnableSeen>> EnableTable() { return kEnableTable; }

Next DecideEnable(const EnableSeen& seen) {
  return FirstOf(EnableTable(), seen);
}

}  // namespace addons
