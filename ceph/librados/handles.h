#ifndef ADDONS_CEPH_LIBRADOS_HANDLES_H_
#define ADDONS_CEPH_LIBRADOS_HANDLES_H_

#include <rados/librados.h>
#include <rbd/librbd.h>

#include <utility>

namespace addons {

// librados and librbd call every handle void*, and take one for another without
// a word from the compiler. Here each kind is a type of its own.

/// Owns a handle of one kind, which `release` ends. Move-only; empty after a
/// move.
template <typename Raw, auto* release>
class OwnedHandle {
 public:
  OwnedHandle() = default;
  explicit OwnedHandle(Raw raw) : raw_(raw) {}
  ~OwnedHandle() { Reset(); }
  OwnedHandle(OwnedHandle&& other) noexcept
      : raw_(std::exchange(other.raw_, nullptr)) {}
  OwnedHandle& operator=(OwnedHandle&& other) noexcept {
    if (this != &other) {
      Reset();
      raw_ = std::exchange(other.raw_, nullptr);
    }
    return *this;
  }
  OwnedHandle(const OwnedHandle&) = delete;
  OwnedHandle& operator=(const OwnedHandle&) = delete;

  Raw get() const { return raw_; }
  explicit operator bool() const { return raw_ != nullptr; }
  /// Gives the handle away: somebody else releases it.
  Raw Release() { return std::exchange(raw_, nullptr); }
  /// Where a C function puts a handle: `handle.Keep(rbd_open(..,
  /// handle.Receive()))`.
  Raw* Receive() {
    Reset();
    return &raw_;
  }
  /// Takes that function's result: a failed one may have left anything behind
  /// (a failed rbd_open leaves a dangling pointer), which must not be released.
  int Keep(int result) {
    if (result < 0) raw_ = nullptr;
    return result;
  }

 private:
  void Reset() {
    if (raw_ != nullptr) {
      static_cast<void>(release(std::exchange(raw_, nullptr)));
    }
  }
  Raw raw_ = nullptr;
};

using ClusterHandle = OwnedHandle<rados_t, rados_shutdown>;
using IoctxHandle = OwnedHandle<rados_ioctx_t, rados_ioctx_destroy>;
/// Of an image that never became an RbdImage, whose Close() blocks, can fail,
/// and tells.
using ImageHandle = OwnedHandle<rbd_image_t, rbd_close>;
using ImageOptions =
    OwnedHandle<rbd_image_options_t, rbd_image_options_destroy>;
using Completion = OwnedHandle<rbd_completion_t, rbd_aio_release>;
using ReadOp = OwnedHandle<rados_read_op_t, rados_release_read_op>;
using WriteOp = OwnedHandle<rados_write_op_t, rados_release_write_op>;
using OmapIter = OwnedHandle<rados_omap_iter_t, rados_omap_get_end>;
using RadosBuffer = OwnedHandle<char*, rados_buffer_free>;

/// Runs a librbd *_cleanup function at the end of a scope.
template <typename Fn>
class [[nodiscard]] Cleanup {
 public:
  explicit Cleanup(Fn fn) : fn_(std::move(fn)) {}
  ~Cleanup() { fn_(); }
  Cleanup(const Cleanup&) = delete;
  Cleanup& operator=(const Cleanup&) = delete;

 private:
  Fn fn_;
};

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_HANDLES_H_
