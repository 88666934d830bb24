#include "replication/rescue.h"

#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/mirror_clients.h"

namespace addons {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

bool HeldByAnother(const absl::Status& status) {
  const int error = CephErrno(status);
  return error == EBUSY || error == EROFS || error == EAGAIN;
}

}  // namespace

Rescue::Rescue(OperationContext& context, ReplicationEnvironment& environment,
               Session& session)
    : context_(context),
      environment_(environment),
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

bool Rescue::Saved(const MirrorView& view) const {
  if (rescue_image_ == nullptr || !RescueIsLive(record_, view)) return false;
  return record_.step == RescueStep::kSaved ||
         record_.step == RescueStep::kPromoting;
}

absl::Status Rescue::AwaitSlot() {
  while (slot_ == nullptr) {
    slot_ = environment_.rescue_slots.TryTake();
    if (slot_ != nullptr) break;
    context_.Step("waiting until the rescue of another image has ended");
    context_.SetPending(
        Failed("other images are being brought back to their last whole state, "
               "this one waits for its turn; repeat the call"));
    ADDONS_RETURN_IF_ERROR(
        context_.SleepFor(environment_.options.poll_interval));
  }
  return absl::OkStatus();
}

absl::Status Rescue::OpenPool() {
  if (pool_ != nullptr) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(pool_, session_.volume.OpenPool(Access::kMutate));
  // A copy that waits for space would hold the promotion up without a word.
  pool_->FailWhenFull();
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
                               "last whole state; repeat the call (",
                               locked.message(), ")"));
  }
  ADDONS_RETURN_IF_ERROR(locked);
  ADDONS_ASSIGN_OR_RETURN(record_, ReadRescueRecord(*image));
  rescue_image_ = std::move(image);
  return absl::OkStatus();
}

absl::Status Rescue::CreateRescueImage(uint64_t snapshot_id) {
  absl::Status opened = OpenRescueImage();
  if (!absl::IsNotFound(opened)) return opened;
  // What a removal that died has left of it.
  ADDONS_RETURN_IF_ERROR(pool_->RemoveImage(rescue_name_));
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> image,
      pool_->OpenImageReadOnly(session_.volume.image_name()));
  ADDONS_RETURN_IF_ERROR(image->SelectSnapshot(snapshot_id));
  ADDONS_ASSIGN_OR_RETURN(const ImageLayout layout, image->Layout());
  ADDONS_RETURN_IF_ERROR(image->Close());
  const absl::Status created = pool_->CreateImage(rescue_name_, layout);
  if (!created.ok() && !absl::IsAlreadyExists(created)) return created;
  return OpenRescueImage();
}

absl::Status Rescue::SetRecord(const RescueRecord& record) {
  ADDONS_RETURN_IF_ERROR(WriteRescueRecord(*rescue_image_, record));
  record_ = record;
  return absl::OkStatus();
}

absl::Status Rescue::Copy(Image& source, Image& target,
                          absl::string_view what) {
  context_.Step(what);
  return MakeEqual(
      source, target, environment_.options.rescue_copy,
      [&](uint64_t done, uint64_t total) {
        context_.Progress(done, total);
        context_.SetPending(Failed(absl::StrCat(
            what, ", ", done / kMebibyte, " of ", total / kMebibyte,
            " MiB done; this goes on without the call, "
            "repeat it to hear how it ends")));
        // Told to stop: everything that was done so far is of use to a retry.
        return context_.SleepFor(SteadyDuration::zero());
      });
}

absl::Status Rescue::SaveSnapshot(const MirrorView& view,
                                  uint64_t snapshot_id) {
  ADDONS_RETURN_IF_ERROR(CreateRescueImage(snapshot_id));
  // Somebody else may have gone on before this process had the lock.
  ADDONS_ASSIGN_OR_RETURN(const MirrorView now,
                          Look(context_, environment_, session_));
  if (Saved(now)) return absl::OkStatus();
  const MirrorSnapshot* snapshot = RescueSnapshot(now);
  if (now.info.primary || snapshot == nullptr || snapshot->id != snapshot_id) {
    return absl::OkStatus();
  }
  Log().warn(
      "a snapshot has arrived in part and will not be completed: saving the "
      "last whole state before the forced promotion volume={} snapshot={} "
      "rescue_image='{}'",
      Quoted(session_.volume.volume_id), snapshot_id, rescue_name_);
  RescueRecord record{RescueStep::kSaving, view.image_id, snapshot_id};
  ADDONS_RETURN_IF_ERROR(SetRecord(record));
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> source,
      pool_->OpenImageReadOnly(session_.volume.image_name()));
  ADDONS_RETURN_IF_ERROR(source->SelectSnapshot(snapshot_id));
  ADDONS_RETURN_IF_ERROR(
      Copy(*source, *rescue_image_, "saving the last whole state"));
  ADDONS_RETURN_IF_ERROR(source->Close());
  // A snapshot that was completed meanwhile may have been removed meanwhile,
  // and then reads as zeros.
  ADDONS_ASSIGN_OR_RETURN(const MirrorView after,
                          Look(context_, environment_, session_));
  if (after.info.primary || !RescueIsLive(record, after)) {
    return absl::OkStatus();
  }
  record.step = RescueStep::kSaved;
  return SetRecord(record);
}

absl::Status Rescue::Save(const MirrorView& view) {
  const MirrorSnapshot* snapshot = RescueSnapshot(view);
  if (snapshot == nullptr) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(AwaitSlot());
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  ADDONS_RETURN_IF_ERROR(OpenPool());
  const absl::Status saved = SaveSnapshot(view, snapshot->id);
  if (saved.code() != absl::StatusCode::kResourceExhausted) return saved;
  const absl::Status removed = Remove();
  return Failed(absl::StrCat(
      "there is no space to keep the last whole state meanwhile, which takes "
      "as much as the image uses; nothing was changed; free space in the pool "
      "or raise its quota, then repeat the call (",
      saved.message(), ")",
      removed.ok() ? "" : absl::StrCat("; ", removed.message())));
}

absl::StatusOr<RescueRecord> Rescue::BeginPromotion() {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  ADDONS_RETURN_IF_ERROR(OpenPool());
  const absl::Status opened = OpenRescueImage();
  if (absl::IsNotFound(opened)) return JustChanged();
  ADDONS_RETURN_IF_ERROR(opened);
  if (record_.step == RescueStep::kPromoting) return record_;
  if (record_.step != RescueStep::kSaved) return JustChanged();
  RescueRecord record = record_;
  record.step = RescueStep::kPromoting;
  ADDONS_RETURN_IF_ERROR(SetRecord(record));
  return record;
}

/// A daemon that died a moment ago still counts as one.
absl::Status Rescue::AwaitNoWorkload(Image& image) {
  const SteadyTime patience =
      context_.clock().Now() + environment_.options.watch_timeout;
  while (true) {
    ADDONS_ASSIGN_OR_RETURN(
        const std::vector<Watcher> workloads,
        ListWorkloads(session_.cluster(), *session_.reads, image));
    if (workloads.empty()) return absl::OkStatus();
    const absl::Status in_use = Failed(absl::StrCat(
        "it was promoted and must still get its last whole state back from "
        "image '",
        rescue_name_, "', but is in use by ", DescribeWatchers(workloads),
        "; stop that workload, what it reads is not whole"));
    if (context_.clock().Now() >= patience) return in_use;
    context_.Step("waiting until nobody has the image open");
    context_.SetPending(in_use);
    ADDONS_RETURN_IF_ERROR(
        context_.SleepFor(environment_.options.poll_interval));
  }
}

absl::Status Rescue::RestoreImage(Image& image, const MirrorView& view) {
  // First, because the peer may be back at any moment.
  for (const uint64_t snapshot_id : HalfCopies(view)) {
    ADDONS_RETURN_IF_ERROR(image.RemoveSnapshot(snapshot_id));
  }
  ADDONS_RETURN_IF_ERROR(AwaitNoWorkload(image));
  const absl::Status locked = image.AcquireLock();
  if (HeldByAnother(locked)) {
    return Failed(
        absl::StrCat("another client holds its lock (", locked.message(), ")"));
  }
  ADDONS_RETURN_IF_ERROR(locked);
  ADDONS_RETURN_IF_ERROR(
      Copy(*rescue_image_, image, "bringing the last whole state back"));
  ADDONS_ASSIGN_OR_RETURN(const auto peers, session_.reads->MirrorPeers());
  if (!peers.empty()) {
    // The one of the promotion holds what librbd made of the image.
    context_.Step("making a mirror snapshot of the last whole state");
    ADDONS_RETURN_IF_ERROR(image.CreateMirrorSnapshot().status());
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
  ADDONS_ASSIGN_OR_RETURN(const MirrorView view,
                          Look(context_, environment_, session_));
  if (!view.info.primary) return JustChanged();
  if (!AwaitsRestore(record_, view)) return Remove();
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                          pool_->OpenImage(session_.volume.image_name()));
  const absl::Status restored = RestoreImage(*image, view);
  const absl::Status closed = image->Close();
  if (restored.code() == absl::StatusCode::kResourceExhausted) {
    return Failed(absl::StrCat(
        "there is no space to bring its last whole state back, which image '",
        rescue_name_, "' holds; free space in the pool or raise its quota, ",
        "then repeat the call (", restored.message(), ")"));
  }
  ADDONS_RETURN_IF_ERROR(restored);
  ADDONS_RETURN_IF_ERROR(closed);
  Log().info("the image has its last whole state back volume={} snapshot={}",
             Quoted(session_.volume.volume_id), record_.snapshot_id);
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
