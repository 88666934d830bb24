#include "reclaimspace/trim.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "node/block_stack.h"
#include "node/io_priority.h"
#include "node/mapped_image.h"
#include "operation/job_answer.h"
#include "reclaimspace/image_usage.h"
#include "volume/image_proof.h"
#include "volume/patience.h"

namespace addons {
namespace {

/// After a step that discarded more than it was asked for.
constexpr uint64_t kStepGrowth = 4;

absl::Status Named(const TrimRequest& request, const absl::Status& status) {
  return Annotate(status, absl::StrCat("Failed to trim volume '",
                                       request.volume_id.text(), "'"));
}

/// A mount that is proved to be the volume.
struct ProvedMount {
  MountEntry mount;
  size_t mounts = 0;
  BlockStack stack;
  bool encrypted = false;                // MappedImage::encrypted
  std::optional<ResolvedVolume> volume;  // absent: proved without Ceph
};

/// Returns the volume where Ceph was asked for it.
absl::StatusOr<std::optional<ResolvedVolume>> Prove(
    OperationContext& context, const TrimEnvironment& environment,
    const TrimRequest& request, const MappedImage& mapped) {
  // Ids of static volumes do not decode; Ceph knows nothing of them.
  if (request.user != nullptr && request.volume_id.id().ok()) {
    ADDONS_ASSIGN_OR_RETURN(ResolvedVolume volume,
                            environment.resolver.Resolve(
                                request.volume_id, request.user, Access::kRead,
                                context.DeadlineWithin(kFindPatience)));
    ADDONS_RETURN_IF_ERROR(ProveByCeph(mapped, volume));
    return volume;
  }
  const auto config = environment.config.Current();
  ADDONS_RETURN_IF_ERROR(ProveByNode(mapped, request.volume_id,
                                     request.staging_path,
                                     config.ok() ? config->get() : nullptr));
  return std::nullopt;
}

absl::StatusOr<ProvedMount> FindMount(OperationContext& context,
                                      const TrimEnvironment& environment,
                                      const TrimRequest& request) {
  context.Step("finding the volume's device");
  ADDONS_ASSIGN_OR_RETURN(MountedDirectory directory,
                          environment.open(environment.roots, request.path));
  // Asking Ceph may take a while, and the mount is not held meanwhile.
  directory.fd.Reset();
  ProvedMount found;
  found.mount = std::move(directory.mount);
  found.mounts = directory.mounts;
  auto stack = ReadBlockStack(environment.roots, found.mount.device);
  if (!stack.ok()) {
    return Annotate(stack.status(),
                    absl::StrCat("the ", found.mount.filesystem, " at '",
                                 request.path, "' is not the volume"));
  }
  found.stack = *std::move(stack);
  auto mapped = IdentifyImage(environment.roots, environment.image_exports,
                              found.stack.lowest());
  if (!mapped.ok()) {
    return Annotate(mapped.status(),
                    absl::StrCat("the ", found.mount.filesystem, " at '",
                                 request.path, "' is not the volume"));
  }
  found.encrypted = mapped->encrypted;
  ADDONS_ASSIGN_OR_RETURN(found.volume,
                          Prove(context, environment, request, *mapped));
  return found;
}

absl::Status CheckTrimmable(const ProvedMount& found,
                            const TrimRequest& request) {
  if (found.mount.filesystem_read_only) {
    if (request.access == AccessMode::kReader) {
      return absl::UnimplementedError(
          "the volume is mounted read-only, as its access mode says");
    }
    return absl::FailedPreconditionError(
        "its filesystem is read-only, perhaps after an error; see the node's "
        "kernel log");
  }
  if (found.encrypted) {
    return absl::UnimplementedError(
        "the image has librbd's own encryption (rbd-nbd --encryption-format), "
        "which writes discards as data: a trim would make it grow");
  }
  if (const BlockLayer* layer = found.stack.WithoutDiscard()) {
    const std::string kind = layer->Kind();
    return absl::UnimplementedError(
        absl::StrCat("device ", layer->Describe(), " does not pass discards on",
                     kind.empty() ? "" : absl::StrCat(" (", kind, ")")));
  }
  return absl::OkStatus();
}

/// What the pool has of the image: trimming does not depend on it.
std::optional<uint64_t> ImageUsage(const ProvedMount& found) {
  if (!found.volume) return std::nullopt;
  return MeasureImage(*found.volume, kMeasureTime).value_or(std::nullopt);
}

/// What the kernel's refusal of a step means for this mount.
absl::Status Explained(const absl::Status& refused, const ProvedMount& found,
                       const MountedDirectory& directory,
                       const TrimRange& range) {
  const std::string& filesystem = directory.mount.filesystem;
  // Both refuse so when the block groups are smaller than the least extent;
  // the other reasons are a range beyond the end and one below a block.
  if (absl::IsOutOfRange(refused) && range.start == 0 &&
      (filesystem == "ext4" || filesystem == "xfs")) {
    return absl::UnimplementedError(
        absl::StrCat("device ", found.stack.Coarsest().Describe(),
                     " discards no less than ", range.smallest_extent,
                     " bytes at once, which is more than a block "
                     "group of this ",
                     filesystem, " has"));
  }
  if (absl::IsOutOfRange(refused)) {
    return absl::UnknownError(refused.message());
  }
  if (absl::IsFailedPrecondition(refused) &&
      !directory.mount.filesystem_read_only) {
    return absl::FailedPreconditionError(
        absl::StrCat("its ", filesystem,
                     " was mounted without a replay of its "
                     "journal (noload, norecovery) and is not trimmed then; "
                     "mount it without that option"));
  }
  return refused;
}

/// Opens the mount for one step, if it is still what was proved.
absl::StatusOr<MountedDirectory> OpenAgain(const TrimEnvironment& environment,
                                           const TrimRequest& request,
                                           const ProvedMount& found) {
  auto directory = environment.open(environment.roots, request.path);
  if (!directory.ok()) {
    return absl::AbortedError(
        absl::StrCat("the volume was unmounted meanwhile (",
                     directory.status().message(), ")"));
  }
  if (directory->mount.id != found.mount.id ||
      directory->mount.device != found.mount.device) {
    return absl::AbortedError(
        "something else was mounted in its place meanwhile");
  }
  if (found.mounts > 1 && directory->mounts == 1) {
    return absl::AbortedError(
        "no pod uses the volume any more; stopped, because it is about to be "
        "unmounted");
  }
  return directory;
}

absl::StatusOr<TrimResult> TrimSteps(OperationContext& context,
                                     const TrimEnvironment& environment,
                                     const TrimRequest& request,
                                     const ProvedMount& found) {
  const IdleIoPriority idle;
  const uint64_t end = found.stack.size_bytes;
  TrimRange range;
  range.length = environment.step_bytes;
  range.smallest_extent = found.stack.Coarsest().discard_granularity;
  TrimResult result;
  result.image_before_bytes = ImageUsage(found);
  context.Step("trimming (bytes of the filesystem)");
  while (range.start < end) {
    ADDONS_RETURN_IF_ERROR(context.SleepFor(SteadyDuration::zero()));
    ADDONS_ASSIGN_OR_RETURN(const MountedDirectory directory,
                            OpenAgain(environment, request, found));
    const auto trimmed = environment.trim(directory.fd.get(), range);
    // The filesystem may be smaller than its device.
    if (absl::IsOutOfRange(trimmed.status()) && range.start > 0) break;
    if (!trimmed.ok()) {
      return Explained(trimmed.status(), found, directory, range);
    }
    ADDONS_ASSIGN_OR_RETURN(const uint64_t free,
                            ReadFreeBytes(directory.fd.get()));
    // xfs counts what is in use as well.
    const uint64_t asked =
        std::min(*trimmed, free - std::min(free, result.asked_bytes));
    result.asked_bytes += asked;
    environment.stats.AddTrimmedBytes(asked);
    context.Progress(std::min(range.start + range.length, end), end);
    range.start += range.length;
    // It discards whole free extents: small steps would discard a large one
    // again and again.
    if (*trimmed > range.length) range.length *= kStepGrowth;
  }
  if (result.image_before_bytes) result.image_after_bytes = ImageUsage(found);
  return result;
}

/// `proved`: what is mounted there was found to be the volume.
TrimOutcome OutcomeOf(const absl::Status& status, bool proved) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return TrimOutcome::kTrimmed;
    case absl::StatusCode::kUnimplemented:
      return TrimOutcome::kUnsupported;
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kCancelled:
      return TrimOutcome::kStopped;
    case absl::StatusCode::kFailedPrecondition:
      return proved ? TrimOutcome::kFailed : TrimOutcome::kNotProved;
    default:
      return TrimOutcome::kFailed;
  }
}

}  // namespace

absl::StatusOr<TrimResult> Trim(OperationContext& context,
                                const TrimEnvironment& environment,
                                const TrimRequest& request) {
  bool proved = false;
  const auto run = [&]() -> absl::StatusOr<TrimResult> {
    ADDONS_ASSIGN_OR_RETURN(const ProvedMount found,
                            FindMount(context, environment, request));
    proved = true;
    ADDONS_RETURN_IF_ERROR(CheckTrimmable(found, request));
    ADDONS_RETURN_IF_ERROR(context.BeginMutation());
    const SteadyTime begin = context.clock().Now();
    ADDONS_ASSIGN_OR_RETURN(const TrimResult result,
                            TrimSteps(context, environment, request, found));
    Log().info(
        "trimmed volume={} device={} filesystem={} asked={} image_before={} "
        "image_after={} dur_ms={}",
        Quoted(request.volume_id.text()), found.stack.lowest().name,
        found.mount.filesystem, result.asked_bytes,
        Quoted(UsageText(result.image_before_bytes)),
        Quoted(UsageText(result.image_after_bytes)),
        std::chrono::duration_cast<std::chrono::milliseconds>(
            context.clock().Now() - begin)
            .count());
    return result;
  };
  auto result = run();
  environment.stats.Count(OutcomeOf(result.status(), proved));
  if (result.ok()) return result;
  return AbortedIfTransient(Named(request, result.status()));
}

}  // namespace addons
