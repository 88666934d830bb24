#include "base/run_bounded.h"

#include <cstddef>
#include <exception>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"

namespace addons {
namespace {

// Each lane of BoundedThreads has sixteen threads; a hung OSD can hold as many
// jobs as it has placement groups.
constexpr size_t kLanes = 4;

/// What RunBounded() and its jobs share: the jobs may outlive the call.
struct Shared {
  explicit Shared(std::vector<std::function<absl::Status()>> all)
      : jobs(std::move(all)), results(jobs.size()), left(jobs.size()) {}

  void Run(size_t index) {
    {
      MutexLock lock(mutex);
      if (given_up) return;
    }
    absl::Status status;
    std::exception_ptr thrown;
    try {
      status = jobs[index]();
    } catch (...) {
      thrown = std::current_exception();
    }
    MutexLock lock(mutex);
    if (given_up) return;
    results[index] = std::move(status);
    if (thrown != nullptr) exception = thrown;
    if (--left == 0) ended.NotifyAll();
  }

  const std::vector<std::function<absl::Status()>> jobs;
  Mutex mutex;
  CondVar ended;
  std::vector<std::optional<absl::Status>> results ABSL_GUARDED_BY(mutex);
  size_t left ABSL_GUARDED_BY(mutex);
  bool given_up ABSL_GUARDED_BY(mutex) = false;
  std::exception_ptr exception ABSL_GUARDED_BY(mutex);
};

}  // namespace

std::vector<std::optional<absl::Status>> RunBounded(
    BoundedThreads& threads, const std::string& lane,
    std::vector<std::function<absl::Status()>> jobs,
    std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  const auto shared = std::make_shared<Shared>(std::move(jobs));
  for (size_t i = 0; i < shared->jobs.size(); ++i) {
    // One that cannot be run stays without an answer.
    threads.Run(absl::StrCat(lane, "/", i % kLanes),
                [shared, i] { shared->Run(i); });
  }
  MutexLock lock(shared->mutex);
  while (shared->left > 0 && shared->ended.WaitUntil(shared->mutex, until)) {
  }
  shared->given_up = true;
  if (shared->exception != nullptr) {
    std::rethrow_exception(shared->exception);
  }
  return shared->results;
}

}  // namespace addons
