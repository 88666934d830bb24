#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "replication/decide/promote_rows.h"
#include "replication/look/mirrored_clone.h"
#include "replication/look/peers.h"
#include "replication/look/record.h"
#include "replication/look/rollback_mark.h"

namespace addons {
namespace {

using absl::StatusCode;

constexpr char kIsPrimary[] = "it is primary already";

bool FollowersAre(const PromoteSeen& s, FollowerState state) {
  const auto verdict = FollowersOf(s);
  return verdict.has_value() && verdict->state == state;
}

/// Nobody was told that this site is primary. Who finds a primary with the note
/// of a mere demotion cannot know that: `rbd mirror image promote` leaves it.
bool MayYield(const PromoteSeen& s) {
  return !Forced(s) && s.view.own.demotion.has_value() &&
         s.view.own.demotion->step != OwnDemotionStep::kDemoted;
}

std::string FollowerName(const PromoteSeen& s) {
  const auto verdict = FollowersOf(s);
  return s.site_name(verdict.has_value() ? verdict->peer : "");
}

bool NewestIsIncomplete(const MirrorView& view) {
  const MirrorSnapshot* newest = view.Newest();
  return view.info.mode != MirrorMode::kJournal && newest != nullptr &&
         newest->kind == MirrorSnapshotKind::kPrimary && !newest->complete;
}

constexpr Rule<PromoteSeen> kRowsOfPrimary[] = {
    // --- of a primary: what a promotion has left to do, also one that died
    {"release-unseen",
     [](const PromoteSeen& s) -> Judged {
       // By force: the copying was ended before.
       if (!s.view.info.primary || Forced(s) ||
           s.view.info.mode != MirrorMode::kJournal ||
           s.open_by_mirror.has_value()) {
         return std::nullopt;
       }
       return Do(Step::kSeeRelease);
     }},
    {"open-by-mirror",
     [](const PromoteSeen& s) -> Judged {
       // Another process has promoted it, or it was primary all along.
       const SteadyDuration primary_for =
           s.view.primary_for.value_or(s.open_for);
       if (!s.view.info.primary || !s.open_by_mirror.value_or(false) ||
           primary_for >= Settle(s)) {
         return std::nullopt;
       }
       return Next{Step::kAwaitRelease, StatusCode::kUnavailable,
                   "this site is primary, and rbd-mirror of this site still "
                   "has the image open: until it lets go, it may take the role "
                   "away again for a site that is promoted at the same moment; "
                   "start no workload before (up to a minute)"};
     }},
    {"half-copy-unsaved",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary ||
           UnsavedHalfCopy(s.view, s.rescue) == nullptr) {
         return std::nullopt;
       }
       return Do(Step::kSaveHalfCopy,
                 "its forced promotion is half-done; the last complete state "
                 "is saved first");
     }},
    {"refuses-writes",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || !s.view.marked_non_primary) {
         return std::nullopt;
       }
       return Do(Step::kMakeWritable,
                 "it refuses writes, and is made writable");
     }},
    {"half-copies",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || HalfCopies(s.view).empty()) {
         return std::nullopt;
       }
       return Do(Step::kRemoveHalfCopies,
                 "a peer's snapshot that is not complete is removed");
     }},
    {"rescue-awaited",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || !s.rescue.has_value() ||
           !AwaitsRestore(*s.rescue, s.view)) {
         return std::nullopt;
       }
       return Do(Step::kRestore,
                 "its forced promotion is half-done; whether the last complete "
                 "state can be brought back shows when it is promoted again");
     }},
    {"rescue-over",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || !s.rescue.has_value()) return std::nullopt;
       return Do(Step::kRemoveRescue, "its rescue image is removed");
     }},
    {"newest-incomplete",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || !NewestIsIncomplete(s.view) ||
           s.done.Of(Step::kCompleteSnapshot) > 0) {
         return std::nullopt;
       }
       return Do(Step::kCompleteSnapshot,
                 "its newest mirror snapshot is not complete, and "
                 "another one is made");
     }},
    {"peer-primary-too",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || MayYield(s) ||
           !FollowersAre(s, FollowerState::kTaken)) {
         return std::nullopt;
       }
       return Answer(
           StatusCode::kUnavailable,
           absl::StrCat("this site was promoted by ",
                        Forced(s) ? "force" : "another program",
                        " and is primary, but ", FollowerName(s),
                        " has said since that it is primary as well; stop the "
                        "workload on one of the two sites and demote it there, "
                        "then resync it"));
     }},
    {"yields-to-primary",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || !FollowersAre(s, FollowerState::kTaken)) {
         return std::nullopt;
       }
       return Next{
           Step::kYield, StatusCode::kUnavailable,
           absl::StrCat(
               FollowerName(s),
               " was promoted while this site took its own demotion back")};
     }},
    {"follower-silent",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || Forced(s) ||
           !FollowersAre(s, FollowerState::kSilent)) {
         return std::nullopt;
       }
       // Whether it was promoted meanwhile is for a person, or an operator.
       return Answer(StatusCode::kFailedPrecondition,
                     absl::StrCat("this site has taken its own demotion back, "
                                  "and nothing is heard of ",
                                  FollowerName(s),
                                  ", which may have been promoted meanwhile; "
                                  "where it was not, force: nothing that was "
                                  "written here is lost by that"));
     }},
    {"yields-to-diverged",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || !MayYield(s) ||
           !FollowersAre(s, FollowerState::kParted)) {
         return std::nullopt;
       }
       return Next{Step::kYield, StatusCode::kUnavailable,
                   absl::StrCat(FollowerName(s),
                                " reports a split brain since this site took "
                                "its own demotion back: it had gone on from "
                                "another content")};
     }},
    {"not-followed",
     [](const PromoteSeen& s) -> Judged {
       const auto verdict = FollowersOf(s);
       if (!s.view.info.primary || Forced(s) || !verdict.has_value() ||
           verdict->state == FollowerState::kFollow) {
         return std::nullopt;
       }
       return Next{
           Step::kAwaitFollowers, StatusCode::kUnavailable,
           absl::StrCat("this site has taken its own demotion back and waits "
                        "until ",
                        FollowerName(s),
                        " follows it; start no workload before (",
                        verdict->state == FollowerState::kParted
                            ? "it reports a split brain: resync its image "
                              "there, or, if the content there is the right "
                              "one, promote it there by force)"
                            : "up to a minute)")};
     }},
    {"demotion-over",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || (!s.view.own.demotion.has_value() &&
                                    !s.view.refused_demotion.has_value())) {
         return std::nullopt;
       }
       return Do(Step::kForgetDemotion);
     }},
    {"resync-request",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || !s.view.resync_requested) {
         return std::nullopt;
       }
       return Do(Step::kForgetResync,
                 "a request to resync it, which would delete it "
                 "at the next demotion, is removed");
     }},
    {"image-id",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || !s.journal_image_id.has_value() ||
           *s.journal_image_id == s.view.image_id) {
         return std::nullopt;
       }
       return Do(Step::kCorrectImageId, "the journal's image id is corrected");
     }},
    {"clone",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || CloneMarkDue(s.view).empty()) {
         return std::nullopt;
       }
       return Do(Step::kRememberClone);
     }},
    {"schedule",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || s.done.Of(Step::kKeepSchedule) > 0) {
         return std::nullopt;
       }
       return Do(Step::kKeepSchedule);
     }},
    {"point-to-go-back-to",
     [](const PromoteSeen& s) -> Judged {
       const auto rollback = ReadRollbackMark(s.view);
       if (!s.view.info.primary || s.restore_point.empty() ||
           !rollback.has_value() || rollback->unclear ||
           (!rollback->untouched &&
            !NeededByRollback(rollback, s.restore_point))) {
         return std::nullopt;
       }
       return Do(Step::kRollBack,
                 absl::StrCat("it goes back to point '", s.restore_point, "'"));
     }},
    {"rollback-begun",
     [](const PromoteSeen& s) -> Judged {
       const auto rollback = ReadRollbackMark(s.view);
       if (!s.view.info.primary || !rollback.has_value()) return std::nullopt;
       return Answer(StatusCode::kUnavailable,
                     absl::StrCat("the image is primary, and ",
                                  DescribeRollback(*rollback)));
     }},
    {"not-of-that-point",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || s.restore_point.empty() ||
           WentBackTo(s.view, s.restore_point)) {
         return std::nullopt;
       }
       return Answer(
           StatusCode::kInvalidArgument,
           absl::StrCat(
               "it is primary already, and was not promoted to point '",
               s.restore_point,
               "'; `rbd-addons point rollback` goes back to points "
               "that were made since its promotion"));
     }},
    {"primary",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary) return std::nullopt;
       return Answer(StatusCode::kOk, kIsPrimary);
     }},
};

}  // namespace

absl::Span<const Rule<PromoteSeen>> RowsOfPrimary() { return kRowsOfPrimary; }

}  // namespace addons
