#include "replication/interrupted_copies.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status_macros.h"
#include "ceph/image.h"
#include "ceph/pool.h"
#include "replication/state/site_report.h"

namespace addons {
namespace {

/// An image of the pool.
struct Copy {
  std::string rados_namespace;
  std::string image_id;
  /// By the last report, which may be from before this site was demoted.
  bool reported_primary = false;
};

/// rbd-mirror of this site reports on its own primary images, too.
bool IsReportedPrimary(const ImageStatuses& image) {
  return std::any_of(
      image.sites.begin(), image.sites.end(), [](const SiteStatus& site) {
        return site.local() && RoleOf(site) == SiteRole::kPrimary;
      });
}

absl::Status AddImages(Cluster& cluster, int64_t pool_id,
                       const std::string& rados_namespace,
                       std::vector<Copy>* images) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> pool,
      cluster.OpenPool(pool_id, rados_namespace, Access::kRead));
  const auto statuses = pool->MirrorStatuses();
  if (absl::IsNotFound(statuses.status())) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(statuses.status());
  for (const ImageStatuses& image : *statuses) {
    images->push_back(
        {rados_namespace, image.image_id, IsReportedPrimary(image)});
  }
  return absl::OkStatus();
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
  const bool under_way =
      !newest.complete && newest.last_copied_object > 0 &&
      (newest.kind == MirrorSnapshotKind::kNonPrimary ||
       newest.kind == MirrorSnapshotKind::kNonPrimaryDemoted);
  if (!under_way) return std::nullopt;
  return std::move(newest);
}

/// Whether it was in the middle of a copy.
absl::StatusOr<bool> SetBack(Cluster& cluster, int64_t pool_id,
                             const Copy& copy) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> reads,
      cluster.OpenPool(pool_id, copy.rados_namespace, Access::kRead));
  // Without opening it: a pool may hold thousands of primaries.
  if (copy.reported_primary) {
    ADDONS_ASSIGN_OR_RETURN(const auto info,
                            reads->MirrorInfoById(copy.image_id));
    if (!info.has_value() || info->primary) return false;
  }
  ADDONS_ASSIGN_OR_RETURN(const auto seen, CopyUnderWay(*reads, copy.image_id));
  if (!seen.has_value()) return false;
  // Looked at once more with the record in hand: what has come to its end
  // meanwhile must not be made incomplete.
  ADDONS_ASSIGN_OR_RETURN(const std::string record,
                          reads->SnapshotRecord(copy.image_id, seen->id));
  ADDONS_ASSIGN_OR_RETURN(const auto now, CopyUnderWay(*reads, copy.image_id));
  if (!now.has_value() || now->id != seen->id) return false;
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> changes,
      cluster.OpenPool(pool_id, copy.rados_namespace, Access::kMutate));
  return changes->SetCopyProgress(copy.image_id, now->id, record,
                                  now->last_copied_object - 1);
}

}  // namespace

absl::StatusOr<uint64_t> SetBackInterruptedCopies(
    Cluster& cluster, int64_t pool_id, const std::string& own_namespace,
    size_t at_once) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> whole,
                          cluster.OpenPool(pool_id, "", Access::kRead));
  std::vector<Copy> images;
  absl::Status first;
  auto namespaces = whole->Namespaces();
  if (namespaces.ok()) {
    namespaces->emplace_back();  // the default one
  } else {
    first = namespaces.status();
    namespaces = std::vector<std::string>{own_namespace};
  }
  for (const std::string& name : *namespaces) {
    first.Update(AddImages(cluster, pool_id, name, &images));
  }
  std::vector<absl::StatusOr<bool>> done(images.size(), false);
  RunParallel(images.size(), at_once, [&](size_t i) {
    done[i] = SetBack(cluster, pool_id, images[i]);
  });
  uint64_t copies = 0;
  for (const absl::StatusOr<bool>& one : done) {
    if (one.ok()) {
      copies += *one ? 1 : 0;
    } else if (!absl::IsNotFound(one.status())) {  // gone meanwhile
      first.Update(one.status());
    }
  }
  ADDONS_RETURN_IF_ERROR(first);
  return copies;
}

}  // namespace addons
