#ifndef ADDONS_REPLICATION_DECIDE_PROMOTE_ROWS_H_
#define ADDONS_REPLICATION_DECIDE_PROMOTE_ROWS_H_

// What the parts of a promotion's table share; replication/decide/promote.h is
// the whole.

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "replication/decide/next.h"
#include "replication/decide/promote.h"
#include "replication/look/signs_of_life.h"

namespace addons {

absl::Span<const Rule<PromoteSeen>> RowsOfPrimary();
/// The last one is about everything.
absl::Span<const Rule<PromoteSeen>> RowsOfSecondary();

inline bool Forced(const PromoteSeen& seen) {
  return seen.force == Force::kYes;
}
inline SteadyDuration Settle(const PromoteSeen& seen) {
  return seen.options.settle_time;
}
inline LifeEvidence Life(const PromoteSeen& seen) {
  return {seen.view, seen.clocks, seen.disturbed, seen.interval};
}

/// Of a living primary that may be forced aside.
inline constexpr absl::string_view kPeerPrimaryRow = "peer-primary";

/// The demotion is here and complete; whether it holds is not part of it.
bool Arrived(const PromoteSeen& seen);

// --- reasons, for people
inline constexpr char kByHand[] =
    "force by hand with `rbd-addons promote ID --force`";
/// What forcing loses.
std::string Loss(const PromoteSeen& seen);
/// What a promotion by force leaves.
std::string ReturnsTo(const PromoteSeen& seen);
/// Why a secondary cannot be promoted to any point; empty: it can.
std::string WhyNoPoints(const PromoteSeen& seen);
/// Why not to the one that was asked for, likewise.
std::string WhyNotToPoint(const PromoteSeen& seen);
/// What a promotion waits for whose demotion Arrived(), or has not.
std::string DescribeWait(const PromoteSeen& seen, bool arrived);
std::string DescribeNotYet(const PromoteSeen& seen);
/// Of a view with PeerDiverged(), or of a split brain.
std::string DescribeWhyDiverged(const MirrorView& view);
std::string DescribeLocalMirrorDown(const PromoteSeen& seen,
                                    SteadyDuration silent);

}  // namespace addons

#endif  // ADDONS_REPLICATION_DECIDE_PROMOTE_ROWS_H_
