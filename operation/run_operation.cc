#include "operation/run_operation.h"

#include "absl/strings/str_join.h"

namespace addons {

void MakeRead(OperationSpec* spec) {
  spec->lane = Lane::kRead;
  spec->supersedes = false;
  spec->keys = {absl::StrCat("read/", spec->parameters, "/",
                             absl::StrJoin(spec->keys, "/"))};
}

absl::Status RunOperation(OperationTable& table, const OperationSpec& spec,
                          const Caller& caller,
                          std::function<absl::Status(OperationContext&)> work) {
  return table
      .Run(spec, caller,
           [work = std::move(work)](
               OperationContext& context) -> absl::StatusOr<std::any> {
             ADDONS_RETURN_IF_ERROR(work(context));
             return std::any();
           })
      .status();
}

}  // namespace addons
