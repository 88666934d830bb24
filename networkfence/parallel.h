#ifndef ADDONS_NETWORKFENCE_PARALLEL_H_
#define ADDONS_NETWORKFENCE_PARALLEL_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "volume/lookup_threads.h"

namespace addons {

/// Calls `work` with 0 to count - 1 on at most `threads` threads and returns
/// when all have ended. For work that has its own bound. An exception goes on
/// in the caller once all have ended.
void RunParallel(size_t count, size_t threads,
                 absl::FunctionRef<void(size_t)> work);

/// Runs `jobs` on `threads` and returns when all have ended or `patience` (of
/// the real clock) is over. nullopt: the job had not ended by then; it is not
/// begun any more, or goes on by itself, so jobs own what they touch. An
/// exception goes on in the caller. `lane` names what the jobs may hang on.
std::vector<std::optional<absl::Status>> RunBounded(
    LookupThreads& threads, const std::string& lane,
    std::vector<std::function<absl::Status()>> jobs,
    std::chrono::milliseconds patience);

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_PARALLEL_H_
