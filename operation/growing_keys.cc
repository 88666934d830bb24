#include "operation/growing_keys.h"

#include <algorithm>

namespace addons {

std::optional<KeySet> KeysToAdd(const KeySet& held, const KeySet& needed) {
  if (std::includes(held.begin(), held.end(), needed.begin(), needed.end())) {
    return std::nullopt;
  }
  KeySet all = held;
  all.insert(needed.begin(), needed.end());
  return all;
}

absl::Status KeysChangeTooOften(const OperationSpec& spec) {
  return absl::AbortedError(
      FailedText(spec, "other calls change it again and again; try again"));
}

}  // namespace addons
