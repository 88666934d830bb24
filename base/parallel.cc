#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/start_thread.h"

namespace addons {

void RunParallel(size_t count, size_t threads,
                 const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  Mutex mutex;
  std::exception_ptr first_exception;
  const auto loop = [&] {
    for (size_t index = next++; index < count; index = next++) {
      try {
        work(index);
      } catch (...) {
        const MutexLock lock(mutex);
        if (first_exception == nullptr) {
          first_exception = std::current_exception();
        }
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    const size_t wanted = std::min(count, threads);
    while (helpers.size() + 1 < wanted) {
      auto helper = StartThread("parallel", loop);
      // As many as the system allows: those do all the work.
      if (!helper) break;
      helpers.push_back(*std::move(helper));
    }
    loop();
  }
  if (first_exception != nullptr) std::rethrow_exception(first_exception);
}

}  // namespace addons
