#ifndef ADDONS_OPERATION_OPERATION_SPEC_H_
#define ADDONS_OPERATION_OPERATION_SPEC_H_

#include <any>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "operation/operation_context.h"
#include "operation/worker_share.h"

namespace addons {

/// kControl: failover and configuration. kBulk: work that may run for hours.
/// kRead: questions; they never mutate, and share no keys with what does. They
/// have their own workers, so that a failover never queues behind a trim.
enum class Lane { kControl, kBulk, kRead };
inline constexpr std::array<Lane, 3> kLanes = {Lane::kControl, Lane::kBulk,
                                               Lane::kRead};
/// "control" and the like.
absl::string_view Name(Lane lane);

/// What is to be done, as the table needs to know it.
struct OperationSpec {
  std::vector<std::string> keys;  // of all objects concerned; no order needed
  WorkerShare share;
  std::string verb;        // "promote"; what operators know it by
  std::string object;      // "volume '0001-...'": for messages
  std::string parameters;  // verb + parameters = what may be joined
  /// The verb in a sentence with the object, where it is not one by itself:
  /// "read the replication state of". Empty: the verb is.
  std::string action{};
  Lane lane = Lane::kControl;
  bool supersedes =
      false;  // ends another verb that has not changed anything yet
  /// Work for hours that can stop at any moment and be begun again: gives way
  /// to every verb on its keys that does not yield itself, and to a shutdown,
  /// also after its first change.
  bool yields = false;
  /// Nobody has asked for it: not among the operations that have ended, where
  /// those are looked for that somebody did.
  bool routine = false;
  /// Keep an OK result for the retry when no caller was there to collect it.
  bool keep_result = false;
  /// Asked before this ends another operation: OK when its own user may. Runs
  /// as a read and may block; what it answers otherwise is the answer of the
  /// call. Empty: everybody may.
  std::function<absl::Status(OperationContext&)> prove;
};

/// "Failed to <action> <object>: <cause>".
std::string FailedText(const OperationSpec& spec, absl::string_view cause);

/// What an operation does. The result is what the callers of the operation get.
using OperationWork =
    std::function<absl::StatusOr<std::any>(OperationContext&)>;

}  // namespace addons

#endif  // ADDONS_OPERATION_OPERATION_SPEC_H_
