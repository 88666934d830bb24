#include "reclaimspace/sparsify_thread.h"

#include <memory>

namespace addons {

SparsifyThread::SparsifyThread(Image& image, uint64_t sparse_bytes,
                               Clock& clock, SteadyDuration permit,
                               const ThreadStarter& start)
    : clock_(clock), permit_(permit), permitted_until_(clock.Now() + permit) {
  // A packaged task hands what the call throws to Result().
  using Task = std::packaged_task<absl::StatusOr<SparsifyEnd>()>;
  const auto task = std::make_shared<Task>([this, &image, sparse_bytes] {
    return image.Sparsify(sparse_bytes, [this](uint64_t object, uint64_t) {
      objects_ = object + 1;
      return Permitted();
    });
  });
  result_ = task->get_future();
  thread_ = start("sparsify", [task] { (*task)(); });
  if (thread_) return;
  std::promise<absl::StatusOr<SparsifyEnd>> nothing;
  nothing.set_value(
      absl::UnavailableError("the system has no thread left for it"));
  result_ = nothing.get_future();
}

SparsifyThread::~SparsifyThread() { Revoke(); }

void SparsifyThread::Renew() { permitted_until_ = clock_.Now() + permit_; }

void SparsifyThread::Revoke() { revoked_ = true; }

bool SparsifyThread::Permitted() const {
  return !revoked_ && clock_.Now() < permitted_until_.load();
}

bool SparsifyThread::Ended() const {
  return result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

absl::StatusOr<SparsifyEnd> SparsifyThread::Result() { return result_.get(); }

}  // namespace addons
