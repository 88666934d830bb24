#ifndef ADDONS_REPLICATION_STEPS_CEPH_FAULTS_RESCUE_H_
#define ADDONS_REPLICATION_STEPS_CEPH_FAULTS_RESCUE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/image_name.h"
#include "base/slots.h"
#include "ceph/image.h"
#include "ceph/image_copy.h"
#include "ceph/pool.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/look/mirror_view.h"
#include "replication/look/rescue_record.h"
#include "replication/session.h"
#include "replication/write_back.h"

namespace addons {

/// A forced promotion in the middle of a copy (docs/adr/0001). The incomplete
/// mirror snapshot reads as the last complete state, and librbd's forced
/// promotion does not return to it. So what that state needs is kept meanwhile
/// in a rescue image of the same size: where the incomplete snapshot differs
/// from the whole one before it, and from what the image holds now.
///
/// Where a snapshot of a user came with the copy, the incomplete snapshot reads
/// as a mixture. What is complete then is the state before the last complete
/// copy, which the snapshot of that one reads as; that is saved in its place.
///
// clang-format off
///   step of the record, see replication/look/rescue_record.h; who goes on, and how:
///   see rescue_save.cc, rescue_restore.cc
///
///   "saving"                Save(): SaveSnapshot(), SaveStateBefore()
///     │                       "finding what the interrupted copy has changed"
///     │                       "saving the last complete state"
///   "saved"                 BeginPromotion()
///     │
///   "promoting"             librbd's forced promotion, by the caller; Promoted()
///   "promoting a marked copy"   likewise, after MarkCopy(); or TakeMarkBack()
///                             "noting the interrupted copy as complete"
///     │                       (or SaveHalfCopy() after it)
///     │                     Restore(): RestoreImage() removes half a copy
///     │                       AwaitNoWorkload()   see replication/write_back.h
///     │                       "waiting until nobody has the image open"
///     │                       "finding what was written since the promotion"
///     ├──> "written since"  RefuseToOverwrite(): an administrator decides
///     │                       ├─ keep ─────────────────────────────────────────────┐
///     │                       └─ restore: goes on                                  │
///     │                       "bringing the last complete state back"              │
///   "whole"                 AwaitSnapshotTurn()                                    │
///     │                       "making a mirror snapshot of the last complete state"│
///   "restored" <───────────────────────────────────────────────────────────────────┘
///                           Remove(): "removing the rescue image"
///
///   AwaitSlot()         "waiting until the rescue of another image has ended"
///   OpenRescueImage()   "locking the rescue image"
///   KeepCopyingEnded()  as long as Save() copies
// clang-format on
///
/// Each step can die at any moment and is begun again by a retry, which knows
/// from the record of the rescue image how far it is. The exclusive lock of the
/// rescue image keeps other processes out from Save() to the end, that of the
/// image keeps workloads out during Restore().
///
/// Call within a mutation. One thread.
class Rescue {
 public:
  /// Nothing is owned.
  explicit Rescue(Session& session);
  ~Rescue();
  Rescue(const Rescue&) = delete;
  Rescue& operator=(const Rescue&) = delete;

  /// Whether this object has saved what `view` shows as the last complete
  /// state, and nobody has had the image's lock since, so that the ranges are
  /// still those that differ.
  absl::StatusOr<bool> Saved(const MirrorView& view);

  /// With the copying ended, which it keeps up. OK also when the image looks
  /// different by now and nothing was saved: look again. UNAVAILABLE: another
  /// process works on it, the pool is full (the rescue image has been removed),
  /// or that state is larger than what can be read of it.
  absl::Status Save(const MirrorView& view);

  /// Before each promotion, after Save() by this or an earlier process. The
  /// record as it is from now on.
  absl::StatusOr<RescueRecord> BeginPromotion(const MirrorView& view);

  /// Right before librbd's forced promotion, with the copying ended: where a
  /// snapshot of a user came with the copy (RescueStep::kMarked), notes the
  /// copy as complete, as `view` then shows. librbd leaves the image as it is
  /// then; otherwise 16.2 dies. false: the copy is not what was seen.
  absl::StatusOr<bool> MarkCopy(MirrorView* view);
  /// The image is not primary: takes that back, before an rbd-mirror goes on
  /// from there. Does nothing where nothing is marked.
  absl::Status TakeMarkBack();

  /// After the promotion, with what it looks like.
  absl::Status Promoted(const MirrorView& view);

  /// With the image primary, and UnsavedHalfCopy(): saves what that reads as,
  /// and keeps the copying ended meanwhile, so that no peer takes half a
  /// demotion for a whole one. The record, which Restore() goes by. UNAVAILABLE
  /// as for Save().
  absl::StatusOr<RescueRecord> SaveHalfCopy(const MirrorView& view);

  /// With the image primary. OK: it holds the last complete state, or an
  /// administrator wants to keep what it holds. UNAVAILABLE: it was written to
  /// since the promotion, or is in use.
  absl::Status Restore();

  /// For other images; nothing is under way.
  void ReleaseSlot() { slot_ = nullptr; }
  /// Removes the rescue image. OK also when a client that died still counts as
  /// having it open: the next call removes it.
  absl::Status Remove();

 private:
  /// What rbd-mirror may do meanwhile.
  enum class Copying { kKeepEnded, kMayGoOn };

  absl::Status AwaitSlot();
  absl::Status OpenPool();
  /// Opens and locks it and reads its record. NOT_FOUND: there is none.
  absl::Status OpenRescueImage();
  absl::Status CreateRescueImage(const ImageLayout& layout);
  /// Of the image in mid-copy.
  struct HalfCopy {
    std::unique_ptr<Image> image;  // read-only, at the incomplete snapshot
    ImageLayout layout;            // at the whole one before it
    uint64_t incomplete_bytes = 0;
    std::optional<ImageParent> parent_before;  // at the whole one
    std::optional<ImageParent> parent_then;    // at the incomplete one
    /// A snapshot of a user came with it: the whole one is the state.
    bool from_before = false;
  };
  absl::StatusOr<HalfCopy> ReadHalfCopy(const MirrorView& view,
                                        const MirrorSnapshot& wanted,
                                        const MirrorSnapshot& whole);
  absl::Status SaveSnapshot(const MirrorView& view,
                            const MirrorSnapshot& wanted,
                            const MirrorSnapshot& whole);
  /// What changes when somebody copies on.
  absl::StatusOr<std::string> CopyState(const MirrorView& view);
  /// From time to time: rbd-mirror comes back with new clients.
  absl::Status KeepCopyingEnded();
  absl::Status RefuseWhileInUse(Image& image);
  absl::Status RestoreImage(Image& image, const MirrorView& view,
                            bool overwrite);
  absl::StatusOr<bool> WrittenSince(Image& image, const MirrorView& view,
                                    const std::vector<ImageRange>& ranges);
  absl::Status RefuseToOverwrite();
  /// For FindChanged() and CopyBack().
  WriteBack Writing(Copying keep_ended);
  /// Copies them into the rescue image, and notes them there and in `record`.
  absl::Status SaveRanges(const ReadRangesFn& source,
                          const std::vector<ImageRange>& ranges,
                          RescueRecord* record);
  absl::Status SaveStateBefore(const ImageLayout& layout,
                               const MirrorSnapshot& state,
                               const std::vector<ImageRange>& ranges,
                               RescueRecord* record);
  absl::Status RemoveHalfUserSnapshots(Image& image, const MirrorView& view);
  absl::Status SetRecord(const RescueRecord& record);
  absl::Status SetStep(RescueStep step);
  /// SetRecord(), and gives the rescue image the size that it says.
  absl::Status BeginRecord(const RescueRecord& record);
  absl::Status Failed(absl::string_view reason) const;
  /// Another process was quicker; a retry sees what is there now.
  absl::Status JustChanged() const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  Session& session_;
  const ImageName rescue_name_;
  Slots::Slot slot_;
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<Image> rescue_image_;  // open and locked
  RescueRecord record_;                  // of rescue_image_
  std::string saved_state_;              // CopyState() of what was saved
  bool promoted_here_ = false;           // by the process that saved it
  SteadyTime copying_checked_at_;
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_CEPH_FAULTS_RESCUE_H_
