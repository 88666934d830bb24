#include "replication/steps/interrupted_copies.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "ceph/image.h"
#include "ceph/pool.h"
#include "replication/look/report.h"
#include "replication/steps/copy_beginning.h"

namespace addons {
namespace {

/// What fails is tried so often, but not once more so long after the begin:
/// when rbd-mirror is back, the number no more tells which object it left out.
constexpr int kTries = 3;
constexpr std::chrono::seconds kTriesEnd{15};

/// The last result of `body`, a StatusOr. That something is not there, or that
/// the user may not do it, is no reason to try again.
template <typename Body>
auto TryUntil(SteadyTime end, const Body& body) {
  auto result = body();
  for (int tries = 1; tries < kTries && RealClock().Now() < end; ++tries) {
    if (result.ok() || absl::IsNotFound(result.status()) ||
        absl::IsPermissionDenied(result.status())) {
      break;
    }
    result = body();
  }
  return result;
}

/// An image of the pool.
struct Copy {
  std::string rados_namespace;
  std::string image_id;
  /// By the last report, which may be from before this site was demoted.
  bool reported_primary = false;
};

absl::StatusOr<std::vector<Copy>> Images(Cluster& cluster, int64_t pool_id,
                                         const std::string& rados_namespace) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> pool,
      cluster.OpenPool(pool_id, rados_namespace, Access::kRead));
  const auto statuses = pool->MirrorStatuses();
  if (absl::IsNotFound(statuses.status())) return std::vector<Copy>();
  ADDONS_RETURN_IF_ERROR(statuses.status());
  std::vector<Copy> images;
  images.reserve(statuses->size());
  for (const ImageStatuses& image : *statuses) {
    images.push_back(
        {rados_namespace, image.image_id, IsReportedPrimary(image)});
  }
  return images;
}

/// The copy that is under way, if there is one.
absl::StatusOr<std::optional<MirrorSnapshot>> CopyUnderWay(
    Pool& pool, const std::string& image_id) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                          pool.OpenImageByIdReadOnly(image_id));
  ADDONS_ASSIGN_OR_RETURN(std::vector<MirrorSnapshot> snapshots,
                          image->MirrorSnapshots());
  ADDONS_RETURN_IF_ERROR(image->Close());
  if (snapshots.empty()) return std::nullopt;
  MirrorSnapshot& newest = snapshots.back();
  if (newest.complete || !newest.copied()) return std::nullopt;
  return std::move(newest);
}

/// Of one image.
struct Outcome {
  bool changed = false;
  /// The snapshot of a copy of which no object is noted.
  std::optional<uint64_t> beginning;
};

absl::StatusOr<Outcome> SetBack(Cluster& cluster, int64_t pool_id,
                                const Copy& copy) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> reads,
      cluster.OpenPool(pool_id, copy.rados_namespace, Access::kRead));
  // Without opening it: a pool may hold thousands of primaries.
  if (copy.reported_primary) {
    ADDONS_ASSIGN_OR_RETURN(const auto info,
                            reads->MirrorInfoById(copy.image_id));
    if (!info.has_value() || info->primary) return Outcome();
  }
  ADDONS_ASSIGN_OR_RETURN(const auto seen, CopyUnderWay(*reads, copy.image_id));
  if (!seen.has_value()) return Outcome();
  if (seen->last_copied_object == 0) return Outcome{false, seen->id};
  // Looked at once more with the record in hand: what has come to its end
  // meanwhile must not be made incomplete.
  ADDONS_ASSIGN_OR_RETURN(const std::string record,
                          reads->SnapshotRecord(copy.image_id, seen->id));
  ADDONS_ASSIGN_OR_RETURN(const auto now, CopyUnderWay(*reads, copy.image_id));
  if (!now.has_value() || now->id != seen->id || now->last_copied_object == 0) {
    return Outcome();
  }
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> changes,
      cluster.OpenPool(pool_id, copy.rados_namespace, Access::kMutate));
  const uint64_t objects = now->last_copied_object - 1;
  ADDONS_ASSIGN_OR_RETURN(
      const bool set,
      changes->SetCopyProgress(copy.image_id, now->id, record, objects));
  Outcome outcome{set, std::nullopt};
  if (set && objects == 0) outcome.beginning = now->id;
  return outcome;
}

/// Of a copy of which no object is noted.
absl::StatusOr<Outcome> PutBackBeginning(Cluster& cluster, int64_t pool_id,
                                         const Copy& copy, Outcome outcome) {
  if (!outcome.beginning.has_value()) return outcome;
  ADDONS_ASSIGN_OR_RETURN(
      const uint64_t objects,
      PutBackCopyBeginning(cluster, pool_id, copy.rados_namespace,
                           copy.image_id, *outcome.beginning));
  outcome.changed = outcome.changed || objects > 0;
  return outcome;
}

}  // namespace

absl::StatusOr<uint64_t> SetBackInterruptedCopies(
    Cluster& cluster, int64_t pool_id, const std::string& own_namespace,
    size_t at_once) {
  const SteadyTime end = RealClock().Now() + kTriesEnd;
  std::vector<Copy> images;
  absl::Status first;
  auto namespaces =
      TryUntil(end, [&]() -> absl::StatusOr<std::vector<std::string>> {
        ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> whole,
                                cluster.OpenPool(pool_id, "", Access::kRead));
        return whole->Namespaces();
      });
  if (namespaces.ok()) {
    namespaces->emplace_back();  // the default one
  } else {
    first = namespaces.status();
    namespaces = std::vector<std::string>{own_namespace};
  }
  for (const std::string& name : *namespaces) {
    const auto found =
        TryUntil(end, [&] { return Images(cluster, pool_id, name); });
    first.Update(found.status());
    if (found.ok()) images.insert(images.end(), found->begin(), found->end());
  }
  std::vector<absl::StatusOr<Outcome>> outcomes(images.size(), Outcome());
  RunParallel(images.size(), at_once, [&](size_t i) {
    outcomes[i] =
        TryUntil(end, [&] { return SetBack(cluster, pool_id, images[i]); });
  });
  // After all of those, because each of these looks at all objects.
  RunParallel(images.size(), at_once, [&](size_t i) {
    if (!outcomes[i].ok()) return;
    outcomes[i] = TryUntil(end, [&, outcome = *outcomes[i]] {
      return PutBackBeginning(cluster, pool_id, images[i], outcome);
    });
  });
  uint64_t copies = 0;
  for (const absl::StatusOr<Outcome>& outcome : outcomes) {
    if (outcome.ok()) {
      copies += outcome->changed ? 1 : 0;
    } else if (!absl::IsNotFound(outcome.status())) {  // gone meanwhile
      first.Update(outcome.status());
    }
  }
  ADDONS_RETURN_IF_ERROR(first);
  return copies;
}

}  // namespace addons
