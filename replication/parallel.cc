#include "replication/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "base/mutex.h"

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
    try {
      while (helpers.size() + 1 < wanted) helpers.emplace_back(loop);
    } catch (const std::system_error&) {
      // As many as the system allows: those do all the work.
    }
    loop();
  }
  if (first_exception != nullptr) std::rethrow_exception(first_exception);
}

}  // namespace addons
