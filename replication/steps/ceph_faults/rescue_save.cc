// How a rescue keeps the state to return to:
// replication/steps/ceph_faults/rescue.h
#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/raw_snapshot.h"
#include "replication/steps/ceph_faults/eviction.h"
#include "replication/steps/ceph_faults/rescue.h"

namespace addons {
namespace {

/// How an object that is not there reads, in an image that has these parents in
/// the states concerned.
AbsentObject AbsentIn(const std::vector<std::optional<ImageParent>>& parents,
                      bool resized) {
  const auto one_of = [](const std::optional<ImageParent>& parent) {
    return parent.has_value() ? parent->image_id : "";
  };
  const std::string first = one_of(parents.front());
  const bool same =
      std::all_of(parents.begin(), parents.end(),
                  [&](const auto& parent) { return one_of(parent) == first; });
  if (!same) return AbsentObject::kUnclear;
  if (first.empty()) return AbsentObject::kZeros;
  return resized ? AbsentObject::kUnclear : AbsentObject::kParent;
}

/// `record` says that a rescue image holds this state, read at `state_id`.
bool IsSaved(const RescueRecord& record, const std::string& image_id,
             uint64_t snapshot_id, uint64_t state_id) {
  return record.image_id == image_id && record.snapshot_id == snapshot_id &&
         record.state_snapshot_id == state_id &&
         (record.step == RescueStep::kSaved ||
          record.step == RescueStep::kPromoting ||
          record.step == RescueStep::kMarked);
}

/// What of the image is not in the state to return to after the promotion.
/// librbd leaves the image as it is where the copy is marked.
std::vector<ImageStates> Differing(uint64_t whole, uint64_t incomplete,
                                   bool marked, AbsentObject absent) {
  if (marked) return {{whole, kHead, absent}};
  return {{whole, incomplete, absent}, {incomplete, kHead, absent}};
}

}  // namespace

// Whoever copies has the lock of the image first, and keeps it. Where the image
// has no lock, the copied count must do.
absl::StatusOr<std::string> Rescue::CopyState(const MirrorView& view) {
  const MirrorSnapshot* snapshot = RescueSnapshot(view);
  if (snapshot == nullptr) return std::string("not in mid-copy");
  std::string state = absl::StrCat(view.image_id, "/", snapshot->id, "/",
                                   snapshot->last_copied_object);
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> image,
      session_.reads->OpenImageReadOnly(session_.volume.image_name()));
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Locker> lockers, image->Lockers());
  ADDONS_RETURN_IF_ERROR(image->Close());
  for (const Locker& locker : lockers) {
    absl::StrAppend(&state, "/", locker.client, " ", locker.cookie);
  }
  return state;
}

absl::StatusOr<bool> Rescue::Saved(const MirrorView& view) {
  if (rescue_image_ == nullptr || saved_state_.empty() ||
      !RescueIsLive(record_, view)) {
    return false;
  }
  if (record_.step != RescueStep::kSaved &&
      record_.step != RescueStep::kPromoting &&
      record_.step != RescueStep::kMarked) {
    return false;
  }
  ADDONS_ASSIGN_OR_RETURN(const std::string state, CopyState(view));
  return state == saved_state_;
}

absl::Status Rescue::SaveRanges(const ReadRangesFn& source,
                                const std::vector<ImageRange>& ranges,
                                RescueRecord* record) {
  ADDONS_RETURN_IF_ERROR(CopyBack(Writing(Copying::kKeepEnded), source,
                                  *rescue_image_, ranges,
                                  "saving the last complete state"));
  return WriteRescueRanges(*rescue_image_, ranges, record);
}

/// `state` is read where the objects are, because its object map is wrong.
absl::Status Rescue::SaveStateBefore(const ImageLayout& layout,
                                     const MirrorSnapshot& state,
                                     const std::vector<ImageRange>& ranges,
                                     RescueRecord* record) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> data,
                          OpenDataPool(session_, layout));
  RawSnapshot source(layout, *data, state.id);
  ADDONS_RETURN_IF_ERROR(SaveRanges(Reading(source), ranges, record));
  // What did not change since may be all that it holds.
  for (uint64_t at = 0; !source.found() && at < record->bytes;) {
    const uint64_t length = std::min(layout.object_bytes, record->bytes - at);
    ADDONS_RETURN_IF_ERROR(source.Read({{at, length}}).status());
    at += length;
  }
  if (source.found()) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(Remove());
  return Failed(
      "a copy has arrived in part that brought a snapshot of the other site "
      "with it, and before the last complete copy this site held nothing; let "
      "the copy become complete (start the other site and rbd-mirror here "
      "again), or see docs/runbooks/snapshot-in-mid-copy.md");
}

absl::StatusOr<Rescue::HalfCopy> Rescue::ReadHalfCopy(
    const MirrorView& view, const MirrorSnapshot& wanted,
    const MirrorSnapshot& whole) {
  HalfCopy copy;
  ADDONS_ASSIGN_OR_RETURN(
      copy.image, pool_->OpenImageReadOnly(session_.volume.image_name()));
  // Its size came with the copy that made it whole.
  ADDONS_RETURN_IF_ERROR(copy.image->SelectSnapshot(whole.id));
  ADDONS_ASSIGN_OR_RETURN(copy.layout, copy.image->Layout());
  const uint64_t bytes = copy.layout.bytes;
  ADDONS_ASSIGN_OR_RETURN(copy.parent_before, copy.image->Parent());
  ADDONS_RETURN_IF_ERROR(copy.image->SelectSnapshot(wanted.id));
  ADDONS_ASSIGN_OR_RETURN(const ImageLayout reads_as, copy.image->Layout());
  copy.incomplete_bytes = reads_as.bytes;
  ADDONS_ASSIGN_OR_RETURN(copy.parent_then, copy.image->Parent());
  const ImageSnapshot* const of_user = UserSnapshotInMidCopy(view);
  copy.from_before = of_user != nullptr;
  if (copy.from_before &&
      (copy.parent_before.has_value() || copy.parent_then.has_value())) {
    return Failed(DescribeUserSnapshotInMidCopy(*of_user));
  }
  if (!copy.from_before && reads_as.bytes < bytes) {
    return Failed(absl::StrCat(
        "the copy that has arrived in part makes the image smaller, and the "
        "last complete state could be brought back without its last ",
        bytes - reads_as.bytes, " bytes only; nothing was changed; let the ",
        "copy become complete (start the other site and rbd-mirror here "
        "again)"));
  }
  return copy;
}

absl::Status Rescue::SaveSnapshot(const MirrorView& view,
                                  const MirrorSnapshot& wanted,
                                  const MirrorSnapshot& whole) {
  copying_checked_at_ = context_.clock().Now();
  ADDONS_ASSIGN_OR_RETURN(const HalfCopy copy,
                          ReadHalfCopy(view, wanted, whole));
  ImageLayout layout = copy.layout;
  const uint64_t bytes = layout.bytes;
  ADDONS_RETURN_IF_ERROR(CreateRescueImage(layout));

  // Somebody else may have gone on before this process had the lock.
  ADDONS_ASSIGN_OR_RETURN(MirrorView now, Look(session_));
  const auto still_wanted = [&](MirrorView& seen) {
    ShowMarked(record_, &seen);
    const MirrorSnapshot* snapshot = RescueSnapshot(seen);
    return !seen.info.primary && snapshot != nullptr &&
           snapshot->id == wanted.id && seen.image_id == view.image_id &&
           WholeBeforeRescue(seen)->id == whole.id;
  };
  if (!still_wanted(now)) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const std::string state, CopyState(now));
  RescueRecord record = record_;
  const uint64_t state_id = copy.from_before ? whole.id : 0;
  const bool goes_on = IsSaved(record, view.image_id, wanted.id, state_id);
  if (!goes_on) {
    record.step = RescueStep::kSaving;
    record.image_id = view.image_id;
    record.snapshot_id = wanted.id;
    record.state_snapshot_id = state_id;
    record.bytes = bytes;
    record.promotion_snapshot_id = 0;
    ADDONS_RETURN_IF_ERROR(BeginRecord(record));
  }

  layout.bytes = std::max({bytes, copy.incomplete_bytes, now.size.bytes});
  // How much of the parent shows is cut when an image shrinks, also for a
  // while.
  const bool resized =
      bytes != copy.incomplete_bytes || bytes != now.size.bytes;
  const AbsentObject absent =
      AbsentIn({copy.parent_before, copy.parent_then, now.parent}, resized);
  ADDONS_ASSIGN_OR_RETURN(
      const std::vector<ImageRange> ranges,
      FindChanged(Writing(Copying::kKeepEnded), layout,
                  Differing(whole.id, wanted.id, copy.from_before, absent),
                  bytes, "finding what the interrupted copy has changed"));
  Log().warn(
      "a snapshot has arrived in part: saving what the last complete state "
      "needs before the forced promotion volume={} snapshot={} bytes={} "
      "rescue_image='{}'",
      Quoted(session_.volume.volume_id.text()), wanted.id, TotalBytes(ranges),
      rescue_name_.text());
  if (copy.from_before) {
    ADDONS_RETURN_IF_ERROR(SaveStateBefore(layout, whole, ranges, &record));
  } else {
    ADDONS_RETURN_IF_ERROR(SaveRanges(Reading(*copy.image), ranges, &record));
  }
  ADDONS_RETURN_IF_ERROR(copy.image->Close());
  // A snapshot that was completed meanwhile may have been removed meanwhile,
  // and then reads as zeros.
  ADDONS_ASSIGN_OR_RETURN(MirrorView after, Look(session_));
  if (!still_wanted(after)) return absl::OkStatus();
  if (!goes_on) record.step = RescueStep::kSaved;
  ADDONS_RETURN_IF_ERROR(SetRecord(record));
  saved_state_ = state;
  return absl::OkStatus();
}

absl::Status Rescue::Save(const MirrorView& view) {
  const MirrorSnapshot* wanted = RescueSnapshot(view);
  const MirrorSnapshot* whole = WholeBeforeRescue(view);
  if (wanted == nullptr || whole == nullptr) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(AwaitSlot());
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  ADDONS_RETURN_IF_ERROR(OpenPool());
  absl::Status saved = SaveSnapshot(view, *wanted, *whole);
  if (saved.code() != absl::StatusCode::kResourceExhausted) return saved;
  // What a promotion that has begun may need stays.
  const absl::Status removed =
      record_.step == RescueStep::kSaving ? Remove() : absl::OkStatus();
  return Failed(absl::StrCat(
      "there is no space to keep the last complete state meanwhile, which "
      "takes as much as the last two copies have changed; nothing was changed; "
      "free space in the pool or raise its quota, then repeat the call (",
      saved.message(), ")",
      removed.ok() ? "" : absl::StrCat("; ", removed.message())));
}

// What the image was rolled back to is gone, and with it the size of the state
// that is wanted: the incomplete snapshot has that of the copy, if it differs.
absl::StatusOr<RescueRecord> Rescue::SaveHalfCopy(const MirrorView& view) {
  const MirrorSnapshot* const half = UnsavedHalfCopy(view, std::nullopt);
  if (half == nullptr) return JustChanged();
  Log().warn(
      "a copy began between the look and the forced promotion; what was whole "
      "before is brought back volume={} snapshot={}",
      Quoted(session_.volume.volume_id.text()), half->id);
  ADDONS_RETURN_IF_ERROR(AwaitSlot());
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  ADDONS_RETURN_IF_ERROR(OpenPool());
  ADDONS_RETURN_IF_ERROR(EndCopying(session_, /*others_alive=*/false));
  copying_checked_at_ = context_.clock().Now();
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> source,
      pool_->OpenImageReadOnly(session_.volume.image_name()));
  ADDONS_RETURN_IF_ERROR(source->SelectSnapshot(half->id));
  ADDONS_ASSIGN_OR_RETURN(ImageLayout layout, source->Layout());
  ADDONS_ASSIGN_OR_RETURN(const auto parent, source->Parent());
  ADDONS_RETURN_IF_ERROR(CreateRescueImage(layout));
  // What another snapshot needed is of no use: that copy was completed since.
  RescueRecord record;
  record.image_id = view.image_id;
  record.snapshot_id = half->id;
  record.bytes = layout.bytes;
  record.ranges_generation = record_.ranges_generation;
  ADDONS_RETURN_IF_ERROR(BeginRecord(record));
  layout.bytes = std::max(record.bytes, view.size.bytes);
  const AbsentObject absent =
      AbsentIn({parent, view.parent}, record.bytes != view.size.bytes);
  ADDONS_ASSIGN_OR_RETURN(
      const std::vector<ImageRange> ranges,
      FindChanged(Writing(Copying::kKeepEnded), layout,
                  {{half->id, kHead, absent}}, record.bytes,
                  "finding what the interrupted copy has changed"));
  ADDONS_RETURN_IF_ERROR(SaveRanges(Reading(*source), ranges, &record));
  ADDONS_RETURN_IF_ERROR(source->Close());
  ADDONS_ASSIGN_OR_RETURN(const MirrorView after, Look(session_));
  const MirrorSnapshot* const still = UnsavedHalfCopy(after, record);
  if (still == nullptr || still->id != record.snapshot_id) {
    return JustChanged();
  }
  record.step = RescueStep::kPromoting;
  record.promotion_snapshot_id = PromotionSnapshot(record, after);
  ADDONS_RETURN_IF_ERROR(SetRecord(record));
  return record;
}

}  // namespace addons
