// RbdImage: the rbd group that it belongs to.

#include "ceph/librados/rbd_image.h"

namespace addons {

absl::StatusOr<std::optional<GroupSpec>> RbdImage::Group() {
  rbd_group_info_t info = {};
  const int result = connection_->Call("rbd_get_group", [&] {
    return rbd_get_group(image_.get(), &info, sizeof(info));
  });
  if (result < 0) return Error(result, "read the group of");
  const Cleanup cleanup(
      [&] { rbd_group_info_cleanup(&info, sizeof(rbd_group_info_t)); });
  if (info.name == nullptr || *info.name == '\0') return std::nullopt;
  return GroupSpec{info.pool, info.name};
}

}  // namespace addons
