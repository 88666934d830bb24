#include "replication/group/group_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "operation/run_operation.h"
#include "replication/session.h"

namespace addons {

Later<absl::StatusOr<OperationSpec>> WithMemberKeys(OperationTable& operations,
                                                    Resolver& resolver,
                                                    const GroupCall& call,
                                                    const Caller& caller) {
  OperationSpec read = call.spec;
  ADDONS_ASSIGN_OR_RETURN(const OperationKey key,
                          resolver.KeyOfGroup(call.group_id));
  read.parameters = absl::StrCat("members\n", read.parameters);
  read.keys = {key.ToString()};
  MakeRead(&read);
  return RunOperation<JournalMembers>(
             operations, read, caller,
             [&resolver, group_id = call.group_id,
              user = call.user](OperationContext& context) {
               return ReadGroupMembers(resolver, group_id, user,
                                       ResolveDeadline(context));
             })
      .Then([&resolver, call](const absl::StatusOr<JournalMembers>& members)
                -> absl::StatusOr<OperationSpec> {
        ADDONS_RETURN_IF_ERROR(members.status());
        ADDONS_ASSIGN_OR_RETURN(
            const KeySet keys,
            GroupKeys(resolver, call.group_id, members->volumes));
        OperationSpec spec = call.spec;
        spec.keys.assign(keys.begin(), keys.end());
        return spec;
      });
}

absl::StatusOr<std::variant<GroupTarget, KeySet>> TargetOrKeys(
    OperationContext& context, Resolver& resolver, const GroupHandle& group_id,
    const CephUserRef& user, const KeySet& held) {
  context.Step("reading the members of the group");
  ADDONS_ASSIGN_OR_RETURN(
      JournalMembers members,
      ReadGroupMembers(resolver, group_id, user, ResolveDeadline(context)));
  ADDONS_ASSIGN_OR_RETURN(KeySet needed,
                          GroupKeys(resolver, group_id, members.volumes));
  // Not those of members that have left: the retry would not know these, and
  // not join.
  if (KeysToAdd(held, needed).has_value()) return needed;
  return GroupTarget{group_id, user, std::move(members.volumes),
                     std::move(members.place)};
}

}  // namespace addons
