#include "replication/steps/ceph_faults/interrupted_copies.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/image_name.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "ceph/image.h"
#include "ceph/pool.h"
#include "replication/look/report.h"
#include "replication/look/rescue_record.h"
#include "replication/steps/ceph_faults/begun_copy.h"
#include "replication/steps/ceph_faults/stored_copy.h"

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

/// Of one image.
struct Outcome {
  bool changed = false;
  /// The snapshot of a copy of which no object is noted.
  std::optional<uint64_t> beginning;
};

/// A forced promotion that died has left the copy noted as complete, see
/// RescueStep::kMarked. Who works on it has its rescue image open.
absl::StatusOr<Outcome> Unmark(Pool& reads, Pool& changes,
                               const std::string& image_id,
                               const NewestCopy& copy) {
  const ImageName rescue_name = RescueImageName(copy.image);
  ADDONS_ASSIGN_OR_RETURN(const bool there, reads.HasImage(rescue_name));
  if (!there) return Outcome();
  auto rescue = reads.OpenImageReadOnly(rescue_name);
  if (absl::IsNotFound(rescue.status())) return Outcome();
  ADDONS_RETURN_IF_ERROR(rescue.status());
  ADDONS_ASSIGN_OR_RETURN(RescueRecord record, ReadRescueRecord(**rescue));
  ADDONS_ASSIGN_OR_RETURN(const auto watchers, (*rescue)->Watchers());
  ADDONS_RETURN_IF_ERROR((*rescue)->Close());
  if (record.image_id != image_id || !IsMarked(record, copy.snapshot)) {
    return Outcome();
  }
  if (!watchers.empty()) {
    return absl::UnavailableError(absl::StrCat("image '", copy.image.text(),
                                               "' is being promoted by force"));
  }
  ADDONS_ASSIGN_OR_RETURN(const bool set, UnmarkCopy(reads, changes, record));
  if (!set) return Outcome();
  // Otherwise it would be taken for the copy of a marked one when it has become
  // complete and is gone.
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> writable,
                          changes.OpenImage(rescue_name));
  record.step = RescueStep::kSaved;
  const absl::Status written = WriteRescueRecord(*writable, record);
  const absl::Status closed = writable->Close();
  ADDONS_RETURN_IF_ERROR(written);
  ADDONS_RETURN_IF_ERROR(closed);
  return Outcome{true, std::nullopt};
}

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
  ADDONS_ASSIGN_OR_RETURN(const auto newest,
                          ReadNewestCopy(*reads, copy.image_id));
  if (!newest.has_value()) return Outcome();
  const MirrorSnapshot& seen = newest->snapshot;
  if (!seen.complete && seen.last_copied_object == 0) {
    return Outcome{false, seen.id};
  }
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> changes,
      cluster.OpenPool(pool_id, copy.rados_namespace, Access::kMutate));
  if (seen.complete) return Unmark(*reads, *changes, copy.image_id, *newest);
  // Looked at once more with the record in hand: what has come to its end
  // meanwhile must not be made incomplete.
  ADDONS_ASSIGN_OR_RETURN(const auto now,
                          ReadStoredCopy(*reads, copy.image_id, seen.id));
  if (!now.has_value() || now->snapshot.complete ||
      now->snapshot.last_copied_object == 0) {
    return Outcome();
  }
  const uint64_t objects = now->snapshot.last_copied_object - 1;
  ADDONS_ASSIGN_OR_RETURN(
      const bool set,
      changes->SetCopyProgress(copy.image_id, seen.id, now->record, {objects}));
  Outcome outcome{set, std::nullopt};
  if (set && objects == 0) outcome.beginning = seen.id;
  return outcome;
}

/// Of a copy of which no object is noted.
absl::StatusOr<Outcome> PutBackBeginning(Cluster& cluster, int64_t pool_id,
                                         const Copy& copy, Outcome outcome) {
  if (!outcome.beginning.has_value()) return outcome;
  ADDONS_ASSIGN_OR_RETURN(const uint64_t objects,
                          UndoBegunCopy(cluster, pool_id, copy.rados_namespace,
                                        copy.image_id, *outcome.beginning));
  outcome.changed = outcome.changed || objects > 0;
  return outcome;
}

}  // namespace

absl::StatusOr<uint64_t> RewindInterruptedCopies(
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
