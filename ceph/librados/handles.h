#ifndef ADDONS_CEPH_LIBRADOS_HANDLES_H_
#define ADDONS_CEPH_LIBRADOS_HANDLES_H_

#include <rados/librados.h>
#include <rbd/librbd.h>

#include <utility>

namespace addons {

// librados and librbd call every handle void*, and take one for another without
// a word from the compiler. Here each kind is a type of its own.

/// Owns a handle of one kind; `Traits` names the C type and how it is released.
/// Move-only; empty after a move.
template <typename Traits>
class OwnedHandle {
 public:
  using Raw = typename Traits::Raw;

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
    if (raw_ != nullptr) Traits::Free(std::exchange(raw_, nullptr));
  }
  Raw raw_ = nullptr;
};

struct ClusterTraits {
  using Raw = rados_t;
  static void Free(Raw raw) { rados_shutdown(raw); }
};
struct IoctxTraits {
  using Raw = rados_ioctx_t;
  static void Free(Raw raw) { rados_ioctx_destroy(raw); }
};
// Closing an image blocks and can fail: RbdImage::Close() does it and tells.
// This is for an image that never became an RbdImage.
struct ImageTraits {
  using Raw = rbd_image_t;
  static void Free(Raw raw) { static_cast<void>(rbd_close(raw)); }
};
struct ImageOptionsTraits {
  using Raw = rbd_image_options_t;
  static void Free(Raw raw) { rbd_image_options_destroy(raw); }
};
struct CompletionTraits {
  using Raw = rbd_completion_t;
  static void Free(Raw raw) { rbd_aio_release(raw); }
};
struct ReadOpTraits {
  using Raw = rados_read_op_t;
  static void Free(Raw raw) { rados_release_read_op(raw); }
};
struct WriteOpTraits {
  using Raw = rados_write_op_t;
  static void Free(Raw raw) { rados_release_write_op(raw); }
};
struct OmapIterTraits {
  using Raw = rados_omap_iter_t;
  static void Free(Raw raw) { rados_omap_get_end(raw); }
};
struct BufferTraits {
  using Raw = char*;
  static void Free(Raw raw) { rados_buffer_free(raw); }
};

using ClusterHandle = OwnedHandle<ClusterTraits>;
using IoctxHandle = OwnedHandle<IoctxTraits>;
using ImageHandle = OwnedHandle<ImageTraits>;
using ImageOptions = OwnedHandle<ImageOptionsTraits>;
using Completion = OwnedHandle<CompletionTraits>;
using ReadOp = OwnedHandle<ReadOpTraits>;
using WriteOp = OwnedHandle<WriteOpTraits>;
using OmapIter = OwnedHandle<OmapIterTraits>;
using RadosBuffer = OwnedHandle<BufferTraits>;

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
