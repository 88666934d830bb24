#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "replication/decide/promote_rows.h"
#include "replication/look/known_proofs.h"
#include "replication/look/point.h"
#include "replication/look/record.h"
#include "replication/look/rollback_mark.h"

namespace addons {
namespace {

/// The newest of those that a promotion could go back to.
std::string DescribeWholePoints(const MirrorView& view) {
  constexpr size_t kMost = 5;
  std::vector<std::string> whole;
  for (const Point& point : PointsIn(view.other_snapshots)) {
    if (ArrivedWhole(view, point)) whole.push_back(point.name);
  }
  if (whole.empty()) return "none is whole on this site";
  const size_t left_out = whole.size() > kMost ? whole.size() - kMost : 0;
  whole.erase(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(left_out));
  return absl::StrCat("whole on this site ", whole.size() == 1 ? "is " : "are ",
                      left_out > 0 ? absl::StrCat(left_out, " older, ") : "",
                      absl::StrJoin(whole, ", "));
}

}  // namespace

std::string WhyNoPoints(const PromoteSeen& s) {
  if (s.view.info.mode == MirrorMode::kJournal) {
    return kNoPointsInJournalMode;
  }
  if (s.view.parent.has_value()) {
    return kCloneIsNotBroughtBack;
  }
  if (s.view.OwnDemotion()) {
    return "this site has demoted it, so its points are this site's own, and "
           "of a term that is over: promote it without a point; what a point "
           "held is in its snapshot, as for `rbd export`";
  }
  const auto rollback = ReadRollbackMark(s.view);
  if (!rollback.has_value() || rollback->untouched ||
      (!rollback->unclear && NeededByRollback(rollback, s.restore_point))) {
    return "";
  }
  return absl::StrCat("it cannot go to point '", s.restore_point,
                      "': ", DescribeRollback(*rollback));
}

std::string WhyNotToPoint(const PromoteSeen& s) {
  const std::string& name = s.restore_point;
  const auto point = FindPoint(s.view.other_snapshots, name);
  if (!point.has_value()) {
    return absl::StrCat("it has no point '", name, "' here; ",
                        DescribeWholePoints(s.view));
  }
  if (!ArrivedWhole(s.view, *point)) {
    return absl::StrCat("its point '", name, "' has not arrived whole; ",
                        DescribeWholePoints(s.view));
  }
  if (s.view.proof.whole() || s.view.proof.point != name) return "";
  return absl::StrCat("this copy is ", DescribeProof(s.view.proof), "; ",
                      DescribeWholePoints(s.view));
}

}  // namespace addons
