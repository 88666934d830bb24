#ifndef ADDONS_OPERATION_RUN_OPERATION_H_
#define ADDONS_OPERATION_RUN_OPERATION_H_

#include <any>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/caller.h"
#include "base/later.h"
#include "base/status_macros.h"
#include "operation/operation_context.h"
#include "operation/operation_table.h"

namespace addons {

// How services use the operation table: nothing here blocks.

/// Makes the operation that `spec` describes a read: it shares no key with what
/// changes things, so it neither blocks nor waits for that; equal reads at the
/// same time are one.
void MakeRead(OperationSpec* spec);

/// The result of an operation whose work returns `Result`.
template <typename Result>
absl::StatusOr<Result> ResultAs(absl::StatusOr<std::any> result,
                                const OperationSpec& spec) {
  if (!result.ok()) return std::move(result).status();
  // Joined work has the same verb, so another type is a mistake in the program.
  Result* value = std::any_cast<Result>(&*result);
  if (value == nullptr) {
    return absl::InternalError(FailedText(spec, "its result has another type"));
  }
  return std::move(*value);
}

/// OperationTable::Start(). `table` outlives it.
Later<absl::StatusOr<std::any>> StartOperation(OperationTable& table,
                                               OperationSpec spec,
                                               Caller caller,
                                               OperationWork work);

/// Work whose result ResultAs() gives back.
template <typename Result>
OperationWork WorkWithResult(
    std::function<absl::StatusOr<Result>(OperationContext&)> work) {
  return [work = std::move(work)](
             OperationContext& context) -> absl::StatusOr<std::any> {
    ADDONS_ASSIGN_OR_RETURN(Result value, work(context));
    return std::any(std::move(value));
  };
}

/// The same for work that returns `Result`.
template <typename Result>
Later<absl::StatusOr<Result>> RunOperation(
    OperationTable& table, const OperationSpec& spec, const Caller& caller,
    std::function<absl::StatusOr<Result>(OperationContext&)> work) {
  return StartOperation(table, spec, caller, WorkWithResult(std::move(work)))
      .Then([spec](absl::StatusOr<std::any> result) {
        return ResultAs<Result>(std::move(result), spec);
      });
}

/// The same for work that answers with nothing but its status.
Later<absl::Status> RunOperation(
    OperationTable& table, const OperationSpec& spec, const Caller& caller,
    std::function<absl::Status(OperationContext&)> work);

/// The same for a verb. The operation may outlive the call, so it owns the
/// request; `environment` outlives the operation.
template <typename Environment, typename Request>
Later<absl::Status> RunVerb(
    OperationTable& table, const OperationSpec& spec, const Caller& caller,
    Environment& environment, Request request,
    absl::Status (*verb)(OperationContext&, Environment&, const Request&)) {
  auto owned = std::make_shared<const Request>(std::move(request));
  return RunOperation(table, spec, caller,
                      [&environment, owned, verb](OperationContext& context) {
                        return verb(context, environment, *owned);
                      });
}

}  // namespace addons

#endif  // ADDONS_OPERATION_RUN_OPERATION_H_
