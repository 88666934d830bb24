#ifndef ADDONS_REPLICATION_GROUP_OPERATIONS_H_
#define ADDONS_REPLICATION_GROUP_OPERATIONS_H_

#include <any>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "operation/run_operation.h"
#include "replication/group_members.h"

namespace addons {

/// A call on a volume group.
struct GroupCall {
  std::string group_id;
  CephUser user;
  OperationSpec spec;  // its keys are those of the group and its members
};

using GroupWork = std::function<absl::StatusOr<std::any>(OperationContext&,
                                                         const GroupTarget&)>;

/// Runs `verb` as one operation on the group and all its members.
///
/// The members stand in the journal: they are read first, on the read lane, to
/// know the keys, and once more when the operation has them. If they changed in
/// between, the operation is taken again with the new keys; ABORTED when that
/// happens again and again. Errors of reading are those of
/// Resolver::ResolveGroup(). Blocks as OperationTable::Run(); `resolver` is not
/// owned and outlives the operation.
absl::StatusOr<std::any> RunGroupOperation(OperationTable& operations,
                                           Resolver& resolver,
                                           const GroupCall& call,
                                           const Caller& caller,
                                           const GroupWork& verb);

/// RunGroupOperation() for a verb that returns `Result`.
template <typename Result>
absl::StatusOr<Result> RunOnGroup(
    OperationTable& operations, Resolver& resolver, const GroupCall& call,
    const Caller& caller,
    std::function<absl::StatusOr<Result>(OperationContext&, const GroupTarget&)>
        verb) {
  return ResultAs<Result>(
      RunGroupOperation(
          operations, resolver, call, caller,
          [verb = std::move(verb)](
              OperationContext& context,
              const GroupTarget& target) -> absl::StatusOr<std::any> {
            ADDONS_ASSIGN_OR_RETURN(Result value, verb(context, target));
            return std::any(std::move(value));
          }),
      call.spec);
}

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_OPERATIONS_H_
