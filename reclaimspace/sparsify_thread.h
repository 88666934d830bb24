#ifndef ADDONS_RECLAIMSPACE_SPARSIFY_THREAD_H_
#define ADDONS_RECLAIMSPACE_SPARSIFY_THREAD_H_

#include <atomic>
#include <cstdint>
#include <future>
#include <optional>
#include <thread>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/start_thread.h"
#include "ceph/image.h"

namespace addons {

/// Image::Sparsify() on a thread of its own, so that the operation's thread can
/// look around meanwhile. It goes on only while it has a permit, which runs out
/// by itself: whoever cannot look any more stops it by doing nothing.
///
/// Used by one thread. The destructor revokes the permit and waits.
class SparsifyThread {
 public:
  /// Begins, with a first permit, on a thread of `start`. `image` and `clock`
  /// are not owned and are not touched by others until the end, except
  /// Image::HoldsLock().
  SparsifyThread(Image& image, uint64_t sparse_bytes, Clock& clock,
                 SteadyDuration permit, const ThreadStarter& start);
  ~SparsifyThread();
  SparsifyThread(const SparsifyThread&) = delete;
  SparsifyThread& operator=(const SparsifyThread&) = delete;

  /// The permit counts from now on again.
  void Renew();
  /// No further object is begun.
  void Revoke();

  /// Objects begun so far.
  uint64_t objects() const { return objects_; }
  bool Ended() const;
  /// Waits for the end: for the objects under way, however long the cluster
  /// takes for them. UNAVAILABLE also when it was never begun, because the
  /// system has no thread left for it. Once.
  absl::StatusOr<SparsifyEnd> Result();

 private:
  bool Permitted() const;

  Clock& clock_;
  const SteadyDuration permit_;
  std::atomic<SteadyTime> permitted_until_;
  std::atomic<bool> revoked_{false};
  std::atomic<uint64_t> objects_{0};
  std::future<absl::StatusOr<SparsifyEnd>> result_;
  std::optional<std::jthread> thread_;  // last: it uses the others
};

}  // namespace addons

#endif  // ADDONS_RECLAIMSPACE_SPARSIFY_THREAD_H_
