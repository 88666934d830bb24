// The rbd groups of a pool.

#include <cerrno>
#include <string>
#include <vector>

#include "tests/fakes/fake_pool.h"
#include "tests/fakes/groups.h"

namespace addons {
namespace {

using model::Model;
using model::Site;

}  // namespace

absl::StatusOr<std::vector<GroupImage>> FakePool::GroupImages(
    const std::string& group) {
  std::vector<GroupImage> images;
  const int r = Run("rbd_group_image_list", group, Needs::kOsd, false,
                    [&](Model&, Site& site, SteadyDuration*) {
                      images = model::GroupImages(site, site.pools[id_],
                                                  rados_namespace_, group);
                      return 0;
                    });
  if (r < 0) return Error(r, "list the images of rbd group", group);
  return images;
}

absl::StatusOr<std::vector<std::string>> FakePool::GroupSnapshots(
    const std::string& group) {
  std::vector<std::string> names;
  const int r =
      Run("rbd_group_snap_list", group, Needs::kOsd, false,
          [&](Model&, Site& site, SteadyDuration*) {
            const auto& all = Space(site).group_snapshots;
            const auto found = all.find(group);
            if (found != all.end()) {
              names.assign(found->second.begin(), found->second.end());
            }
            return 0;
          });
  if (r == -ENOENT) return std::vector<std::string>();
  if (r < 0) return Error(r, "list the snapshots of rbd group", group);
  return names;
}

absl::Status FakePool::CreateGroup(const std::string& group) {
  return Change("rbd_group_create", "create rbd group", group, [&](Site& site) {
    return model::CreateGroup(Space(site), group);
  });
}

absl::Status FakePool::RemoveGroup(const std::string& group) {
  return Change("rbd_group_remove", "remove rbd group", group, [&](Site& site) {
    const int r =
        model::RemoveGroup(site, site.pools[id_], rados_namespace_, group);
    return r == -ENOENT ? 0 : r;
  });
}

absl::Status FakePool::AddGroupImage(const std::string& group,
                                     int64_t image_pool_id,
                                     const ImageName& image) {
  return Change("rbd_group_image_add", "add an image to rbd group", group,
                [&](Site& site) {
                  return model::AddGroupImage(site, site.pools[id_],
                                              rados_namespace_, group,
                                              image_pool_id, image.text());
                });
}

absl::Status FakePool::RemoveGroupImage(const std::string& group,
                                        int64_t image_pool_id,
                                        const std::string& image_id) {
  return Change("rbd_group_image_remove_by_id",
                "take an image out of rbd group", group, [&](Site& site) {
                  return model::RemoveGroupImage(site, site.pools[id_],
                                                 rados_namespace_, group,
                                                 image_pool_id, image_id);
                });
}

}  // namespace addons
