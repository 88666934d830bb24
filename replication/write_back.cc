#include "replication/write_back.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/mirror_clients.h"

namespace addons {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

/// Shows how far a step is. Told to stop: everything that was done so far is of
/// use to a retry.
absl::Status Report(const WriteBack& work, absl::string_view what,
                    absl::string_view so_far, uint64_t done, uint64_t total) {
  OperationContext& context = work.session.context;
  context.Progress(done, total);
  context.SetPending(work.failed(
      absl::StrCat(what, ", ", so_far,
                   " done; this continues in the background; repeat the call "
                   "for the result")));
  if (work.beside != nullptr) ADDONS_RETURN_IF_ERROR(work.beside());
  return context.SleepFor(SteadyDuration::zero());
}

}  // namespace

absl::StatusOr<Slots::Slot> AwaitSlot(const Session& session,
                                      const absl::Status& waits) {
  ReplicationEnvironment& environment = session.environment;
  while (true) {
    Slots::Slot slot = environment.rescue_slots.TryTake();
    if (slot != nullptr) return slot;
    session.context.Step("waiting until the rescue of another image has ended");
    session.context.SetPending(waits);
    ADDONS_RETURN_IF_ERROR(
        session.context.SleepFor(environment.options.poll_interval));
  }
}

absl::StatusOr<std::unique_ptr<Pool>> OpenDataPool(const Session& session,
                                                   const ImageLayout& layout) {
  return session.cluster().OpenPool(
      layout.data_pool_id, session.reads->rados_namespace(), Access::kRead);
}

absl::StatusOr<ImageLayout> LayoutAt(const OpenedVolume& opened,
                                     absl::string_view action,
                                     const std::string& image_id,
                                     uint64_t snapshot) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                          opened.reads->OpenImageByIdReadOnly(image_id));
  ADDONS_RETURN_IF_ERROR(image->SelectSnapshot(snapshot));
  ADDONS_ASSIGN_OR_RETURN(ImageLayout layout, image->Layout());
  ADDONS_ASSIGN_OR_RETURN(const auto parent, image->Parent());
  ADDONS_RETURN_IF_ERROR(image->Close());
  if (!parent.has_value()) return layout;
  return FailedTo(action, opened.volume, absl::StatusCode::kFailedPrecondition,
                  "it was a clone at that point, and what it had from its "
                  "parent is not read");
}

absl::StatusOr<std::vector<ImageRange>> FindChanged(
    const WriteBack& work, const ImageLayout& layout,
    const std::vector<ImageStates>& states, uint64_t bytes,
    absl::string_view what) {
  work.session.context.Step(what);
  // The objects may be in another pool; reads of them have a bound here.
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> data,
                          OpenDataPool(work.session, layout));
  return ChangedRanges(
      *data, layout, states, bytes, [&](uint64_t done, uint64_t total) {
        return Report(work, what, absl::StrCat(done, " of ", total, " objects"),
                      done, total);
      });
}

absl::Status CopyBack(const WriteBack& work, const ReadRangesFn& source,
                      Image& target, const std::vector<ImageRange>& ranges,
                      absl::string_view what) {
  work.session.context.Step(what);
  ImageCopyOptions options = work.session.environment.options.rescue_copy;
  options.zeros_too = work.zeros_too;
  return CopyRanges(
      source, target, ranges, options, [&](uint64_t done, uint64_t total) {
        return Report(
            work, what,
            absl::StrCat(done / kMebibyte, " of ", total / kMebibyte, " MiB"),
            done, total);
      });
}

absl::Status AwaitNoWorkload(const Session& session, Image& image,
                             SteadyDuration patience, const InUseFn& in_use) {
  OperationContext& context = session.context;
  const SteadyTime until = context.clock().Now() + patience;
  while (true) {
    ADDONS_ASSIGN_OR_RETURN(const ImageClients clients,
                            FindClients(session, image));
    if (clients.workloads.empty()) return absl::OkStatus();
    absl::Status used = in_use(DescribeWatchers(clients.workloads));
    if (context.clock().Now() >= until) return used;
    context.Step("waiting until nobody has the image open");
    context.SetPending(std::move(used));
    ADDONS_RETURN_IF_ERROR(
        context.SleepFor(session.environment.options.poll_interval));
  }
}

bool HeldByAnother(const absl::Status& locked) {
  const int error = CephErrno(locked);
  return error == EBUSY || error == EROFS || error == EAGAIN;
}

absl::Status LockToWriteBack(const WriteBack& work, Image& image) {
  absl::Status locked = image.AcquireLock(LockMode::kExclusive);
  if (!HeldByAnother(locked)) return locked;
  return work.failed(
      absl::StrCat("another client holds its lock (", locked.message(), ")"));
}

}  // namespace addons
