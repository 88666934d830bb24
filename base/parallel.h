#ifndef ADDONS_BASE_PARALLEL_H_
#define ADDONS_BASE_PARALLEL_H_

#include <cstddef>
#include <functional>

namespace addons {

/// Calls `work(0)` to `work(count - 1)`, each once, at most `threads` of them
/// at a time, on threads called "parallel", and returns when all have ended.
/// The caller's thread takes part, so this also works when the system gives no
/// more threads. An exception of `work` does not keep the others from running;
/// the first one is thrown again at the end.
void RunParallel(size_t count, size_t threads,
                 const std::function<void(size_t)>& work);

}  // namespace addons

#endif  // ADDONS_BASE_PARALLEL_H_
