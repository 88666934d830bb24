#include "replication/decide/promote.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "replication/decide/promote_rows.h"
#include "replication/look/leftover.h"
#include "replication/look/peers.h"
#include "replication/look/rollback_mark.h"
#include "replication/look/signs_of_life.h"

namespace addons {
namespace {

using absl::StatusCode;

/// What is left to do of a primary, whose answer that does not change.
bool TidiesUp(Step step) {
  switch (step) {
    case Step::kSeeRelease:
    case Step::kMakeWritable:
    case Step::kRemoveHalfCopies:
    case Step::kRemoveRescue:
    case Step::kCompleteSnapshot:
    case Step::kForgetDemotion:
    case Step::kForgetResync:
    case Step::kCorrectImageId:
    case Step::kRememberClone:
    case Step::kKeepSchedule:
      return true;
    default:
      return false;
  }
}

constexpr Rule<PromoteSeen> kRowsOfBoth[] = {
    // --- whatever was asked
    {"role-lost",
     [](const PromoteSeen& s) -> Judged {
       if (!s.was_primary || s.view.info.primary) return std::nullopt;
       return Answer(
           StatusCode::kUnavailable,
           s.view.info.mode == MirrorMode::kJournal
               ? "this site was promoted and is not primary any more: "
                 "rbd-mirror has taken the role away again, for a site that "
                 "was promoted at the same moment, or somebody has demoted "
                 "it; start no workload here, and repeat the call"
               : "the image was demoted by somebody else meanwhile");
     }},
    {"disabling",
     [](const PromoteSeen& s) -> Judged {
       if (s.view.info.state != MirrorImageState::kDisabling) {
         return std::nullopt;
       }
       return Wait(kDisablingText);
     }},
    {"state-unknown",
     [](const PromoteSeen& s) -> Judged {
       if (s.view.info.state != MirrorImageState::kUnknown) return std::nullopt;
       return Wait("this version does not know the state of replication");
     }},
    {"off",
     [](const PromoteSeen& s) -> Judged {
       if (s.view.enabled()) return std::nullopt;
       // In a group that is no reason to force the others.
       return Answer(
           s.scope == VerbScope::kGroupMember ? StatusCode::kUnavailable
                                              : StatusCode::kFailedPrecondition,
           LeftCopy(s.view)
               ? absl::StrCat("replication is not enabled; ", kLeftCopyText)
               : "replication is not enabled");
     }},
};

std::vector<Rule<PromoteSeen>> AllRows() {
  std::vector<Rule<PromoteSeen>> rows(std::begin(kRowsOfBoth),
                                      std::end(kRowsOfBoth));
  for (const auto part : {RowsOfPrimary(), RowsOfSecondary()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace

bool NeedsClocks(const MirrorView& view, Force force) {
  return force == Force::kNo && view.enabled() && !view.info.primary;
}

PromoteSeries::Seen SeenInSeries(const MirrorView& view,
                                 const std::string& rados_namespace,
                                 bool disturbed,
                                 const ReplicationOptions& options) {
  PromoteSeries::Seen seen;
  seen.pool = view.pool_key;
  seen.rados_namespace = rados_namespace;
  seen.image = view.timeline_key;
  seen.progress = view.Progress();
  seen.receiving = !disturbed && LocalMirrorWorks(view, options);
  seen.primary_peer = PrimaryPeer(view, options.settle_time);
  seen.copy = CopyState(view, options);
  return seen;
}

std::optional<FollowerVerdict> FollowersOf(const PromoteSeen& seen) {
  const auto& mark = seen.view.own.demotion;
  // A forced promotion that died may have left the note of an earlier demotion:
  // whoever forces this site again has decided about it.
  const bool retried =
      mark.has_value() && !seen.begun &&
      (!Forced(seen) || mark->step != OwnDemotionStep::kDemoted);
  if (!seen.took_back && !retried) return std::nullopt;
  return JudgeFollowers(seen.view, Settle(seen));
}

absl::Span<const Rule<PromoteSeen>> PromoteTable() {
  static const std::vector<Rule<PromoteSeen>> rows = AllRows();
  return rows;
}

Next DecidePromote(const PromoteSeen& seen) {
  return FirstOf(PromoteTable(), seen);
}

Next ForecastPromote(const PromoteSeen& seen) {
  std::string left;
  Next next = FirstOf(PromoteTable(), seen, [&left](const Next& step) {
    if (!TidiesUp(step.step)) return false;
    if (!step.reason.empty()) absl::StrAppend(&left, "; ", step.reason);
    return true;
  });
  if (next.answers() && next.code == StatusCode::kOk) next.reason += left;
  const bool promotes = next.step == Step::kPromote ||
                        next.step == Step::kPromoteByForce ||
                        next.step == Step::kRescue;
  const auto rollback = ReadRollbackMark(seen.view);
  if (!promotes || !rollback.has_value()) return next;
  // What it is answered when it is primary.
  next.step = Step::kAnswer;
  next.code = StatusCode::kUnavailable;
  next.reason =
      absl::StrCat("it becomes primary, and ", DescribeRollback(*rollback));
  return next;
}

}  // namespace addons
