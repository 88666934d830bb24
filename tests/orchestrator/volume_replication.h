#ifndef ADDONS_TESTS_ORCHESTRATOR_VOLUME_REPLICATION_H_
#define ADDONS_TESTS_ORCHESTRATOR_VOLUME_REPLICATION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace addons::testing {

/// The custom resource "VolumeReplication" of one site and volume, as far as
/// the operator and orchestrators look at it.
struct VolumeReplication {
  enum class Role { kUnknown, kPrimary, kSecondary };

  struct Condition {
    enum class Value { kUnknown, kTrue, kFalse };
    Value value = Value::kUnknown;
    std::string reason;
    std::string message;
  };

  struct Spec {
    Role wanted = Role::kSecondary;
    bool auto_resync = false;
    /// Of the VolumeReplicationClass; "schedulingInterval" is also read by the
    /// operator.
    std::map<std::string, std::string> parameters;
  };

  struct Status {
    Role state = Role::kUnknown;
    std::string message;
    /// By type: Completed, Degraded, Resyncing, Validated, Replicating.
    std::map<std::string, Condition> conditions;
    std::optional<int64_t> last_sync_seconds;
  };

  Spec spec;
  Status status;
  bool deleted = false;  // and kept by its finalizer
  bool gone = false;     // the finalizer is removed

  /// A condition that was never set is unknown.
  bool Is(const std::string& type, Condition::Value value) const {
    const auto found = status.conditions.find(type);
    return (found == status.conditions.end() ? Condition::Value::kUnknown
                                             : found->second.value) == value;
  }
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_ORCHESTRATOR_VOLUME_REPLICATION_H_
