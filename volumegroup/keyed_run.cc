#include "volumegroup/keyed_run.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operation/run_operation.h"

namespace addons {

absl::StatusOr<GroupAnswer> RunWithKeys(OperationTable& operations,
                                        OperationSpec spec,
                                        const Caller& caller,
                                        const GroupVerb& verb) {
  // Each time, somebody has changed the group in between.
  constexpr int kAttempts = 5;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    HeldKeys held(spec.keys.begin(), spec.keys.end());
    ADDONS_ASSIGN_OR_RETURN(
        GroupOutcome outcome,
        RunOperation<GroupOutcome>(operations, spec, caller,
                                   [verb, held](OperationContext& context) {
                                     return verb(context, held);
                                   }));
    if (outcome.more_keys.empty()) return std::move(outcome.group);
    spec.keys.insert(spec.keys.end(), outcome.more_keys.begin(),
                     outcome.more_keys.end());
  }
  return absl::AbortedError(absl::StrCat(
      "Failed to ", spec.verb, " ", spec.object,
      ": it is changed again and again by others at the moment; try again"));
}

}  // namespace addons
