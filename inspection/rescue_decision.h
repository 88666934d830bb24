#ifndef ADDONS_INSPECTION_RESCUE_DECISION_H_
#define ADDONS_INSPECTION_RESCUE_DECISION_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/look/rescue_record.h"

namespace addons {

/// What an administrator wants to become of an image that was written to before
/// it had its last complete state back.
enum class RescueChoice {
  kKeep,     // what is there; the saved state is dropped
  kRestore,  // the saved state, over what is there
};

/// The rescue of a volume, as its rescue image tells it.
struct RescueReport {
  std::string rescue_image;  // "pool/name"; empty: there is none
  std::string step;          // StepName()
  uint64_t bytes = 0;        // the size of the image in the saved state
  bool undecided = false;    // it waits for an administrator
  std::string decision;      // "keep", "restore"; empty: none was taken
  std::string message;       // for a person: what is, and what to do
};

/// Reads only, takes no lease; blocks until `deadline` at most. NOT_FOUND: no
/// such volume, or its image is gone.
absl::StatusOr<RescueReport> ShowRescue(ReplicationEnvironment& environment,
                                        const VolumeTarget& target,
                                        SteadyTime deadline);

/// Writes the choice where the next promotion of the volume finds it, which
/// carries it out; it may be changed until then.
///
// clang-format off
///   Decide(): Look(), ReadRescueRecord()  "looking at the rescue"
///     ├─ nothing waits for a decision ──> FAILED_PRECONDITION
///     └─ BeginMutation()
///        "noting the decision"  SetMetadata()
///        Report()               read back ──> OK
// clang-format on
///
/// FAILED_PRECONDITION: there is no rescue, or it goes on by itself. NOT_FOUND
/// as above. UNAVAILABLE: another process has just ended it. Idempotent.
absl::StatusOr<RescueReport> DecideRescue(OperationContext& context,
                                          ReplicationEnvironment& environment,
                                          const VolumeTarget& target,
                                          RescueChoice choice);

}  // namespace addons

#endif  // ADDONS_INSPECTION_RESCUE_DECISION_H_
