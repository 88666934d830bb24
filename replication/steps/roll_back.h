#ifndef ADDONS_REPLICATION_STEPS_ROLL_BACK_H_
#define ADDONS_REPLICATION_STEPS_ROLL_BACK_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "replication/session.h"

namespace addons {

// A rollback: a primary gets back what it held at a point, and so does its
// copy. `rbd snap rollback` of a mirrored image does not do that: its copy
// keeps the newer content for good (docs/points.md).

struct RollbackRequest {
  std::string point;
  /// The point of what it holds now (MakePoint()), to which it can be rolled
  /// back in turn; empty: none is wanted. Of one that was begun earlier and has
  /// not ended, what was kept then counts.
  std::string kept;
  bool only_look = false;     // changes nothing
  bool only_go_on = false;    // with one that has not ended
  bool of_promotion = false;  // PromoteVolume asks for it
};

struct Rollback {
  std::string kept;           // the point of what it held before; empty: none
  bool goes_on = false;       // an earlier one had not ended
  bool keeps_itself = false;  // what it holds, see KeepWhatItHolds()
  uint64_t bytes = 0;         // of the image at the point
  uint64_t bytes_now = 0;     // and now: what lies beyond is left as it is
  /// How much may have differed, and was compared; 0: it was only looked at.
  uint64_t compared = 0;
  /// The mirror snapshot that brings it to the other site; 0: no peer receives.
  uint64_t carrier = 0;
};

/// Writes what differs from the point, through an image that nobody else has
/// open, with its exclusive lock. Where it wrote or discarded since, zeros are
/// written as data, because the copy may have old data there. Reads it back,
/// and makes mirror snapshots. A note in the image's metadata tells in between
/// that it holds a mixture (replication/look/rollback_mark.h): promote, demote,
/// disable and points wait for its end, and a retry goes on. Blocks for hours,
/// maybe, with the volume's lease.
///
// clang-format off
///   RollBack(): LookAtPrimary()      see replication/steps/primary_only.h
///     ├─ off, secondary, journal mode ───────────> FAILED_PRECONDITION
///     ├─ a promotion has not ended ──────────────> UNAVAILABLE
///     ├─ no such point of this term, a clone then
///     │  or now, a smaller image now, no lock,
///     │  no room for snapshots ──────────────────> FAILED_PRECONDITION
///     ├─ in use ─────────────────────────────────> FAILED_PRECONDITION
///     └─ BeginMutation()
///        WritingBack
///          AwaitNoWorkload()   see replication/write_back.h
///                          "waiting until nobody has the image open"
///          AcquireLock()
///          FindChanged()   "finding what differs from the point"
///          ├─ nothing ───────────────────────────> OK
///          ├─ another header of LUKS ────────────> FAILED_PRECONDITION
///          ├─ written to since `kept`: "seeing whether it was written to
///          │  since", "comparing what it holds with the point"
///          │                     ────────────────> FAILED_PRECONDITION
///          KeepWhatItHolds()   of a promotion that has begun it, before the
///                          first change: "keeping what it holds as a point"
///          SetMark()
///          CopyBack()      "bringing the point back"
///          ├─ somebody has opened it, or the
///          │  point is gone ─────────────────────> UNAVAILABLE, the note stays
///          End()           "making a mirror snapshot of it" with the note,
///                          and one without
// clang-format on
///
/// RESOURCE_EXHAUSTED: the pool is full. UNAVAILABLE also: the manager makes
/// snapshots just now; repeat it.
absl::StatusOr<Rollback> RollBack(Session& session,
                                  const RollbackRequest& request);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_ROLL_BACK_H_
