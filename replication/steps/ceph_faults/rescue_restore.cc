// How a rescue brings it back: replication/steps/ceph_faults/rescue.h
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"
#include "replication/steps/ceph_faults/rescue.h"

namespace addons {
namespace {

/// What of `ranges` lies within `within`, and what does not. All are ascending.
std::pair<std::vector<ImageRange>, std::vector<ImageRange>> Split(
    const std::vector<ImageRange>& ranges,
    const std::vector<ImageRange>& within) {
  std::pair<std::vector<ImageRange>, std::vector<ImageRange>> split;
  size_t next = 0;
  for (const ImageRange& range : ranges) {
    const uint64_t end = range.offset + range.length;
    for (uint64_t at = range.offset; at < end;) {
      while (next < within.size() &&
             within[next].offset + within[next].length <= at) {
        ++next;
      }
      const bool none_left = next == within.size();
      const bool inside = !none_left && within[next].offset <= at;
      const uint64_t until = inside ? within[next].offset + within[next].length
                                    : (none_left ? end : within[next].offset);
      const uint64_t length = std::min(until, end) - at;
      (inside ? split.first : split.second).push_back({at, length});
      at += length;
    }
  }
  return split;
}

}  // namespace

absl::Status Rescue::RefuseWhileInUse(Image& image) {
  return AwaitNoWorkload(
      session_, image, environment_.options.watch_timeout,
      [this](const std::string& clients) {
        return Failed(absl::StrCat(
            "it was promoted and must still get its last complete state back "
            "from image '",
            rescue_name_.text(), "', but is in use by ", clients,
            "; stop that workload, what it reads is not complete"));
      });
}

absl::Status Rescue::RefuseToOverwrite() {
  ADDONS_RETURN_IF_ERROR(SetStep(RescueStep::kWritten));
  return Failed(DescribeAwaitedRestore(record_, session_.volume.image_name(),
                                       pool_->Spec(rescue_name_)));
}

/// Whether something but the rescue itself has written to the image since its
/// promotion; `ranges` are where the rescue does. Exact: the OSDs know what
/// differs from the promotion's own snapshot.
absl::StatusOr<bool> Rescue::WrittenSince(
    Image& image, const MirrorView& view,
    const std::vector<ImageRange>& ranges) {
  ADDONS_ASSIGN_OR_RETURN(ImageLayout layout, image.Layout());
  const uint64_t promotion = PromotionSnapshot(record_, view);
  ADDONS_ASSIGN_OR_RETURN(
      const std::vector<ImageRange> written,
      FindChanged(Writing(Copying::kMayGoOn), layout,
                  {{promotion, kHead,
                    view.parent.has_value() ? AbsentObject::kParent
                                            : AbsentObject::kZeros}},
                  std::min(record_.bytes, layout.bytes),
                  "finding what was written since the promotion"));
  const auto [restored, other] = Split(written, ranges);
  const ImageCopyOptions& options = environment_.options.rescue_copy;
  ADDONS_ASSIGN_OR_RETURN(
      const bool ours,
      SameContent(Reading(*rescue_image_), image, restored, options));
  if (!ours) return true;
  // An object that became longer seems to differ where nothing was written.
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> before,
      pool_->OpenImageReadOnly(session_.volume.image_name()));
  ADDONS_RETURN_IF_ERROR(before->SelectSnapshot(promotion));
  ADDONS_ASSIGN_OR_RETURN(const bool untouched,
                          SameContent(Reading(*before), image, other, options));
  ADDONS_RETURN_IF_ERROR(before->Close());
  return !untouched;
}

/// Those that came with the copy.
absl::Status Rescue::RemoveHalfUserSnapshots(Image& image,
                                             const MirrorView& view) {
  if (record_.state_snapshot_id == 0) return absl::OkStatus();
  return RemoveSnapshotsNotWhole(
      session_, image,
      UserSnapshotsInMidCopy(view.other_snapshots, record_.state_snapshot_id,
                             record_.snapshot_id),
      {"a snapshot that had arrived in part",
       "a snapshot has arrived in part, is a mixture"});
}

absl::Status Rescue::RestoreImage(Image& image, const MirrorView& view,
                                  bool overwrite) {
  // First, because the peer may be back at any moment.
  for (const uint64_t snapshot_id : HalfCopies(view)) {
    ADDONS_RETURN_IF_ERROR(image.RemoveSnapshot(snapshot_id));
  }
  ADDONS_RETURN_IF_ERROR(RemoveHalfUserSnapshots(image, view));
  const bool to_write = record_.step != RescueStep::kWhole;
  // What a snapshot has that was made after the promotion is past knowing.
  if (to_write && !overwrite &&
      (view.Newest() == nullptr ||
       view.Newest()->id != PromotionSnapshot(record_, view))) {
    return RefuseToOverwrite();
  }
  ADDONS_RETURN_IF_ERROR(RefuseWhileInUse(image));
  ADDONS_RETURN_IF_ERROR(LockToWriteBack(Writing(Copying::kMayGoOn), image));
  if (to_write) {
    ADDONS_ASSIGN_OR_RETURN(const std::vector<ImageRange> ranges,
                            ReadRescueRanges(*rescue_image_, record_));
    if (!overwrite && !promoted_here_) {
      ADDONS_ASSIGN_OR_RETURN(const bool written,
                              WrittenSince(image, view, ranges));
      if (written) return RefuseToOverwrite();
    }
    ADDONS_ASSIGN_OR_RETURN(const ImageSize size, image.Size());
    if (size.bytes != record_.bytes) {
      ADDONS_RETURN_IF_ERROR(image.Resize(record_.bytes));
    }
    ADDONS_RETURN_IF_ERROR(CopyBack(Writing(Copying::kMayGoOn),
                                    Reading(*rescue_image_), image, ranges,
                                    "bringing the last complete state back"));
    ADDONS_RETURN_IF_ERROR(SetStep(RescueStep::kWhole));
  }
  ADDONS_ASSIGN_OR_RETURN(const auto peers, session_.reads->MirrorPeers());
  if (HasReceivingPeer(peers)) {
    // The one of the promotion holds what librbd made of the image.
    ADDONS_RETURN_IF_ERROR(AwaitSnapshotTurn(
        session_, view.image_id,
        Failed("it has its last complete state back, whose mirror snapshot is "
               "made when the manager makes none; this continues in the "
               "background; repeat the call for the result"),
        TurnWaits::kInPlace));
    context_.Step("making a mirror snapshot of the last complete state");
    ADDONS_RETURN_IF_ERROR(MakeMirrorSnapshot(session_, image));
  }
  // The lock kept others from writing, but not from reading and remembering
  // what was not whole yet.
  return RefuseWhileInUse(image);
}

absl::Status Rescue::Restore() {
  ADDONS_RETURN_IF_ERROR(AwaitSlot());
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  ADDONS_RETURN_IF_ERROR(OpenPool());
  const absl::Status opened = OpenRescueImage();
  if (absl::IsNotFound(opened)) return JustChanged();
  ADDONS_RETURN_IF_ERROR(opened);
  ADDONS_ASSIGN_OR_RETURN(MirrorView view, Look(session_));
  ShowMarked(record_, &view);
  if (!view.info.primary) return JustChanged();
  if (!AwaitsRestore(record_, view)) return Remove();
  ADDONS_ASSIGN_OR_RETURN(const auto decision,
                          rescue_image_->Metadata(kRescueDecision));
  if (decision == kKeepWhatWasWritten) {
    Log().warn(
        "an administrator keeps what was written to the image after its "
        "forced promotion; its last complete state is dropped volume={}",
        Quoted(session_.volume.volume_id.text()));
    return Remove();
  }
  if (decision.has_value() && decision != kOverwriteWhatWasWritten) {
    return Failed(absl::StrCat(
        "an administrator's decision about its rescue is not one that this "
        "version knows (",
        absl::CHexEscape(*decision),
        "), so nothing is changed; use a newer version of rbd-addons, or "
        "decide again with `rbd-addons rescue`"));
  }
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                          pool_->OpenImage(session_.volume.image_name()));
  const absl::Status restored = RestoreImage(
      *image, view, /*overwrite=*/decision == kOverwriteWhatWasWritten);
  const absl::Status closed = image->Close();
  if (restored.code() == absl::StatusCode::kResourceExhausted) {
    return Failed(absl::StrCat(
        "there is no space to bring its last complete state back, which image "
        "'",
        rescue_name_.text(),
        "' holds; free space in the pool or raise its quota, ",
        "then repeat the call (", restored.message(), ")"));
  }
  ADDONS_RETURN_IF_ERROR(restored);
  ADDONS_RETURN_IF_ERROR(closed);
  Log().info("the image has its last complete state back volume={} snapshot={}",
             Quoted(session_.volume.volume_id.text()), record_.snapshot_id);
  return Remove();
}

}  // namespace addons
