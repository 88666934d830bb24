#include "reclaimspace/sparsify.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/image_objects.h"
#include "ceph/mirror_clients.h"
#include "ceph/pool.h"
#include "lease/leased_context.h"
#include "reclaimspace/image_facts.h"
#include "reclaimspace/image_usage.h"
#include "reclaimspace/reclaim_decision.h"
#include "reclaimspace/sparsify_thread.h"
#include "volume/patience.h"

namespace addons {
namespace {

constexpr std::chrono::seconds kFirstPause{1};
constexpr std::chrono::seconds kLongestPause{8};
constexpr uint64_t kMiB = uint64_t{1} << 20;

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

/// One try, from finding the volume to its end.
class Sparsification {
 public:
  Sparsification(OperationContext& context, SparsifyEnvironment& environment,
                 const SparsifyRequest& request)
      : context_(context), environment_(environment), request_(request) {}

  absl::StatusOr<SparsifyResult> Run();

 private:
  absl::Status Find();
  absl::StatusOr<std::optional<SkipReason>> Look();
  absl::StatusOr<std::optional<SkipReason>> LookPastPredecessor();
  absl::StatusOr<std::optional<uint64_t>> Measure();
  bool HasNothingToFree(std::optional<uint64_t> used_bytes) const;
  absl::StatusOr<std::optional<SkipReason>> Change();
  absl::StatusOr<std::optional<SkipReason>> ChangeLeased(LeasedContext& leased);
  absl::StatusOr<std::optional<SkipReason>> Work(LeasedContext& leased,
                                                 Image& image);
  absl::StatusOr<std::optional<SkipReason>> WatchOver(SparsifyThread& work);
  void Report(uint64_t objects);
  absl::StatusOr<bool> TakeLock(Image& image);
  void DropMark(Pool& pool);
  absl::Status Failed(absl::StatusCode code, absl::string_view cause) const;

  OperationContext& context_;
  SparsifyEnvironment& environment_;
  const SparsifyRequest& request_;
  ResolvedVolume volume_;
  std::unique_ptr<Pool> reads_;
  ImageFacts facts_;
  std::optional<DataPool> data_pool_;  // asked for once
  bool opened_ = false;                // for writing
};

absl::Status Sparsification::Failed(absl::StatusCode code,
                                    absl::string_view cause) const {
  return absl::Status(code, absl::StrCat("Failed to sparsify ",
                                         volume_.Describe(), ": ", cause));
}

absl::Status Sparsification::Find() {
  context_.Step("finding the volume");
  ADDONS_ASSIGN_OR_RETURN(
      volume_, environment_.resolver.Resolve(
                   request_.volume_id, request_.user, Access::kMutate,
                   context_.DeadlineWithin(kFindPatience)));
  if (environment_.history != nullptr) {
    environment_.history->Locate(request_.volume_id.text(), volume_,
                                 volume_.ImageSpec());
  }
  ADDONS_ASSIGN_OR_RETURN(reads_, volume_.OpenPool(Access::kRead));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<SkipReason>> Sparsification::Look() {
  auto facts = ReadFacts(*volume_.cluster, *reads_, volume_.image_name());
  if (absl::IsNotFound(facts.status())) {
    return Failed(absl::StatusCode::kNotFound,
                  "the journal names it, but the pool has no such image");
  }
  ADDONS_ASSIGN_OR_RETURN(facts_, std::move(facts));
  if (!data_pool_.has_value()) {
    ADDONS_ASSIGN_OR_RETURN(data_pool_,
                            ReadDataPool(*volume_.cluster, *reads_, facts_));
  }
  facts_.data_pool = *data_pool_;
  return WhySkip(facts_, request_.parameters.with_snapshots);
}

/// A daemon that was killed in the middle keeps its watch for a while. Taken
/// for a workload it would end the job as if all were done.
absl::StatusOr<std::optional<SkipReason>>
Sparsification::LookPastPredecessor() {
  const SteadyTime until =
      context_.clock().Now() + environment_.options.predecessor_patience;
  for (;;) {
    ADDONS_ASSIGN_OR_RETURN(std::optional<SkipReason> skip, Look());
    if (!skip || skip->outcome != ReclaimOutcome::kOtherDaemon) return skip;
    if (context_.clock().Now() >= until) return skip;
    context_.Step("waiting for another instance of this daemon to end");
    ADDONS_RETURN_IF_ERROR(context_.SleepFor(std::chrono::seconds(1)));
  }
}

absl::StatusOr<std::optional<uint64_t>> Sparsification::Measure() {
  context_.Step("measuring");
  return MeasureImage(
      *reads_,
      {volume_.image_name(), facts_.image_id, facts_.size, facts_.features},
      environment_.options.measure_time);
}

/// librbd leaves out what the object map calls absent. What a killed daemon
/// has left on the image goes with the next work on it.
bool Sparsification::HasNothingToFree(
    std::optional<uint64_t> used_bytes) const {
  return facts_.features.fast_diff && used_bytes == 0 &&
         facts_.sparsifiers.empty() && facts_.lockers.empty();
}

/// Writing metadata takes the exclusive lock where nobody has it, and lets its
/// owner write otherwise: the only cooperative way that leaves no client with
/// errors (rbd_lock_acquire would refuse to give the lock away).
absl::StatusOr<bool> Sparsification::TakeLock(Image& image) {
  ADDONS_RETURN_IF_ERROR(
      image.SetMetadata(kSparsifierKey, SparsifierMark(*volume_.cluster)));
  if (!facts_.features.exclusive_lock) return true;
  return image.HoldsLock();
}

/// Where librbd keeps it: librbd would tell all who have the image open, read
/// its header anew, and ask another client that has the lock to do it.
void Sparsification::DropMark(Pool& pool) {
  const auto removed = pool.RemoveOmapValue(HeaderObject(facts_.image_id),
                                            MetadataKey(kSparsifierKey),
                                            SparsifierMark(*volume_.cluster));
  if (!removed.ok()) {
    Log().debug("{}", std::string(removed.status().message()));
  }
}

void Sparsification::Report(uint64_t objects) {
  const uint64_t total = facts_.size.bytes;
  const uint64_t done = std::min(total, objects * facts_.size.object_bytes);
  context_.Progress(done, total);
  context_.SetPending(Failed(
      absl::StatusCode::kAborted,
      absl::StrCat(
          "it is under way: ",
          facts_.size.objects == 0 ? 100 : objects * 100 / facts_.size.objects,
          " % (", done / kMiB, " of ", total / kMiB,
          " MiB) looked at; the call can be repeated and joins it")));
}

absl::StatusOr<std::optional<SkipReason>> Sparsification::WatchOver(
    SparsifyThread& work) {
  absl::Status blind = absl::UnavailableError("nobody looked");
  std::optional<SkipReason> skip;
  // Work on a small image ends before the first interval has passed.
  std::chrono::milliseconds pause{1};
  while (!skip && !work.Ended()) {
    ADDONS_RETURN_IF_ERROR(context_.SleepFor(pause));
    pause = std::min(pause * 2, environment_.options.look_interval);
    Report(work.objects());
    if (work.Ended()) break;
    const auto clients =
        ListClients(*volume_.cluster, *reads_, facts_.image_id);
    if (!clients.ok()) {
      blind = clients.status();  // goes on until the permit has run out
    } else if (clients->workloads.empty()) {
      work.Renew();
    } else {
      skip = SkipReason{ReclaimOutcome::kInterrupted,
                        absl::StrCat("it was opened by ",
                                     DescribeWatchers(clients->workloads))};
    }
  }
  work.Revoke();
  ADDONS_ASSIGN_OR_RETURN(const SparsifyEnd end, work.Result());
  Report(work.objects());
  if (skip) return skip;
  switch (end) {
    case SparsifyEnd::kFinished:
      return std::nullopt;
    case SparsifyEnd::kLockLost:
      return SkipReason{ReclaimOutcome::kInterrupted,
                        "another client asked for its lock"};
    case SparsifyEnd::kStopped:
      break;
  }
  return Failed(absl::StatusCode::kUnavailable,
                absl::StrCat("it could not be seen whether somebody opened it, "
                             "so the work stopped: ",
                             blind.message()));
}

absl::StatusOr<std::optional<SkipReason>> Sparsification::Work(
    LeasedContext& leased, Image& image) {
  ADDONS_ASSIGN_OR_RETURN(const bool locked, TakeLock(image));
  // Who came between the first look and our watch is seen now; who comes later
  // is seen by the looks below.
  ADDONS_ASSIGN_OR_RETURN(std::optional<SkipReason> skip, Look());
  if (!skip && !locked) {
    skip = SkipReason{ReclaimOutcome::kInUse, "another client has its lock"};
  }
  if (skip) return skip;
  // It may take hours, and ends when another daemon opens the image.
  leased.GiveBack();
  SparsifyThread work(image, request_.parameters.sparse_bytes, context_.clock(),
                      environment_.options.permit, environment_.start_thread);
  context_.Step("sparsifying");
  Log().info("reclaim of volume={} begins objects={} sparse_bytes={}",
             Quoted(request_.volume_id.text()), facts_.size.objects,
             request_.parameters.sparse_bytes);
  auto end = WatchOver(work);
  environment_.stats.AddExaminedBytes(work.objects() *
                                      facts_.size.object_bytes);
  return end;
}

absl::StatusOr<std::optional<SkipReason>> Sparsification::Change() {
  LeasedContext leased(context_, environment_.leases, "reclaim space of");
  leased.Aim(LeaseOf(volume_, /*although_full=*/true));
  ADDONS_RETURN_IF_ERROR(leased.Take());
  auto skip = ChangeLeased(leased);
  leased.GiveBack();
  return skip;
}

/// Measuring may have taken a while, and opening a secondary for writing would
/// do harm.
absl::StatusOr<std::optional<SkipReason>> Sparsification::ChangeLeased(
    LeasedContext& leased) {
  ADDONS_ASSIGN_OR_RETURN(std::optional<SkipReason> now, Look());
  if (now) return now;
  ADDONS_RETURN_IF_ERROR(leased.BeginMutation());
  context_.Step("taking the lock");
  // An erasure-coded object takes its placement group long enough that ten at a
  // time keep a writer waiting for 0.3 s (measured, 20.2.4).
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> pool,
      volume_.OpenPool(facts_.data_pool.erasure_coded ? Access::kMutateGently
                                                      : Access::kMutate));
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                          pool->OpenImage(volume_.image_name()));
  opened_ = true;
  auto skip = Work(leased, *image);
  DropMark(*pool);
  const absl::Status closed = image->Close();
  if (!closed.ok()) Log().warn("{}", std::string(closed.message()));
  context_.SetPending(absl::OkStatus());
  return skip;
}

absl::StatusOr<SparsifyResult> Sparsification::Run() {
  ADDONS_RETURN_IF_ERROR(Find());
  context_.Step("looking at the image");
  ADDONS_ASSIGN_OR_RETURN(std::optional<SkipReason> skip,
                          LookPastPredecessor());
  ADDONS_RETURN_IF_ERROR(
      request_.parameters.CheckObjectSize(facts_.size.object_bytes));
  SparsifyResult result;
  ADDONS_ASSIGN_OR_RETURN(result.before_bytes, Measure());
  result.after_bytes = result.before_bytes;
  if (!skip && HasNothingToFree(result.before_bytes)) {
    environment_.stats.AddExaminedBytes(facts_.size.bytes);
    result.reason = "it has no objects";
    return result;
  }
  if (!skip) {
    ADDONS_ASSIGN_OR_RETURN(skip, Change());
    // What was freed stays freed: the answer does not depend on this.
    if (opened_) result.after_bytes = Measure().value_or(std::nullopt);
  }
  if (skip) {
    result.outcome = skip->outcome;
    result.reason = std::move(skip->reason);
  }
  return result;
}

/// Removed in the middle: the next try sees it, as it does when the image was
/// demoted, which is UNAVAILABLE by itself.
absl::Status Settled(const absl::Status& status) {
  if (CephErrno(status) != ENOENT) return status;
  return absl::UnavailableError(status.message());
}

void LogEnd(const SparsifyRequest& request, const SparsifyResult& result,
            SteadyDuration took) {
  Log().info(
      "reclaim of volume={} outcome={} before={} after={} dur_ms={} reason={}",
      Quoted(request.volume_id.text()), std::string(Name(result.outcome)),
      Quoted(UsageText(result.before_bytes)),
      Quoted(UsageText(result.after_bytes)),
      std::chrono::duration_cast<std::chrono::milliseconds>(took).count(),
      Quoted(result.reason));
}

absl::StatusOr<SparsifyResult> TryUntilSettled(OperationContext& context,
                                               SparsifyEnvironment& environment,
                                               const SparsifyRequest& request) {
  const SteadyDuration patience = environment.options.patience;
  SteadyTime until = context.clock().Now() + patience;
  SteadyDuration pause = kFirstPause;
  for (;;) {
    const SteadyTime begin = context.clock().Now();
    auto result = Sparsification(context, environment, request).Run();
    if (result.ok()) return result;
    absl::Status status = Settled(result.status());
    const SteadyTime now = context.clock().Now();
    // After hours of work a short trouble is not the end.
    if (context.mutating() && now - begin > patience) until = now + patience;
    if (!MayPass(status) || now >= until) return status;
    Log().warn("reclaim of volume={} is tried again: {}",
               Quoted(request.volume_id.text()), std::string(status.message()));
    context.SetPending(absl::AbortedError(status.message()));
    context.Step("waiting until the cluster answers");
    ADDONS_RETURN_IF_ERROR(context.SleepFor(pause));
    context.SetPending(absl::OkStatus());
    pause = std::min<SteadyDuration>(pause * 2, kLongestPause);
  }
}

}  // namespace

absl::StatusOr<SparsifyResult> Sparsify(OperationContext& context,
                                        SparsifyEnvironment& environment,
                                        const SparsifyRequest& request) {
  const SteadyTime begin = context.clock().Now();
  auto result = TryUntilSettled(context, environment, request);
  if (!result.ok()) {
    const bool told =
        absl::IsCancelled(result.status()) || absl::IsAborted(result.status());
    environment.stats.Count(told ? ReclaimOutcome::kStopped
                                 : ReclaimOutcome::kFailed);
    return result;
  }
  environment.stats.Count(result->outcome);
  environment.stats.AddFreedBytes(result->FreedBytes());
  LogEnd(request, *result, context.clock().Now() - begin);
  if (result->outcome == ReclaimOutcome::kOtherDaemon) {
    return absl::AbortedError(absl::StrCat(
        "Failed to sparsify volume '", request.volume_id.text(),
        "': another instance of this daemon is at work: ", result->reason));
  }
  return result;
}

}  // namespace addons
