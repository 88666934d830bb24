#ifndef ADDONS_CEPH_LIBRADOS_PROGRESS_CALLBACK_H_
#define ADDONS_CEPH_LIBRADOS_PROGRESS_CALLBACK_H_

#include <cstdint>
#include <exception>

#include "ceph/image.h"

namespace addons {

/// A ProgressFn for librbd to call. librbd is C at its border and has threads
/// and locks of its own: an exception that passed through it would end the
/// process or leave a lock taken. It is caught here, stops the call, and goes
/// on when librbd has returned. For one call; not thread-safe.
class ProgressCallback {
 public:
  /// `progress` may be empty and is not owned.
  explicit ProgressCallback(const ProgressFn& progress) : progress_(progress) {}

  /// False: stop.
  bool Report(uint64_t done, uint64_t total) noexcept {
    if (thrown_ != nullptr) return false;
    try {
      return !progress_ || progress_(done, total);
    } catch (...) {
      thrown_ = std::current_exception();
      return false;
    }
  }

  /// Throws what `progress` threw, if it did.
  void Rethrow() const {
    if (thrown_ != nullptr) std::rethrow_exception(thrown_);
  }

 private:
  const ProgressFn& progress_;
  std::exception_ptr thrown_;
};

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_PROGRESS_CALLBACK_H_
