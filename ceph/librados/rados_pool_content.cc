// RadosPool: what objects hold, now and at snapshots.

#include <cerrno>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/librados/object_snapshots.h"
#include "ceph/librados/rados_pool.h"

namespace addons {

static_assert(kHead == LIBRADOS_SNAP_HEAD);

absl::StatusOr<std::vector<ObjectSnapshots>> RadosPool::ListSnapshots(
    const std::vector<std::string>& objects) {
  std::vector<ListedObject> listed;
  const int result = connection_->Call("rados_list_snaps", [&] {
    return ListObjectSnapshots(ioctx_->get(), objects, listed);
  });
  if (result < 0) {
    return CephError(result, "list the snapshots of objects of", PoolText());
  }
  std::vector<ObjectSnapshots> found;
  found.reserve(listed.size());
  for (ListedObject& object : listed) {
    ObjectSnapshots snapshots{object.newest_snapshot, {}};
    for (ListedClone& clone : object.clones) {
      std::vector<ImageRange> overlap;
      for (const auto& [offset, length] : clone.overlap) {
        overlap.push_back({offset, length});
      }
      snapshots.clones.push_back({clone.head ? kHead : clone.id,
                                  std::move(clone.snapshots),
                                  std::move(overlap), clone.bytes});
    }
    found.push_back(std::move(snapshots));
  }
  return found;
}

absl::StatusOr<std::optional<StoredObject>> RadosPool::ReadObject(
    const std::string& object, uint64_t snapshot, uint64_t bytes) {
  StoredObject found;
  found.bytes.resize(bytes);
  rados_ioctx_snap_set_read(ioctx_->get(), snapshot);
  const int result = connection_->Call("rados_read", [&] {
    const int read = rados_read(ioctx_->get(), object.c_str(),
                                found.bytes.data(), found.bytes.size(), 0);
    found.version = rados_get_last_version(ioctx_->get());
    return read;
  });
  rados_ioctx_snap_set_read(ioctx_->get(), LIBRADOS_SNAP_HEAD);
  if (result == -ENOENT) return std::nullopt;
  if (result < 0) return CephError(result, "read", ObjectText(object));
  found.bytes.resize(static_cast<size_t>(result));
  return found;
}

absl::StatusOr<bool> RadosPool::ReplaceObject(
    const std::string& object, const std::optional<uint64_t>& version,
    const std::optional<std::string>& bytes) {
  ADDONS_RETURN_IF_ERROR(CheckWritable(ObjectText(object)));
  const WriteOp op(rados_create_write_op());
  if (version.has_value()) {
    rados_write_op_assert_version(op.get(), *version);
  } else {
    rados_write_op_create(op.get(), LIBRADOS_CREATE_EXCLUSIVE, nullptr);
  }
  if (bytes.has_value()) {
    rados_write_op_write_full(op.get(), bytes->data(), bytes->size());
  } else {
    rados_write_op_remove(op.get());
  }
  const int result = Operate(op, object);
  // Older, newer, gone, and there.
  if (result == -ERANGE || result == -EOVERFLOW || result == -ENOENT ||
      result == -EEXIST) {
    return false;
  }
  if (result < 0) return CephError(result, "replace", ObjectText(object));
  return true;
}

}  // namespace addons
