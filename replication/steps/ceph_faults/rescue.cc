#include "replication/steps/ceph_faults/rescue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "replication/steps/ceph_faults/eviction.h"
#include "replication/steps/ceph_faults/stored_copy.h"

namespace addons {
Rescue::Rescue(Session& session)
    : context_(session.context),
      environment_(session.environment),
      session_(session),
      rescue_name_(RescueImageName(session.volume.image_name())) {}

Rescue::~Rescue() = default;

absl::Status Rescue::Failed(absl::string_view reason) const {
  return absl::UnavailableError(absl::StrCat(
      "Failed to promote ", session_.volume.Describe(), ": ", reason));
}

absl::Status Rescue::JustChanged() const {
  return Failed(
      "another process has just changed the image or its rescue image; repeat "
      "the call");
}

absl::Status Rescue::AwaitSlot() {
  if (slot_ != nullptr) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(
      slot_,
      addons::AwaitSlot(
          session_,
          Failed("other images are being brought back to their last complete "
                 "state, this one waits for its turn; repeat the call")));
  return absl::OkStatus();
}

absl::Status Rescue::OpenPool() {
  if (pool_ != nullptr) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(pool_, session_.volume.OpenPool(Access::kMutate));
  return absl::OkStatus();
}

absl::Status Rescue::OpenRescueImage() {
  if (rescue_image_ != nullptr) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(std::unique_ptr<Image> image,
                          pool_->OpenImage(rescue_name_));
  context_.Step("locking the rescue image");
  const absl::Status locked = image->AcquireLock(LockMode::kExclusive);
  if (HeldByAnother(locked)) {
    return Failed(absl::StrCat("another process is bringing it back to its ",
                               "last complete state; repeat the call (",
                               locked.message(), ")"));
  }
  ADDONS_RETURN_IF_ERROR(locked);
  ADDONS_ASSIGN_OR_RETURN(record_, ReadRescueRecord(*image));
  rescue_image_ = std::move(image);
  return absl::OkStatus();
}

absl::Status Rescue::CreateRescueImage(const ImageLayout& layout) {
  absl::Status opened = OpenRescueImage();
  if (!absl::IsNotFound(opened)) return opened;
  // What a removal that died has left of it.
  ADDONS_RETURN_IF_ERROR(pool_->RemoveImage(rescue_name_));
  absl::Status created = pool_->CreateImage(rescue_name_, layout);
  if (!created.ok() && !absl::IsAlreadyExists(created)) return created;
  return OpenRescueImage();
}

absl::Status Rescue::SetRecord(const RescueRecord& record) {
  ADDONS_RETURN_IF_ERROR(WriteRescueRecord(*rescue_image_, record));
  record_ = record;
  return absl::OkStatus();
}

absl::Status Rescue::SetStep(RescueStep step) {
  RescueRecord record = record_;
  record.step = step;
  return SetRecord(record);
}

absl::Status Rescue::KeepCopyingEnded() {
  constexpr std::chrono::seconds kCheckEvery{2};
  const SteadyTime now = context_.clock().Now();
  if (now - copying_checked_at_ < kCheckEvery) return absl::OkStatus();
  copying_checked_at_ = now;
  return EndCopying(session_, /*others_alive=*/false);
}

WriteBack Rescue::Writing(Copying keep_ended) {
  WriteBack work{session_,
                 [this](absl::string_view reason) { return Failed(reason); }};
  if (keep_ended == Copying::kKeepEnded) {
    work.beside = [this] { return KeepCopyingEnded(); };
  }
  return work;
}

absl::Status Rescue::BeginRecord(const RescueRecord& record) {
  ADDONS_RETURN_IF_ERROR(SetRecord(record));
  ADDONS_ASSIGN_OR_RETURN(const ImageSize size, rescue_image_->Size());
  return size.bytes == record.bytes ? absl::OkStatus()
                                    : rescue_image_->Resize(record.bytes);
}

absl::StatusOr<RescueRecord> Rescue::BeginPromotion(const MirrorView& view) {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  ADDONS_RETURN_IF_ERROR(OpenPool());
  const absl::Status opened = OpenRescueImage();
  if (absl::IsNotFound(opened)) return JustChanged();
  ADDONS_RETURN_IF_ERROR(opened);
  if (record_.step == RescueStep::kPromoting ||
      // Demoted by hand since; what is missing is missing still.
      record_.step == RescueStep::kWritten ||
      record_.step == RescueStep::kWhole) {
    return record_;
  }
  const bool marked = record_.step == RescueStep::kMarked;
  if (record_.step != RescueStep::kSaved && !marked) return JustChanged();
  RescueRecord record = record_;
  record.step = RescueStep::kPromoting;
  record.promotion_snapshot_id = 0;
  if (record.state_snapshot_id != 0) {
    record.step = RescueStep::kMarked;
    const MirrorSnapshot* const copy = RescueSnapshot(view);
    if (copy != nullptr) record.marked_objects = copy->last_copied_object;
    if (marked && record.marked_objects == record_.marked_objects) {
      return record;
    }
  }
  ADDONS_RETURN_IF_ERROR(SetRecord(record));
  return record;
}

absl::StatusOr<bool> Rescue::MarkCopy(MirrorView* view) {
  if (record_.step != RescueStep::kMarked) return true;
  context_.Step("noting the interrupted copy as complete");
  ADDONS_ASSIGN_OR_RETURN(const bool marked,
                          MarkCopyComplete(*session_.reads, *pool_, record_));
  if (!marked) {
    ADDONS_RETURN_IF_ERROR(SetStep(RescueStep::kSaved));
    return false;
  }
  for (MirrorSnapshot& snapshot : view->snapshots) {
    if (snapshot.id == record_.snapshot_id) snapshot.complete = true;
  }
  return true;
}

absl::Status Rescue::TakeMarkBack() {
  if (record_.step != RescueStep::kMarked) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const bool unmarked,
                          UnmarkCopy(*session_.reads, *pool_, record_));
  // What rbd-mirror has made of it is not complete: MarkedCopyWentOn().
  return unmarked ? SetStep(RescueStep::kSaved) : absl::OkStatus();
}

absl::Status Rescue::Promoted(const MirrorView& view) {
  ADDONS_RETURN_IF_ERROR(OpenPool());
  const absl::Status opened = OpenRescueImage();
  if (absl::IsNotFound(opened)) return JustChanged();
  ADDONS_RETURN_IF_ERROR(opened);
  RescueRecord record = record_;
  if (record.step != RescueStep::kPromoting &&
      record.step != RescueStep::kMarked) {
    return absl::OkStatus();
  }
  record.promotion_snapshot_id = PromotionSnapshot(record, view);
  promoted_here_ = true;
  return SetRecord(record);
}

absl::Status Rescue::Remove() {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  ADDONS_RETURN_IF_ERROR(OpenPool());
  const absl::Status opened = OpenRescueImage();
  if (!absl::IsNotFound(opened)) {
    ADDONS_RETURN_IF_ERROR(opened);
    // First, so that nobody takes half of it for a state to go back to.
    ADDONS_RETURN_IF_ERROR(SetStep(RescueStep::kRestored));
    const std::unique_ptr<Image> image = std::move(rescue_image_);
    ADDONS_RETURN_IF_ERROR(image->Close());
  }
  slot_ = nullptr;
  context_.Step("removing the rescue image");
  context_.SetPending(absl::OkStatus());
  absl::Status removed;
  ADDONS_RETURN_IF_ERROR(WhileBusy(
      session_, [this] { return pool_->RemoveImage(rescue_name_); }, &removed));
  if (!removed.ok()) {
    Log().warn(
        "a rescue image that is not needed any more was not removed, the next "
        "promotion of this volume does it: {}",
        removed.ToString());
  }
  return absl::OkStatus();
}

}  // namespace addons
