#ifndef ADDONS_REPLICATION_LOOK_ROLLBACK_MARK_H_
#define ADDONS_REPLICATION_LOOK_ROLLBACK_MARK_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "replication/look/mirror_view.h"
#include "replication/look/point.h"

namespace addons {

// An image that is rolled back to a point (steps/roll_back.h) holds neither of
// two states until that is done. So it is noted in its metadata before anything
// is written, and taken away when all is there. The note travels with mirror
// snapshots: who promotes the other site must know. A promotion to a point
// notes it on the secondary, right before that becomes primary.

inline constexpr char kRollbackKey[] = "rbd-addons.rollback";

struct RollbackMark {
  std::string point;          // what it is to hold
  std::string kept;           // the point of what it held before; empty: none
  std::string also;           // the point that it went to before; empty: none
  std::string since;          // RFC 3339, by the host that began it
  bool of_promotion = false;  // one to that point has begun it
  bool untouched = false;     // likewise, and nothing was written yet
  /// Of a promotion: points with a lower snapshot id are whole on this site.
  uint64_t whole_before = 0;
  /// Not in a form that this version knows.
  bool unclear = false;
};

/// The value for the image that `view` shows.
std::string FormatRollbackMark(const RollbackMark& mark,
                               const MirrorView& view);

/// nullopt: nobody rolls it back. The note of an image that this one was cloned
/// from is none, and so is that of another site that has written nothing yet.
std::optional<RollbackMark> ReadRollbackMark(const MirrorView& view);

/// One of its states is this point, which must stay until it is over.
bool NeededByRollback(const std::optional<RollbackMark>& mark,
                      absl::string_view point);
/// A promotion has begun it, and may yet go to this point instead.
bool MayGoTo(const std::optional<RollbackMark>& mark, const Point& point);

/// For messages, after "Failed to ...: ": what it holds, and what to do.
std::string DescribeRollback(const RollbackMark& mark);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_ROLLBACK_MARK_H_
