#include "tests/cluster/disk.h"

#include <rados/librados.h>
#include <rbd/librbd.h>

#include <array>
#include <functional>
#include <vector>

namespace addons::testing {
namespace {

constexpr uint64_t kObject = uint64_t{4} << 20;
constexpr size_t kBlock = 4096;

}  // namespace

struct Disk::Handles {
  rados_t cluster = nullptr;
  rados_ioctx_t pool = nullptr;
  rbd_image_t image = nullptr;
};

Disk::Disk(const std::string& ceph_conf, const std::string& pool,
           const std::string& rados_namespace, const std::string& image,
           Mode mode)
    : handles_(std::make_unique<Handles>()) {
  result_ = rados_create(&handles_->cluster, "admin");
  if (result_ < 0) return;
  result_ = rados_conf_read_file(handles_->cluster, ceph_conf.c_str());
  if (result_ < 0) return;
  rados_conf_set(handles_->cluster, "rbd_cache", "false");
  result_ = rados_connect(handles_->cluster);
  if (result_ < 0) return;
  result_ =
      rados_ioctx_create(handles_->cluster, pool.c_str(), &handles_->pool);
  if (result_ < 0) return;
  rados_ioctx_set_namespace(handles_->pool, rados_namespace.c_str());
  rbd_image_t opened = nullptr;
  result_ =
      mode == Mode::kWritable
          ? rbd_open(handles_->pool, image.c_str(), &opened, nullptr)
          : rbd_open_read_only(handles_->pool, image.c_str(), &opened, nullptr);
  if (result_ < 0) return;
  handles_->image = opened;
  result_ = rbd_get_size(handles_->image, &size_);
}

Disk::~Disk() {
  if (handles_->image != nullptr) rbd_close(handles_->image);
  if (handles_->pool != nullptr) rados_ioctx_destroy(handles_->pool);
  if (handles_->cluster != nullptr) rados_shutdown(handles_->cluster);
}

int Disk::Write(uint64_t offset, const std::string& data) {
  if (result_ < 0) return result_;
  const ssize_t written =
      rbd_write(handles_->image, offset, data.size(), data.data());
  return written < 0 ? static_cast<int>(written) : 0;
}

int Disk::Discard(uint64_t offset, uint64_t bytes) {
  if (result_ < 0) return result_;
  if (const int result = rbd_discard(handles_->image, offset, bytes);
      result < 0) {
    return result;
  }
  return rbd_flush(handles_->image);
}

int Disk::WriteZeroes(uint64_t offset, uint64_t bytes) {
  if (result_ < 0) return result_;
  const ssize_t zeroed = rbd_write_zeroes(handles_->image, offset, bytes,
                                          /*zero_flags=*/0, /*op_flags=*/0);
  return zeroed < 0 ? static_cast<int>(zeroed) : rbd_flush(handles_->image);
}

int Disk::Fill(const std::string& text, uint64_t bytes) {
  std::string block = text;
  block.resize(kBlock, '.');
  for (uint64_t offset = 0; offset < bytes && offset < size_;
       offset += kObject) {
    if (const int result = Write(offset, block); result < 0) return result;
  }
  return result_ < 0 ? result_ : rbd_flush(handles_->image);
}

std::string Disk::Read(uint64_t offset, size_t size) {
  std::string data(size, '\0');
  if (result_ < 0) return "";
  const ssize_t got = rbd_read(handles_->image, offset, size, data.data());
  if (got < 0) return "";
  data.resize(static_cast<size_t>(got));
  return data;
}

std::string Disk::Metadata(const std::string& key) {
  std::array<char, 4096> value{};
  size_t size = value.size();
  if (result_ < 0 ||
      rbd_metadata_get(handles_->image, key.c_str(), value.data(), &size) < 0) {
    return "";
  }
  return value.data();
}

int Disk::HangWhenQuiesced() {
  if (result_ < 0) return result_;
  uint64_t handle = 0;
  return rbd_quiesce_watch(
      handles_->image, [](void*) {}, [](void*) {}, nullptr, &handle);
}

uint64_t Disk::Digest() {
  uint64_t digest = 14695981039346656037u;
  for (uint64_t offset = 0; offset < size_; offset += kObject) {
    const std::string chunk = Read(offset, kObject);
    digest = (digest ^ std::hash<std::string>()(chunk)) * 1099511628211u;
  }
  return digest;
}

}  // namespace addons::testing
