#include "volume/group_images.h"

#include <memory>
#include <vector>

#include "base/status_macros.h"
#include "ceph/pool.h"

namespace addons {

bool GroupImages::NamedBy(const std::optional<GroupSpec>& image) const {
  return image == GroupSpec{group_.pool_id, group_.attributes.group_name};
}

absl::StatusOr<GroupImages::Names> GroupImages::List(
    bool incomplete_too) const {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          group_.OpenPool(Access::kRead));
  ADDONS_ASSIGN_OR_RETURN(const std::vector<GroupImage> images,
                          pool->GroupImages(group_.attributes.group_name));
  Names names;
  for (const GroupImage& image : images) {
    if (image.complete || incomplete_too) {
      names.emplace(image.pool_id, image.image);
    }
  }
  return names;
}

absl::StatusOr<GroupImages::Names> GroupImages::All() const {
  return List(/*incomplete_too=*/true);
}

absl::StatusOr<GroupImages::Names> GroupImages::Complete() const {
  return List(/*incomplete_too=*/false);
}

absl::Status GroupImages::Add(const ResolvedVolume& volume) const {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          group_.OpenPool(Access::kMutate));
  return pool->AddGroupImage(group_.attributes.group_name, volume.pool_id,
                             volume.image_name());
}

absl::Status GroupImages::Remove(const ResolvedVolume& volume,
                                 const std::string& image_id) const {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          group_.OpenPool(Access::kMutate));
  const absl::Status removed = pool->RemoveGroupImage(
      group_.attributes.group_name, volume.pool_id, image_id);
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

}  // namespace addons
