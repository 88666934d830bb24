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
#include "replication/copy_beginning.h"
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
      !newest.complete &&
      (newest.kind == MirrorSnapshotKind::kNonPrimary ||
       newest.kind == MirrorSnapshotKind::kNonPrimaryDemoted);
  if (!under_way) return std::nullopt;
  return std::move(newest);
}

/// The copy of this image that is under way, set back; nullopt: there is none,
/// or it goes on or has ended.
absl::StatusOr<std::optional<MirrorSnapshot>> SetBack(Cluster& cluster,
                                                      int64_t pool_id,
                                                      const Copy& copy) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> reads,
      cluster.OpenPool(pool_id, copy.rados_namespace, Access::kRead));
  // Without opening it: a pool may hold thousands of primaries.
  if (copy.reported_primary) {
    ADDONS_ASSIGN_OR_RETURN(const auto info,
                            reads->MirrorInfoById(copy.image_id));
    if (!info.has_value() || info->primary) return std::nullopt;
  }
  ADDONS_ASSIGN_OR_RETURN(const auto seen, CopyUnderWay(*reads, copy.image_id));
  if (!seen.has_value() || seen->last_copied_object == 0) return seen;
  // Looked at once more with the record in hand: what has come to its end
  // meanwhile must not be made incomplete.
  ADDONS_ASSIGN_OR_RETURN(const std::string record,
                          reads->SnapshotRecord(copy.image_id, seen->id));
  ADDONS_ASSIGN_OR_RETURN(auto now, CopyUnderWay(*reads, copy.image_id));
  if (!now.has_value() || now->id != seen->id) return std::nullopt;
  if (now->last_copied_object == 0) return now;
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> changes,
      cluster.OpenPool(pool_id, copy.rados_namespace, Access::kMutate));
  --now->last_copied_object;
  ADDONS_ASSIGN_OR_RETURN(
      const bool set, changes->SetCopyProgress(copy.image_id, now->id, record,
                                               now->last_copied_object));
  if (!set) return std::nullopt;
  return now;
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
  std::vector<absl::StatusOr<std::optional<MirrorSnapshot>>> set_back(
      images.size(), std::nullopt);
  RunParallel(images.size(), at_once, [&](size_t i) {
    set_back[i] = SetBack(cluster, pool_id, images[i]);
  });
  // After all of those, because each of these looks at all objects.
  std::vector<absl::Status> put_back(images.size());
  RunParallel(images.size(), at_once, [&](size_t i) {
    if (!set_back[i].ok() || !set_back[i]->has_value()) return;
    const MirrorSnapshot& copy = **set_back[i];
    if (copy.last_copied_object > 0) return;
    put_back[i] =
        PutBackCopyBeginning(cluster, pool_id, images[i].rados_namespace,
                             images[i].image_id, copy.id)
            .status();
  });
  uint64_t copies = 0;
  for (size_t i = 0; i < images.size(); ++i) {
    for (const absl::Status& status : {set_back[i].status(), put_back[i]}) {
      if (!absl::IsNotFound(status)) first.Update(status);  // gone meanwhile
    }
    if (set_back[i].ok() && set_back[i]->has_value()) ++copies;
  }
  ADDONS_RETURN_IF_ERROR(first);
  return copies;
}

}  // namespace addons
