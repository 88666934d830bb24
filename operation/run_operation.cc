#include "operation/run_operation.h"

#include <utility>

#include "absl/strings/str_join.h"

namespace addons {

void MakeRead(OperationSpec* spec) {
  spec->lane = Lane::kRead;
  spec->supersedes = false;
  spec->keys = {absl::StrCat("read/", spec->parameters, "/",
                             absl::StrJoin(spec->keys, "/"))};
}

Later<absl::StatusOr<std::any>> StartOperation(OperationTable& table,
                                               OperationSpec spec,
                                               Caller caller,
                                               OperationWork work) {
  return Later<absl::StatusOr<std::any>>::From(
      [&table, spec = std::move(spec), caller = std::move(caller),
       work = std::move(work)](OperationTable::OnAnswer on_answer) mutable {
        table.Start(spec, caller, std::move(work), std::move(on_answer));
      });
}

Later<absl::Status> RunOperation(
    OperationTable& table, const OperationSpec& spec, const Caller& caller,
    std::function<absl::Status(OperationContext&)> work) {
  return StartOperation(table, spec, caller,
                        [work = std::move(work)](OperationContext& context)
                            -> absl::StatusOr<std::any> {
                          ADDONS_RETURN_IF_ERROR(work(context));
                          return std::any();
                        })
      .Then([](const absl::StatusOr<std::any>& result) {
        return result.status();
      });
}

}  // namespace addons
