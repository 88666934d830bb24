#include "replication/steps/rescue.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/image_copy.h"
#include "ceph/mirror_clients.h"
#include "replication/steps/mirror_client_eviction.h"
#include "replication/steps/mirror_snapshot.h"

namespace addons {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

bool HeldByAnother(const absl::Status& status) {
  const int error = CephErrno(status);
  return error == EBUSY || error == EROFS || error == EAGAIN;
}

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

}  // namespace

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

absl::StatusOr<bool> Rescue::Saved(const MirrorView& view) {
  if (rescue_image_ == nullptr || saved_state_.empty() ||
      !RescueIsLive(record_, view)) {
    return false;
  }
  if (record_.step != RescueStep::kSaved &&
      record_.step != RescueStep::kPromoting) {
    return false;
  }
  ADDONS_ASSIGN_OR_RETURN(const std::string state, CopyState(view));
  return state == saved_state_;
}

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

absl::Status Rescue::AwaitSlot() {
  while (slot_ == nullptr) {
    slot_ = environment_.rescue_slots.TryTake();
    if (slot_ != nullptr) break;
    context_.Step("waiting until the rescue of another image has ended");
    context_.SetPending(Failed(
        "other images are being brought back to their last complete state, "
        "this one waits for its turn; repeat the call"));
    ADDONS_RETURN_IF_ERROR(
        context_.SleepFor(environment_.options.poll_interval));
  }
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
  const absl::Status locked = image->AcquireLock();
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

absl::Status Rescue::KeepCopyingEnded() {
  constexpr std::chrono::seconds kCheckEvery{2};
  const SteadyTime now = context_.clock().Now();
  if (now - copying_checked_at_ < kCheckEvery) return absl::OkStatus();
  copying_checked_at_ = now;
  return EndCopying(session_, /*others_alive=*/false);
}

absl::StatusOr<std::vector<ImageRange>> Rescue::Changed(
    const ImageLayout& layout, const std::vector<ImageStates>& states,
    uint64_t bytes, absl::string_view what, Copying keep_ended) {
  context_.Step(what);
  // The objects may be in another pool; reads of them have a bound here.
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> data,
      session_.cluster().OpenPool(layout.data_pool_id,
                                  session_.reads->rados_namespace(),
                                  Access::kRead));
  return ChangedRanges(
      *data, layout, states, bytes, [&](uint64_t done, uint64_t total) {
        context_.Progress(done, total);
        context_.SetPending(
            Failed(absl::StrCat(what, ", ", done, " of ", total,
                                " objects done; this continues in the "
                                "background; repeat the call for the result")));
        if (keep_ended == Copying::kKeepEnded) {
          ADDONS_RETURN_IF_ERROR(KeepCopyingEnded());
        }
        return context_.SleepFor(SteadyDuration::zero());
      });
}

absl::Status Rescue::Copy(Image& source, Image& target,
                          const std::vector<ImageRange>& ranges,
                          absl::string_view what, Copying keep_ended) {
  context_.Step(what);
  return CopyRanges(
      source, target, ranges, environment_.options.rescue_copy,
      [&](uint64_t done, uint64_t total) {
        context_.Progress(done, total);
        context_.SetPending(Failed(absl::StrCat(
            what, ", ", done / kMebibyte, " of ", total / kMebibyte,
            " MiB done; this continues in the background; repeat the call for "
            "the result")));
        if (keep_ended == Copying::kKeepEnded) {
          ADDONS_RETURN_IF_ERROR(KeepCopyingEnded());
        }
        // Told to stop: everything that was done so far is of use to a retry.
        return context_.SleepFor(SteadyDuration::zero());
      });
}

absl::Status Rescue::BeginRecord(const RescueRecord& record) {
  ADDONS_RETURN_IF_ERROR(SetRecord(record));
  ADDONS_ASSIGN_OR_RETURN(const ImageSize size, rescue_image_->Size());
  return size.bytes == record.bytes ? absl::OkStatus()
                                    : rescue_image_->Resize(record.bytes);
}

absl::Status Rescue::SaveRanges(Image& source,
                                const std::vector<ImageRange>& ranges,
                                RescueRecord* record) {
  ADDONS_RETURN_IF_ERROR(Copy(source, *rescue_image_, ranges,
                              "saving the last complete state",
                              Copying::kKeepEnded));
  ADDONS_RETURN_IF_ERROR(source.Close());
  return WriteRescueRanges(*rescue_image_, ranges, record);
}

absl::Status Rescue::SaveSnapshot(const MirrorView& view,
                                  const MirrorSnapshot& wanted,
                                  const MirrorSnapshot& whole) {
  copying_checked_at_ = context_.clock().Now();
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> source,
      pool_->OpenImageReadOnly(session_.volume.image_name()));
  // Its size came with the copy that made it whole.
  ADDONS_RETURN_IF_ERROR(source->SelectSnapshot(whole.id));
  ADDONS_ASSIGN_OR_RETURN(ImageLayout layout, source->Layout());
  const uint64_t bytes = layout.bytes;
  ADDONS_ASSIGN_OR_RETURN(const auto parent_before, source->Parent());
  ADDONS_RETURN_IF_ERROR(source->SelectSnapshot(wanted.id));
  ADDONS_ASSIGN_OR_RETURN(const ImageLayout reads_as, source->Layout());
  ADDONS_ASSIGN_OR_RETURN(const auto parent_then, source->Parent());
  if (reads_as.bytes < bytes) {
    return Failed(absl::StrCat(
        "the copy that has arrived in part makes the image smaller, and the "
        "last complete state could be brought back without its last ",
        bytes - reads_as.bytes, " bytes only; nothing was changed; let the ",
        "copy become complete (start the other site and rbd-mirror here "
        "again)"));
  }
  ADDONS_RETURN_IF_ERROR(CreateRescueImage(layout));

  // Somebody else may have gone on before this process had the lock.
  ADDONS_ASSIGN_OR_RETURN(const MirrorView now, Look(session_));
  const auto still_wanted = [&](const MirrorView& seen) {
    const MirrorSnapshot* snapshot = RescueSnapshot(seen);
    return !seen.info.primary && snapshot != nullptr &&
           snapshot->id == wanted.id && seen.image_id == view.image_id;
  };
  if (!still_wanted(now)) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const std::string state, CopyState(now));
  RescueRecord record = record_;
  const bool goes_on = record.image_id == view.image_id &&
                       record.snapshot_id == wanted.id &&
                       (record.step == RescueStep::kSaved ||
                        record.step == RescueStep::kPromoting);
  if (!goes_on) {
    record.step = RescueStep::kSaving;
    record.image_id = view.image_id;
    record.snapshot_id = wanted.id;
    record.bytes = bytes;
    record.promotion_snapshot_id = 0;
    ADDONS_RETURN_IF_ERROR(BeginRecord(record));
  }

  layout.bytes = std::max({bytes, reads_as.bytes, now.size.bytes});
  // How much of the parent shows is cut when an image shrinks, also for a
  // while.
  const bool resized = bytes != reads_as.bytes || bytes != now.size.bytes;
  const AbsentObject absent =
      AbsentIn({parent_before, parent_then, now.parent}, resized);
  ADDONS_ASSIGN_OR_RETURN(
      const std::vector<ImageRange> ranges,
      Changed(layout,
              {{whole.id, wanted.id, absent}, {wanted.id, kHead, absent}},
              bytes, "finding what the interrupted copy has changed",
              Copying::kKeepEnded));
  Log().warn(
      "a snapshot has arrived in part: saving what the last complete state "
      "needs before the forced promotion volume={} snapshot={} bytes={} "
      "rescue_image='{}'",
      Quoted(session_.volume.volume_id.text()), wanted.id, TotalBytes(ranges),
      rescue_name_.text());
  ADDONS_RETURN_IF_ERROR(SaveRanges(*source, ranges, &record));
  // A snapshot that was completed meanwhile may have been removed meanwhile,
  // and then reads as zeros.
  ADDONS_ASSIGN_OR_RETURN(const MirrorView after, Look(session_));
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
      Changed(layout, {{half->id, kHead, absent}}, record.bytes,
              "finding what the interrupted copy has changed",
              Copying::kKeepEnded));
  ADDONS_RETURN_IF_ERROR(SaveRanges(*source, ranges, &record));
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

absl::StatusOr<RescueRecord> Rescue::BeginPromotion() {
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
  if (record_.step != RescueStep::kSaved) return JustChanged();
  RescueRecord record = record_;
  record.step = RescueStep::kPromoting;
  record.promotion_snapshot_id = 0;
  ADDONS_RETURN_IF_ERROR(SetRecord(record));
  return record;
}

absl::Status Rescue::Promoted(const MirrorView& view) {
  ADDONS_RETURN_IF_ERROR(OpenPool());
  const absl::Status opened = OpenRescueImage();
  if (absl::IsNotFound(opened)) return JustChanged();
  ADDONS_RETURN_IF_ERROR(opened);
  RescueRecord record = record_;
  if (record.step != RescueStep::kPromoting) return absl::OkStatus();
  record.promotion_snapshot_id = PromotionSnapshot(record, view);
  promoted_here_ = true;
  return SetRecord(record);
}

/// One that died a moment ago still counts as one, but no daemon does that died
/// with the lease.
absl::Status Rescue::AwaitNoWorkload(Image& image) {
  const SteadyTime patience =
      context_.clock().Now() + environment_.options.watch_timeout;
  while (true) {
    ADDONS_ASSIGN_OR_RETURN(const ImageClients clients,
                            FindClients(session_, image));
    if (clients.workloads.empty()) return absl::OkStatus();
    absl::Status in_use = Failed(absl::StrCat(
        "it was promoted and must still get its last complete state back from "
        "image '",
        rescue_name_.text(), "', but is in use by ",
        DescribeWatchers(clients.workloads),
        "; stop that workload, what it reads is not complete"));
    if (context_.clock().Now() >= patience) return in_use;
    context_.Step("waiting until nobody has the image open");
    context_.SetPending(in_use);
    ADDONS_RETURN_IF_ERROR(
        context_.SleepFor(environment_.options.poll_interval));
  }
}

absl::Status Rescue::RefuseToOverwrite() {
  RescueRecord record = record_;
  record.step = RescueStep::kWritten;
  ADDONS_RETURN_IF_ERROR(SetRecord(record));
  return Failed(DescribeAwaitedRestore(record, session_.volume.image_name(),
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
      Changed(layout,
              {{promotion, kHead,
                view.parent.has_value() ? AbsentObject::kParent
                                        : AbsentObject::kZeros}},
              std::min(record_.bytes, layout.bytes),
              "finding what was written since the promotion",
              Copying::kMayGoOn));
  const auto [restored, other] = Split(written, ranges);
  const ImageCopyOptions& options = environment_.options.rescue_copy;
  ADDONS_ASSIGN_OR_RETURN(
      const bool ours, SameContent(*rescue_image_, image, restored, options));
  if (!ours) return true;
  // An object that became longer seems to differ where nothing was written.
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> before,
      pool_->OpenImageReadOnly(session_.volume.image_name()));
  ADDONS_RETURN_IF_ERROR(before->SelectSnapshot(promotion));
  ADDONS_ASSIGN_OR_RETURN(const bool untouched,
                          SameContent(*before, image, other, options));
  ADDONS_RETURN_IF_ERROR(before->Close());
  return !untouched;
}

absl::Status Rescue::RestoreImage(Image& image, const MirrorView& view,
                                  bool overwrite) {
  // First, because the peer may be back at any moment.
  for (const uint64_t snapshot_id : HalfCopies(view)) {
    ADDONS_RETURN_IF_ERROR(image.RemoveSnapshot(snapshot_id));
  }
  const bool to_write = record_.step != RescueStep::kWhole;
  // What a snapshot has that was made after the promotion is past knowing.
  if (to_write && !overwrite &&
      (view.Newest() == nullptr ||
       view.Newest()->id != PromotionSnapshot(record_, view))) {
    return RefuseToOverwrite();
  }
  ADDONS_RETURN_IF_ERROR(AwaitNoWorkload(image));
  const absl::Status locked = image.AcquireLock();
  if (HeldByAnother(locked)) {
    return Failed(
        absl::StrCat("another client holds its lock (", locked.message(), ")"));
  }
  ADDONS_RETURN_IF_ERROR(locked);
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
    ADDONS_RETURN_IF_ERROR(Copy(*rescue_image_, image, ranges,
                                "bringing the last complete state back",
                                Copying::kMayGoOn));
    RescueRecord record = record_;
    record.step = RescueStep::kWhole;
    ADDONS_RETURN_IF_ERROR(SetRecord(record));
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
  return AwaitNoWorkload(image);
}

absl::Status Rescue::Restore() {
  ADDONS_RETURN_IF_ERROR(AwaitSlot());
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  ADDONS_RETURN_IF_ERROR(OpenPool());
  const absl::Status opened = OpenRescueImage();
  if (absl::IsNotFound(opened)) return JustChanged();
  ADDONS_RETURN_IF_ERROR(opened);
  ADDONS_ASSIGN_OR_RETURN(const MirrorView view, Look(session_));
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

absl::Status Rescue::Remove() {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  ADDONS_RETURN_IF_ERROR(OpenPool());
  const absl::Status opened = OpenRescueImage();
  if (!absl::IsNotFound(opened)) {
    ADDONS_RETURN_IF_ERROR(opened);
    // First, so that nobody takes half of it for a state to go back to.
    RescueRecord record = record_;
    record.step = RescueStep::kRestored;
    ADDONS_RETURN_IF_ERROR(SetRecord(record));
    const std::unique_ptr<Image> image = std::move(rescue_image_);
    ADDONS_RETURN_IF_ERROR(image->Close());
  }
  slot_ = nullptr;
  context_.Step("removing the rescue image");
  context_.SetPending(absl::OkStatus());
  // A daemon that died a moment ago still counts as having it open.
  const SteadyTime patience =
      context_.clock().Now() + environment_.options.watch_timeout;
  absl::Status removed = pool_->RemoveImage(rescue_name_);
  while (CephErrno(removed) == EBUSY && context_.clock().Now() < patience) {
    ADDONS_RETURN_IF_ERROR(
        context_.SleepFor(environment_.options.poll_interval));
    removed = pool_->RemoveImage(rescue_name_);
  }
  if (!removed.ok()) {
    Log().warn(
        "a rescue image that is not needed any more was not removed, the next "
        "promotion of this volume does it: {}",
        removed.ToString());
  }
  return absl::OkStatus();
}

}  // namespace addons
