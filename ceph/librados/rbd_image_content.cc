// The content of an image: what RbdImage reads and writes of it.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "ceph/errors.h"
#include "ceph/librados/rbd_image.h"

namespace addons {
namespace {

constexpr size_t kMaxPrefix = 512;

bool OnlyZeros(const std::string& bytes) {
  // Compares the bytes with themselves, one further.
  return bytes.empty() ||
         (bytes.front() == '\0' &&
          std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

/// Starts `count` requests and waits for all of them; the first error.
int RunTogether(size_t count,
                absl::FunctionRef<int(size_t, rbd_completion_t)> start) {
  std::vector<Completion> started;
  started.reserve(count);
  int result = 0;
  for (size_t i = 0; i < count && result >= 0; ++i) {
    Completion completion;
    result = completion.Keep(
        rbd_aio_create_completion(nullptr, nullptr, completion.Receive()));
    if (result < 0) break;
    result = start(i, completion.get());
    // A request that was not accepted never completes.
    if (result >= 0) started.push_back(std::move(completion));
  }
  for (const Completion& completion : started) {
    rbd_aio_wait_for_complete(completion.get());
    const auto ended =
        static_cast<int>(rbd_aio_get_return_value(completion.get()));
    if (ended < 0 && result >= 0) result = ended;
  }
  return result < 0 ? result : 0;
}

}  // namespace

absl::Status RbdImage::SelectSnapshot(uint64_t snapshot_id) {
  const int result = connection_->Call("rbd_snap_set_by_id", [&] {
    return rbd_snap_set_by_id(image_.get(), snapshot_id);
  });
  return result < 0 ? Error(result, absl::StrCat("look at snapshot ",
                                                 snapshot_id, " of"))
                    : absl::OkStatus();
}

absl::StatusOr<ImageLayout> RbdImage::Layout() {
  ImageLayout layout;
  rbd_image_info_t info{};
  int result = connection_->Call(
      "rbd_stat", [&] { return rbd_stat(image_.get(), &info, sizeof(info)); });
  if (result >= 0) {
    result = connection_->Call("rbd_get_stripe_unit", [&] {
      return rbd_get_stripe_unit(image_.get(), &layout.stripe_unit);
    });
  }
  if (result >= 0) {
    result = connection_->Call("rbd_get_stripe_count", [&] {
      return rbd_get_stripe_count(image_.get(), &layout.stripe_count);
    });
  }
  if (result >= 0) {
    result = connection_->Call("rbd_get_data_pool_id", [&] {
      layout.data_pool_id = rbd_get_data_pool_id(image_.get());
      return layout.data_pool_id < 0 ? static_cast<int>(layout.data_pool_id)
                                     : 0;
    });
  }
  // "rbd_data." and an id, which the limit of names of pools' objects bounds.
  std::string prefix(kMaxPrefix, '\0');
  if (result >= 0) {
    result = connection_->Call("rbd_get_block_name_prefix", [&] {
      return rbd_get_block_name_prefix(image_.get(), prefix.data(),
                                       prefix.size());
    });
  }
  if (result < 0) return Error(result, "read the layout of");
  layout.object_prefix = prefix.c_str();
  layout.bytes = info.size;
  layout.object_bytes = info.obj_size;
  return layout;
}

absl::StatusOr<std::vector<ImageData>> RbdImage::Read(
    const std::vector<ImageRange>& ranges) {
  std::vector<ImageData> data(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    data[i].range = ranges[i];
    data[i].bytes.resize(ranges[i].length);
  }
  const int result = connection_->Call("rbd_aio_read", [&] {
    return RunTogether(data.size(), [&](size_t i, rbd_completion_t completion) {
      return rbd_aio_read(image_.get(), data[i].range.offset,
                          data[i].bytes.size(), data[i].bytes.data(),
                          completion);
    });
  });
  if (result < 0) return Error(result, "read");
  for (ImageData& piece : data) {
    if (OnlyZeros(piece.bytes)) piece.bytes.clear();
  }
  return data;
}

absl::Status RbdImage::Write(const std::vector<ImageData>& data) {
  uint64_t longest = 0;
  for (const ImageData& piece : data) {
    if (piece.bytes.empty()) longest = std::max(longest, piece.range.length);
  }
  const std::string zeros(longest, '\0');
  return Mutate("rbd_aio_write", "write to", [&] {
    return RunTogether(data.size(), [&](size_t i, rbd_completion_t completion) {
      const ImageData& piece = data[i];
      return rbd_aio_write(
          image_.get(), piece.range.offset, piece.range.length,
          piece.bytes.empty() ? zeros.data() : piece.bytes.data(), completion);
    });
  });
}

absl::Status RbdImage::Resize(uint64_t bytes) {
  return Mutate("rbd_resize2", "resize", [&] {
    return rbd_resize2(
        image_.get(), bytes, true, [](uint64_t, uint64_t, void*) { return 0; },
        nullptr);
  });
}

absl::Status RbdImage::CreateSnapshot(const std::string& name) {
  return Mutate("rbd_snap_create2",
                absl::StrCat("create snapshot '", name, "' of"), [&] {
                  return rbd_snap_create2(
                      image_.get(), name.c_str(), RBD_SNAP_CREATE_SKIP_QUIESCE,
                      [](uint64_t, uint64_t, void*) { return 0; }, nullptr);
                });
}

absl::Status RbdImage::RemoveSnapshot(uint64_t snapshot_id) {
  const absl::Status removed =
      Mutate("rbd_snap_remove_by_id",
             absl::StrCat("remove snapshot ", snapshot_id, " of"),
             [&] { return rbd_snap_remove_by_id(image_.get(), snapshot_id); });
  return CephErrno(removed) == ENOENT ? absl::OkStatus() : removed;
}

}  // namespace addons
