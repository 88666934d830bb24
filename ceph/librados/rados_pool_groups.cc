// RadosPool: rbd groups.

#include <cerrno>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/librados/rados_pool.h"
#include "ceph/librados/sized_buffer.h"

namespace addons {
namespace {

constexpr size_t kMaxGroupImages = 65536;
constexpr size_t kMaxGroupSnapshots = 65536;

}  // namespace

std::string RadosPool::GroupText(const std::string& group) const {
  return absl::StrCat("rbd group '", absl::CHexEscape(Spec(group)), "'");
}

absl::Status RadosPool::ChangeGroup(absl::string_view function,
                                    absl::string_view action,
                                    const std::string& group,
                                    absl::FunctionRef<int()> call) {
  ADDONS_RETURN_IF_ERROR(CheckWritable(GroupText(group)));
  const int result = connection_->Call(function, call);
  return result < 0 ? CephError(result, action, GroupText(group))
                    : absl::OkStatus();
}

absl::StatusOr<std::vector<GroupImage>> RadosPool::GroupImages(
    const std::string& group) {
  std::vector<rbd_group_image_info_t> images;
  size_t count = 0;
  const int result = GrowUntilItFits(
      128, kMaxGroupImages, [&](size_t capacity, size_t& needed) {
        images.assign(capacity, rbd_group_image_info_t{});
        count = capacity;
        const int listed = connection_->Call("rbd_group_image_list", [&] {
          return rbd_group_image_list(ioctx_->get(), group.c_str(),
                                      images.data(),
                                      sizeof(rbd_group_image_info_t), &count);
        });
        needed = count;
        return listed;
      });
  if (result < 0) {
    return CephError(result, "list the images of", GroupText(group));
  }
  const Cleanup cleanup([&] {
    rbd_group_image_list_cleanup(images.data(), sizeof(rbd_group_image_info_t),
                                 count);
  });
  std::vector<GroupImage> found;
  found.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const rbd_group_image_info_t& image = images[i];
    found.push_back({image.pool,
                     ImageName(image.name == nullptr ? "" : image.name),
                     image.state == RBD_GROUP_IMAGE_STATE_ATTACHED});
  }
  return found;
}

absl::StatusOr<std::vector<std::string>> RadosPool::GroupSnapshots(
    const std::string& group) {
  std::vector<rbd_group_snap_info_t> snapshots;
  size_t count = 0;
  const int result = GrowUntilItFits(
      16, kMaxGroupSnapshots, [&](size_t capacity, size_t& needed) {
        snapshots.assign(capacity, rbd_group_snap_info_t{});
        count = capacity;
        const int listed = connection_->Call("rbd_group_snap_list", [&] {
          return rbd_group_snap_list(ioctx_->get(), group.c_str(),
                                     snapshots.data(),
                                     sizeof(rbd_group_snap_info_t), &count);
        });
        needed = count;
        return listed;
      });
  if (result == -ENOENT) return std::vector<std::string>();
  if (result < 0) {
    return CephError(result, "list the snapshots of", GroupText(group));
  }
  const Cleanup cleanup([&] {
    rbd_group_snap_list_cleanup(snapshots.data(), sizeof(rbd_group_snap_info_t),
                                count);
  });
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    names.emplace_back(snapshots[i].name == nullptr ? "" : snapshots[i].name);
  }
  return names;
}

absl::Status RadosPool::CreateGroup(const std::string& group) {
  return ChangeGroup("rbd_group_create", "create", group, [&] {
    return rbd_group_create(ioctx_->get(), group.c_str());
  });
}

absl::Status RadosPool::RemoveGroup(const std::string& group) {
  const absl::Status status = ChangeGroup(
      "rbd_group_remove", "remove", group,
      [&] { return rbd_group_remove(ioctx_->get(), group.c_str()); });
  return CephErrno(status) == ENOENT ? absl::OkStatus() : status;
}

absl::Status RadosPool::AddGroupImage(const std::string& group,
                                      int64_t image_pool_id,
                                      const ImageName& image) {
  ADDONS_ASSIGN_OR_RETURN(const IoctxHandle image_ioctx,
                          connection_->OpenIoctx(image_pool_id, namespace_));
  return ChangeGroup(
      "rbd_group_image_add",
      absl::StrCat("add image '", absl::CHexEscape(image.text()), "' to"),
      group, [&] {
        return rbd_group_image_add(ioctx_->get(), group.c_str(),
                                   image_ioctx.get(), image.text().c_str());
      });
}

absl::Status RadosPool::RemoveGroupImage(const std::string& group,
                                         int64_t image_pool_id,
                                         const std::string& image_id) {
  ADDONS_ASSIGN_OR_RETURN(const IoctxHandle image_ioctx,
                          connection_->OpenIoctx(image_pool_id, namespace_));
  return ChangeGroup("rbd_group_image_remove_by_id",
                     absl::StrCat("take the image with id '",
                                  absl::CHexEscape(image_id), "' out of"),
                     group, [&] {
                       return rbd_group_image_remove_by_id(
                           ioctx_->get(), group.c_str(), image_ioctx.get(),
                           image_id.c_str());
                     });
}

}  // namespace addons
