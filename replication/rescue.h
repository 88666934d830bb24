#ifndef ADDONS_REPLICATION_RESCUE_H_
#define ADDONS_REPLICATION_RESCUE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ceph/image.h"
#include "ceph/pool.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/mirror_view.h"
#include "replication/rescue_record.h"
#include "replication/rescue_slots.h"
#include "replication/session.h"

namespace addons {

/// A forced promotion in the middle of a copy (docs/adr/0001). The incomplete
/// mirror snapshot reads as the last whole state, and librbd's forced promotion
/// does not return to it. So that state is kept in a rescue image meanwhile:
///
///   Save()              the rescue image gets the last whole state     "saved"
///   BeginPromotion()    from here on the rescue image is what counts
///                                                                  "promoting"
///   forced promotion    by the caller
///   Restore()           half a copy is removed, the image gets that state
///                       back, and a mirror snapshot of it is made   "restored"
///                       the rescue image is removed
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
  Rescue(OperationContext& context, ReplicationEnvironment& environment,
         Session& session);
  ~Rescue();
  Rescue(const Rescue&) = delete;
  Rescue& operator=(const Rescue&) = delete;

  /// This object has saved the state that `view` shows as the last whole one.
  bool Saved(const MirrorView& view) const;

  /// OK also when the image looks different by now and nothing was saved:
  /// look again. UNAVAILABLE: another process works on it, or the pool is full
  /// (the rescue image has been removed).
  absl::Status Save(const MirrorView& view);

  /// Before each promotion, after Save() by this or an earlier process. The
  /// record as it is from now on.
  absl::StatusOr<RescueRecord> BeginPromotion();

  /// With the image primary. OK: it holds the last whole state.
  absl::Status Restore();

  /// Removes the rescue image. OK also when a client that died still counts as
  /// having it open: the next call removes it.
  absl::Status Remove();

 private:
  absl::Status AwaitSlot();
  absl::Status OpenPool();
  /// Opens and locks it and reads its record. NOT_FOUND: there is none.
  absl::Status OpenRescueImage();
  absl::Status CreateRescueImage(uint64_t snapshot_id);
  absl::Status SaveSnapshot(const MirrorView& view, uint64_t snapshot_id);
  absl::Status AwaitNoWorkload(Image& image);
  absl::Status RestoreImage(Image& image, const MirrorView& view);
  absl::Status Copy(Image& source, Image& target, absl::string_view what);
  absl::Status SetRecord(const RescueRecord& record);
  absl::Status Failed(absl::string_view reason) const;
  /// Another process was quicker; a retry sees what is there now.
  absl::Status JustChanged() const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  Session& session_;
  const std::string rescue_name_;
  RescueSlots::Slot slot_;
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<Image> rescue_image_;  // open and locked
  RescueRecord record_;                  // of rescue_image_
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_RESCUE_H_
