#ifndef ADDONS_REPLICATION_STEPS_FLATTEN_TASK_H_
#define ADDONS_REPLICATION_STEPS_FLATTEN_TASK_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace addons {

/// An entry of the manager's task queue.
struct FlattenTask {
  std::optional<double> progress;  // 0 to 1; nullopt: it has not begun
};

/// The task that flattens the image `spec` ("pool/image",
/// "pool/namespace/image"), from the answer to `rbd task list`; nullopt: none
/// is queued. INTERNAL naming the command: the answer is not understood, so
/// that nobody takes it for an empty queue.
absl::StatusOr<std::optional<FlattenTask>> FindFlattenTask(
    const std::string& list, const std::string& spec);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_FLATTEN_TASK_H_
