#include "tests/orchestrator/reconciler.h"

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace addons::testing {
namespace {

using Role = VolumeReplication::Role;
using Value = VolumeReplication::Condition::Value;
using Code = grpc::StatusCode;

void Set(VolumeReplication* object, const std::string& type, Value value,
         const std::string& reason, const std::string& message = "") {
  object->status.conditions[type] = {value, reason, message};
}

/// Completed=False for `reason`, and what goes with it.
void SetFailed(VolumeReplication* object, const std::string& reason,
               const grpc::Status& answer) {
  Set(object, "Completed", Value::kFalse, reason, answer.error_message());
  Set(object, "Degraded", Value::kTrue, "Error");
  Set(object, "Resyncing", Value::kFalse, "NotResyncing");
  object->status.message = answer.error_message();
}

void SetDemoted(VolumeReplication* object) {
  object->status.state = Role::kSecondary;
  object->status.message = "volume is marked secondary and is degraded";
  Set(object, "Completed", Value::kTrue, "Demoted");
  Set(object, "Degraded", Value::kTrue, "VolumeDegraded");
  Set(object, "Resyncing", Value::kFalse, "NotResyncing");
}

}  // namespace

Reconciler::Delay InfoInterval(const VolumeReplication::Spec& spec) {
  constexpr Reconciler::Delay kOtherwise = std::chrono::hours(1);
  const auto found = spec.parameters.find("schedulingInterval");
  if (found == spec.parameters.end() || found->second.empty()) {
    return kOtherwise;
  }
  const absl::string_view text = found->second;
  int count = 0;
  if (!absl::SimpleAtoi(text.substr(0, text.size() - 1), &count) || count < 1) {
    return kOtherwise;
  }
  Reconciler::Delay interval{0};
  switch (text.back()) {
    case 'm':
      interval = std::chrono::minutes(count);
      break;
    case 'h':
      interval = std::chrono::hours(count);
      break;
    case 'd':
      interval = std::chrono::hours(24 * count);
      break;
    default:
      return kOtherwise;
  }
  return interval < std::chrono::minutes(2) ? interval : interval / 2;
}

Reconciler::Delay Reconciler::AfterError(const VolumeReplication& object) {
  const int before = errors_++;
  if (object.status.state == Role::kSecondary) return kSecondaryGap;
  // 2^18 of the first gap are more than the longest one.
  return std::min(kLongestErrorGap,
                  kFirstErrorGap * (1 << std::min(before, 18)));
}

std::optional<Reconciler::Delay> Reconciler::Reconcile(
    VolumeReplication* object) {
  if (object->gone) return std::nullopt;
  if (object->deleted) return Delete(object);
  return object->spec.wanted == Role::kPrimary ? BecomePrimary(object)
                                               : BecomeSecondary(object);
}

std::optional<Reconciler::Delay> Reconciler::Delete(VolumeReplication* object) {
  const grpc::Status answer = calls_->Disable(object->spec.parameters);
  if (!answer.ok() && answer.error_code() != Code::NOT_FOUND) {
    object->status.message = answer.error_message();
    return AfterError(*object);
  }
  object->gone = true;
  return std::nullopt;
}

std::optional<Reconciler::Delay> Reconciler::BecomePrimary(
    VolumeReplication* object) {
  // It is trusted for ever.
  if (object->status.state == Role::kPrimary) return AskForInfo(object);
  const grpc::Status enabled = calls_->Enable(object->spec.parameters);
  if (!enabled.ok()) {
    SetFailed(object, "FailedToPromote", enabled);
    const bool refused = enabled.error_code() == Code::FAILED_PRECONDITION;
    Set(object, "Validated", refused ? Value::kFalse : Value::kTrue,
        refused ? "PrerequisiteNotMet" : "PrerequisiteMet");
    return AfterError(*object);
  }
  grpc::Status promoted = calls_->Promote(object->spec.parameters, false);
  if (promoted.error_code() == Code::FAILED_PRECONDITION) {
    promoted = calls_->Promote(object->spec.parameters, true);
  }
  if (!promoted.ok()) {
    SetFailed(object, "FailedToPromote", promoted);
    return AfterError(*object);
  }
  errors_ = 0;
  object->status.state = Role::kPrimary;
  object->status.message = "volume is marked primary";
  Set(object, "Completed", Value::kTrue, "Promoted");
  Set(object, "Degraded", Value::kFalse, "Healthy");
  Set(object, "Resyncing", Value::kFalse, "NotResyncing");
  return AskForInfo(object);
}

std::optional<Reconciler::Delay> Reconciler::BecomeSecondary(
    VolumeReplication* object) {
  const bool was_secondary = object->status.state == Role::kSecondary;
  const grpc::Status demoted = calls_->Demote(object->spec.parameters);
  if (!demoted.ok()) {
    SetFailed(object, "FailedToDemote", demoted);
    return AfterError(*object);
  }
  if (!was_secondary) {
    errors_ = 0;
    SetDemoted(object);
    return kSecondaryGap;
  }
  bool ready = false;
  const grpc::Status resynced =
      calls_->Resync(object->spec.parameters, object->spec.auto_resync, &ready);
  if (!resynced.ok()) {
    SetFailed(object, "FailedToResync", resynced);
    return AfterError(*object);
  }
  errors_ = 0;
  Set(object, "Completed", Value::kTrue, "Demoted");
  if (!ready) {
    Set(object, "Degraded", Value::kTrue, "VolumeDegraded");
    Set(object, "Resyncing", Value::kTrue, "ResyncTriggered");
    object->status.message = "volume is degraded";
    return kResyncGap;
  }
  Set(object, "Degraded", Value::kFalse, "Healthy");
  Set(object, "Resyncing", Value::kFalse, "NotResyncing");
  object->status.message = "volume is marked secondary";
  return std::nullopt;
}

std::optional<Reconciler::Delay> Reconciler::AskForInfo(
    VolumeReplication* object) {
  if (never_ask_for_info_) return std::nullopt;
  ReplicationCalls::Info info;
  const grpc::Status answer = calls_->GetInfo(&info);
  switch (answer.error_code()) {
    case Code::OK:
      break;
    case Code::NOT_FOUND:
      errors_ = 0;
      return InfoInterval(object->spec);
    case Code::UNIMPLEMENTED:
      errors_ = 0;
      never_ask_for_info_ = true;
      return std::nullopt;
    default:
      Set(object, "Replicating", Value::kUnknown, "Unknown",
          answer.error_message());
      return AfterError(*object);
  }
  errors_ = 0;
  using Info = ReplicationCalls::Info;
  switch (info.status()) {
    case Info::HEALTHY:
      Set(object, "Replicating", Value::kTrue, "Replicating",
          info.status_message());
      break;
    case Info::DEGRADED:
    case Info::ERROR:
      Set(object, "Replicating", Value::kFalse, "NotReplicating",
          info.status_message());
      break;
    default:
      Set(object, "Replicating", Value::kUnknown, "Unknown",
          info.status_message());
      break;
  }
  object->status.last_sync_seconds.reset();
  if (info.has_last_sync_time()) {
    object->status.last_sync_seconds = info.last_sync_time().seconds();
  }
  return InfoInterval(object->spec);
}

}  // namespace addons::testing
