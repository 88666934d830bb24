#ifndef ADDONS_BASE_RUN_BOUNDED_H_
#define ADDONS_BASE_RUN_BOUNDED_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/bounded_threads.h"

namespace addons {

/// Runs `jobs` on `threads` and returns when all have ended or `patience` (of
/// the real clock) is over. nullopt: the job had not ended by then; it is not
/// begun any more, or goes on by itself, so jobs own what they touch. An
/// exception goes on in the caller. `lane` names what the jobs may hang on.
std::vector<std::optional<absl::Status>> RunBounded(
    BoundedThreads& threads, const std::string& lane,
    std::vector<std::function<absl::Status()>> jobs,
    std::chrono::milliseconds patience);

}  // namespace addons

#endif  // ADDONS_BASE_RUN_BOUNDED_H_
