#include "replication/steps/flatten_task.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/image_name.h"
#include "base/json.h"

namespace addons {
namespace {

using nlohmann::json;

absl::Status NotUnderstood() {
  return absl::InternalError(
      "the manager's answer to 'rbd task list' is not understood");
}

/// nullopt: there is none, or it is no text.
std::optional<std::string> Text(const json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_string()) return std::nullopt;
  return it->get<std::string>();
}

}  // namespace

absl::StatusOr<std::optional<FlattenTask>> FindFlattenTask(
    const std::string& list, const std::string& spec) {
  const json tasks = ParseJson(list);
  if (!tasks.is_array()) return NotUnderstood();
  for (const json& task : tasks) {
    const auto refs = task.find("refs");
    if (refs == task.end() || !refs->is_object()) return NotUnderstood();
    const auto action = Text(*refs, "action");
    if (!action.has_value()) return NotUnderstood();
    if (*action != "flatten") continue;
    const auto pool = Text(*refs, "pool_name");
    const auto image = Text(*refs, "image_name");
    if (!pool.has_value() || !image.has_value()) return NotUnderstood();
    if (RbdSpec(*pool, Text(*refs, "pool_namespace").value_or(""), *image) !=
        spec) {
      continue;
    }
    FlattenTask found;
    if (const auto progress = task.find("progress");
        progress != task.end() && progress->is_number()) {
      found.progress = std::clamp(progress->get<double>(), 0.0, 1.0);
    }
    return found;
  }
  return std::nullopt;
}

}  // namespace addons
