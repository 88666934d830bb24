#ifndef ADDONS_REPLICATION_GROUP_GROUP_CALL_H_
#define ADDONS_REPLICATION_GROUP_GROUP_CALL_H_

#include <functional>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "operation/growing_keys.h"
#include "replication/group/members.h"

namespace addons {

/// A call on a volume group.
struct GroupCall {
  GroupHandle group_id;
  CephUserRef user;
  OperationSpec spec;  // its keys are those of the group and its members
};

/// The operation of `call` with the keys of the group and of the members that
/// its journal has now, so that a retry joins it. Reads on the read lane;
/// errors are those of OperationTable::Start() and Resolver::ResolveGroup().
Later<absl::StatusOr<OperationSpec>> WithMemberKeys(OperationTable& operations,
                                                    Resolver& resolver,
                                                    const GroupCall& call,
                                                    const Caller& caller);

/// The group with its present members, or, when not all of their keys are held,
/// the keys that are needed.
absl::StatusOr<std::variant<GroupTarget, KeySet>> TargetOrKeys(
    OperationContext& context, Resolver& resolver, const GroupHandle& group_id,
    const CephUserRef& user, const KeySet& held);

/// Runs `verb` as one operation on the group and all its members.
///
/// The members stand in the journal: they are read first, to know the keys, and
/// once more when the operation has them. If others came in between, the
/// operation is run again with the keys that it needs (RunWithGrowingKeys()).
/// `resolver` is not owned and outlives the operation.
template <typename Result>
Later<absl::StatusOr<Result>> RunOnGroup(
    OperationTable& operations, Resolver& resolver, const GroupCall& call,
    const Caller& caller,
    std::function<absl::StatusOr<Result>(OperationContext&, const GroupTarget&)>
        verb) {
  const auto work =
      [&resolver, group_id = call.group_id, user = call.user,
       verb = std::move(verb)](
          OperationContext& context,
          const KeySet& held) -> absl::StatusOr<ResultOrKeys<Result>> {
    ADDONS_ASSIGN_OR_RETURN(
        auto target, TargetOrKeys(context, resolver, group_id, user, held));
    if (auto* const keys = std::get_if<KeySet>(&target)) {
      return std::move(*keys);
    }
    ADDONS_ASSIGN_OR_RETURN(Result result,
                            verb(context, std::get<GroupTarget>(target)));
    return result;
  };
  return WithMemberKeys(operations, resolver, call, caller)
      .Then([&operations, caller, work](absl::StatusOr<OperationSpec> spec)
                -> Later<absl::StatusOr<Result>> {
        ADDONS_RETURN_IF_ERROR(spec.status());
        return RunWithGrowingKeys<Result>(operations, *std::move(spec), caller,
                                          work);
      });
}

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_GROUP_CALL_H_
