#ifndef ADDONS_RECLAIMSPACE_SPARSIFY_H_
#define ADDONS_RECLAIMSPACE_SPARSIFY_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/start_thread.h"
#include "ceph/cluster.h"
#include "history/event_log.h"
#include "lease/keeper.h"
#include "operation/operation_context.h"
#include "reclaimspace/image_usage.h"
#include "reclaimspace/reclaim_parameters.h"
#include "reclaimspace/reclaim_stats.h"
#include "volume/resolver.h"

namespace addons {

struct SparsifyOptions {
  /// How often is looked for somebody who opened the image. ceph-csi opens it
  /// for some milliseconds only, to see whether somebody has it open before it
  /// maps or deletes it, and waits while we do.
  std::chrono::milliseconds look_interval{5};
  /// Without a successful look for so long, the work stops.
  std::chrono::milliseconds permit{4000};
  /// Bound of a measurement on images without fast-diff.
  std::chrono::milliseconds measure_time = kMeasureTime;
  /// How long trouble that may pass by itself is waited for.
  std::chrono::milliseconds patience{60000};
  /// How long the watch of a killed daemon is waited for: Ceph keeps it 30 s.
  std::chrono::milliseconds predecessor_patience{45000};
};

/// Nothing is owned; everything is thread-safe and outlives the verb.
struct SparsifyEnvironment {
  Resolver& resolver;
  LeaseKeeper& leases;
  ReclaimStats& stats;
  SparsifyOptions options;
  EventLog* history = nullptr;  // told where volumes are; null: nobody is
  ThreadStarter start_thread = StartThread;  // tests give one of their own
};

struct SparsifyRequest {
  VolumeHandle volume_id;
  CephUserRef user;
  ReclaimParameters parameters;
};

struct SparsifyResult {
  ReclaimOutcome outcome = ReclaimOutcome::kSparsified;
  std::string reason = "finished";  // of the outcome
  /// Image::UsedBytes() before and after; equal when nothing was done. Absent:
  /// could not be measured in time.
  std::optional<uint64_t> before_bytes;
  std::optional<uint64_t> after_bytes;

  /// 0 where either is not known.
  uint64_t FreedBytes() const {
    if (!before_bytes.has_value() || !after_bytes.has_value()) return 0;
    return *before_bytes > *after_bytes ? *before_bytes - *after_bytes : 0;
  }
};

/// Frees what is zero in a volume that nobody uses:
///
// clang-format off
///   TryUntilSettled()          "waiting until the cluster answers", and Run() again
///   Run()
///     Find()                   "finding the volume"
///     LookPastPredecessor()    "looking at the image"; WhySkip()
///                              "waiting for another instance of this daemon to end"
///     Measure()                "measuring"
///     HasNothingToFree()       no object exists, so that it is done
///     Change(), or the reason to skip it:
///                              Take() the lease, Look()
///                              BeginMutation(), "taking the lock"
///       Work()                 TakeLock(), Look() once more
///                              GiveBack() the lease: work gives way to others
///                              "sparsifying": WatchOver() looks all the time
///       DropMark()
///     Measure()                "measuring"
// clang-format on
///
/// The exclusive lock is taken only where nobody has it, and given to whoever
/// asks for it. Somebody who opens the image ends the work within a second. It
/// may take hours, outlives its callers and can be stopped at any moment; what
/// was freed stays freed, and the next call begins anew.
///
/// NOT_FOUND: no such volume or image. INVALID_ARGUMENT: sparseSize does not
/// fit the image. ABORTED: another daemon is at work. UNAVAILABLE and
/// DEADLINE_EXCEEDED, after waiting: the cluster does not answer.
absl::StatusOr<SparsifyResult> Sparsify(OperationContext& context,
                                        SparsifyEnvironment& environment,
                                        const SparsifyRequest& request);

}  // namespace addons

#endif  // ADDONS_RECLAIMSPACE_SPARSIFY_H_
