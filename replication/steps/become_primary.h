#ifndef ADDONS_REPLICATION_STEPS_BECOME_PRIMARY_H_
#define ADDONS_REPLICATION_STEPS_BECOME_PRIMARY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "ceph/image.h"
#include "replication/decide/next.h"
#include "replication/look/mirror_view.h"
#include "replication/look/rescue_record.h"
#include "replication/session.h"
#include "replication/steps/ceph_faults/rescue.h"
#include "replication/steps/promote.h"

namespace addons {

/// The call of librbd that makes a secondary the primary, with all that must be
/// true before it and is written down with it.
///
// clang-format off
///   Promote()   NeedRoom(), NeedWayBack(); by force PrepareForce(): EndCopyingFirst(),
///     │         LookIsFinal(); PrepareRescue()
///     │           └─ not yet ──> look again
///     ├─ kPromote                  CallPlain()   "promoting"
///     ├─ kPromoteByForce, kRescue  CallForced()  "promoting by force"
///     │                              MarkFirst() of a copy with a user's snapshot
///     │                              └─ not StillHolds() ──> Unmark(), look again
///     │         both: NotePoint() of a promotion to a point
///     │         ReadBackAndNote(): ReadBack(), WriteNotes()
///     ├─ primary ──> the view of it
///     └─ AfterRefusal(): the error, or look again; by force and busy for long,
///                        EndCopyingFirst()
// clang-format on
///
/// For one promotion of one volume, on one thread.
class BecomePrimary {
 public:
  /// Waits a moment, and tells callers why; its error ends it all.
  using WaitFn = std::function<absl::Status(const std::string& reason)>;

  /// Nothing is owned.
  BecomePrimary(const PromoteRequest& request, Session& session, Rescue& rescue,
                WaitFn wait);

  /// Promotes the image that `seen` shows, a look of `looked_at`, as `step`
  /// says: kPromote, kPromoteByForce or kRescue. `record` is that of the rescue
  /// image, and is kept right. Returns the image as primary; nullopt: it is
  /// not, look again. UNAVAILABLE: repeat the call.
  absl::StatusOr<std::optional<MirrorView>> Promote(
      Step step, const MirrorView& seen, SteadyTime looked_at,
      std::optional<RescueRecord>* record);

  /// It has ended the copying, or called librbd.
  bool begun() const { return mutating_since_.has_value(); }
  /// That, for longer than ReplicationOptions::promote_patience.
  bool OutOfPatience() const;
  /// It has promoted after this site's own demotion.
  bool took_back() const { return took_back_; }

 private:
  absl::StatusOr<std::optional<MirrorView>> TryPromote(Force force);
  absl::StatusOr<std::optional<MirrorView>> AfterRefusal(
      const absl::Status& promoted, Force force, const MirrorView& after);
  absl::Status NeedRoom();
  absl::Status CallPlain();
  absl::StatusOr<bool> MarkFirst();
  absl::Status NeedWayBack();
  absl::Status NotePoint(Image& image);
  absl::Status Unmark();
  absl::Status CallForced();
  absl::Status WriteNotes(Image& image, Force force, MirrorView* view);
  std::optional<MirrorView> ReadBack(Image& image);
  absl::Status ReadBackAndNote(Image& image, Force force);
  absl::StatusOr<bool> StillHolds(Image& image, SteadyTime opened_at);
  absl::StatusOr<bool> PrepareForce(Step step);
  absl::Status PrepareRescue(Step step);
  absl::Status EndCopyingFirst();
  absl::Status RefuseAfterPatience();
  bool LookIsFinal() const;
  absl::Status Refuse(const std::string& reason) const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const PromoteRequest& request_;
  Session& session_;
  Rescue& rescue_;
  const WaitFn wait_;
  MirrorView view_;       // what is promoted
  SteadyTime looked_at_;  // at view_
  std::optional<RescueRecord>* record_ = nullptr;
  /// Since when nothing can be copied, which a look after that shows for good.
  std::optional<SteadyTime> copying_ended_at_;
  std::optional<SteadyTime> mutating_since_;
  bool took_back_ = false;
  /// A forced promotion was not begun: what it rests on may not hold any more.
  bool overtaken_ = false;
  bool marked_ = false;  // the copy may be noted as complete, see MarkFirst()
  bool point_noted_ = false;  // by this run, of a secondary: NotePoint()
  bool way_back_seen_ = false;
  uint64_t whole_before_ = 0;            // RollbackMark
  bool lock_forced_ = false;             // of an image that is promoted plainly
  std::optional<MirrorView> read_back_;  // through the handle that promoted
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_BECOME_PRIMARY_H_
