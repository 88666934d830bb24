// RadosPool: making, filling and removing objects that have omap entries.

#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "ceph/encoding.h"
#include "ceph/errors.h"
#include "ceph/image_objects.h"
#include "ceph/librados/header_encoding.h"
#include "ceph/librados/rados_pool.h"
#include "ceph/librados/write_conditions.h"

namespace addons {
namespace {

std::string SnapshotKey(uint64_t snapshot_id) {
  return absl::StrFormat("snapshot_%016x", snapshot_id);
}

}  // namespace

absl::Status RadosPool::CheckWritable(const std::string& text) const {
  if (connection_->may_change()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("Failed to write ", text, ": its pool is open for reading"));
}

int RadosPool::Operate(const WriteOp& op, const std::string& object,
                       int flags) {
  return connection_->Call("rados_write_op_operate2", [&] {
    return rados_write_op_operate2(op.get(), ioctx_->get(), object.c_str(),
                                   nullptr, flags);
  });
}

absl::Status RadosPool::CreateObject(const std::string& object) {
  ADDONS_RETURN_IF_ERROR(CheckWritable(ObjectText(object)));
  const WriteOp op(rados_create_write_op());
  rados_write_op_create(op.get(), LIBRADOS_CREATE_EXCLUSIVE, nullptr);
  const int result = Operate(op, object);
  return result < 0 ? CephError(result, "create", ObjectText(object))
                    : absl::OkStatus();
}

absl::Status RadosPool::RemoveObject(const std::string& object) {
  ADDONS_RETURN_IF_ERROR(CheckWritable(ObjectText(object)));
  const WriteOp op(rados_create_write_op());
  rados_write_op_remove(op.get());
  const int result = Operate(op, object);
  return result < 0 && result != -ENOENT
             ? CephError(result, "remove", ObjectText(object))
             : absl::OkStatus();
}

absl::Status RadosPool::SetOmapValues(const std::string& object,
                                      const OmapValues& values) {
  ADDONS_RETURN_IF_ERROR(CheckWritable(ObjectText(object)));
  std::vector<const char*> keys;
  std::vector<const char*> texts;
  std::vector<size_t> key_sizes;
  std::vector<size_t> text_sizes;
  for (const auto& [key, text] : values) {
    keys.push_back(key.data());
    key_sizes.push_back(key.size());
    texts.push_back(text.data());
    text_sizes.push_back(text.size());
  }
  const WriteOp op(rados_create_write_op());
  rados_write_op_assert_exists(op.get());
  rados_write_op_omap_set2(op.get(), keys.data(), texts.data(),
                           key_sizes.data(), text_sizes.data(), keys.size());
  const int result = Operate(op, object);
  return result < 0 ? CephError(result, "write", ObjectText(object))
                    : absl::OkStatus();
}

absl::Status RadosPool::RemoveOmapKeys(const std::string& object,
                                       const std::vector<std::string>& keys) {
  ADDONS_RETURN_IF_ERROR(CheckWritable(ObjectText(object)));
  std::vector<const char*> texts;
  std::vector<size_t> sizes;
  for (const std::string& key : keys) {
    texts.push_back(key.data());
    sizes.push_back(key.size());
  }
  const WriteOp op(rados_create_write_op());
  rados_write_op_assert_exists(op.get());
  rados_write_op_omap_rm_keys2(op.get(), texts.data(), sizes.data(),
                               texts.size());
  const int result = Operate(op, object);
  return result < 0 ? CephError(result, "write", ObjectText(object))
                    : absl::OkStatus();
}

absl::StatusOr<bool> RadosPool::ChangeWhere(
    const std::string& object, const std::string& key, const std::string& value,
    absl::string_view action, absl::FunctionRef<void(rados_write_op_t)> add) {
  const WriteOp op(rados_create_write_op());
  OnlyWhere(op.get(), key, value);
  add(op.get());
  const int result = Operate(op, object);
  if (result == -ECANCELED) return false;
  if (result < 0) return CephError(result, action, ObjectText(object));
  return true;
}

absl::StatusOr<bool> RadosPool::RemoveOmapValue(const std::string& object,
                                                const std::string& key,
                                                const std::string& expected) {
  ADDONS_RETURN_IF_ERROR(CheckWritable(ObjectText(object)));
  if (expected.empty()) {
    // To omap_cmp an absent key has the empty value.
    return absl::InternalError(
        absl::StrCat("Failed to write ", ObjectText(object),
                     ": a value that is removed by comparison is not empty"));
  }
  return ChangeWhere(object, key, expected, "write", [&](rados_write_op_t op) {
    const std::array<const char*, 1> keys = {key.data()};
    const std::array<size_t, 1> sizes = {key.size()};
    rados_write_op_omap_rm_keys2(op, keys.data(), sizes.data(), keys.size());
  });
}

absl::StatusOr<std::string> RadosPool::SnapshotRecord(
    const std::string& image_id, uint64_t snapshot_id) {
  const std::string key = SnapshotKey(snapshot_id);
  ADDONS_ASSIGN_OR_RETURN(auto record,
                          ReadOmapKey(HeaderObject(image_id), key));
  if (record.has_value()) return *std::move(record);
  return CephError(
      -ENOENT, "read",
      absl::StrCat("'", key, "' of ", ObjectText(HeaderObject(image_id))));
}

absl::StatusOr<bool> RadosPool::SetCopyProgress(const std::string& image_id,
                                                uint64_t snapshot_id,
                                                const std::string& record,
                                                CopyNote note) {
  const std::string header = HeaderObject(image_id);
  ADDONS_RETURN_IF_ERROR(CheckWritable(ObjectText(header)));
  const std::string key = SnapshotKey(snapshot_id);
  const std::string input =
      absl::StrCat(EncodeNumber(snapshot_id, sizeof(snapshot_id)),
                   EncodeNumber(note.complete ? 1 : 0, 1),
                   EncodeNumber(note.objects, sizeof(note.objects)));
  return ChangeWhere(header, key, record, "set the copy progress in",
                     [&](rados_write_op_t op) {
                       rados_write_op_exec(
                           op, "rbd", "mirror_image_snapshot_set_copy_progress",
                           input.data(), input.size(), nullptr);
                     });
}

absl::StatusOr<bool> RadosPool::SetCopyKind(const std::string& image_id,
                                            uint64_t snapshot_id,
                                            const std::string& record,
                                            MirrorSnapshotKind kind) {
  const std::string header = HeaderObject(image_id);
  ADDONS_RETURN_IF_ERROR(CheckWritable(ObjectText(header)));
  const std::string key = SnapshotKey(snapshot_id);
  const std::optional<std::string> changed = EncodeCopyOfKind(record, kind);
  if (!changed.has_value()) {
    return absl::InternalError(absl::StrCat(
        "Failed to set the kind of a copied snapshot in ", ObjectText(header),
        ": '", key, "' is not written as up to Ceph 20"));
  }
  return ChangeWhere(
      header, key, record, "set the kind of a copied snapshot in",
      [&](rados_write_op_t op) {
        const std::array<const char*, 1> keys = {key.data()};
        const std::array<const char*, 1> values = {changed->data()};
        const std::array<size_t, 1> key_sizes = {key.size()};
        const std::array<size_t, 1> value_sizes = {changed->size()};
        rados_write_op_omap_set2(op, keys.data(), values.data(),
                                 key_sizes.data(), value_sizes.data(),
                                 keys.size());
      });
}

// As librbd does at the end of a promotion.
absl::StatusOr<bool> RadosPool::ClearNonPrimary(const std::string& image_id,
                                                uint64_t version) {
  const std::string header = HeaderObject(image_id);
  ADDONS_RETURN_IF_ERROR(CheckWritable(ObjectText(header)));
  constexpr uint64_t kFeatures = 0;
  constexpr uint64_t kMask = RBD_FEATURE_NON_PRIMARY;
  const std::string input =
      absl::StrCat(EncodeNumber(kFeatures, sizeof(kFeatures)),
                   EncodeNumber(kMask, sizeof(kMask)));
  const WriteOp op(rados_create_write_op());
  rados_write_op_assert_version(op.get(), version);
  rados_write_op_exec(op.get(), "rbd", "set_features", input.data(),
                      input.size(), nullptr);
  const int result = Operate(op, header);
  // Older, newer, and gone.
  if (result == -ERANGE || result == -EOVERFLOW || result == -ENOENT) {
    return false;
  }
  if (result < 0) {
    return CephError(result, "let be written to through", ObjectText(header));
  }
  return true;
}

}  // namespace addons
