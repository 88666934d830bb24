#include "tests/orchestrator/cleanup_rule.h"

namespace addons::testing {

bool SecondaryMayBeCleanedUp(const VolumeReplication& object) {
  using Value = VolumeReplication::Condition::Value;
  if (object.spec.wanted != VolumeReplication::Role::kSecondary ||
      object.status.state != VolumeReplication::Role::kSecondary ||
      !object.Is("Completed", Value::kTrue)) {
    return false;
  }
  const bool in_step = object.Is("Degraded", Value::kFalse) &&
                       object.Is("Resyncing", Value::kFalse);
  const bool begun = object.Is("Degraded", Value::kTrue) &&
                     object.Is("Resyncing", Value::kTrue);
  return in_step || begun;
}

}  // namespace addons::testing
