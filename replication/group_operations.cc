#include "replication/group_operations.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "replication/session.h"

namespace addons {
namespace {

constexpr int kTries = 3;

/// The result of an operation that found other members than it has keys for.
struct MembersChanged {};

absl::StatusOr<std::vector<std::string>> ReadBeforehand(
    OperationTable& operations, Resolver& resolver, const GroupCall& call,
    const Caller& caller) {
  OperationSpec spec = call.spec;
  ADDONS_ASSIGN_OR_RETURN(std::string key,
                          resolver.GroupOperationKey(call.group_id));
  spec.parameters = absl::StrCat("members\n", spec.parameters);
  spec.keys = {std::move(key)};
  MakeRead(&spec);
  auto user = std::make_shared<const CephUser>(call.user.Clone());
  return RunOperation<std::vector<std::string>>(
      operations, spec, caller,
      [&resolver, group_id = call.group_id, user](OperationContext& context) {
        return ReadGroupMembers(resolver, group_id, *user,
                                ResolveDeadline(context));
      });
}

}  // namespace

absl::StatusOr<std::any> RunGroupOperation(OperationTable& operations,
                                           Resolver& resolver,
                                           const GroupCall& call,
                                           const Caller& caller,
                                           const GroupWork& verb) {
  for (int tries = 0; tries < kTries; ++tries) {
    ADDONS_ASSIGN_OR_RETURN(std::vector<std::string> members,
                            ReadBeforehand(operations, resolver, call, caller));
    OperationSpec spec = call.spec;
    ADDONS_ASSIGN_OR_RETURN(spec.keys,
                            GroupKeys(resolver, call.group_id, members));
    // The operation may outlive this call.
    auto target = std::make_shared<const GroupTarget>(
        GroupTarget{call.group_id, call.user.Clone(), std::move(members)});
    auto result = operations.Run(
        spec, caller,
        [&resolver, target,
         verb](OperationContext& context) -> absl::StatusOr<std::any> {
          context.Step("reading the members of the group");
          ADDONS_ASSIGN_OR_RETURN(
              const std::vector<std::string> present,
              ReadGroupMembers(resolver, target->group_id, target->user,
                               ResolveDeadline(context)));
          if (present != target->members) return std::any(MembersChanged());
          return verb(context, *target);
        });
    if (!result.ok() || !std::any_cast<MembersChanged>(&*result)) return result;
  }
  return absl::AbortedError(
      absl::StrCat("Failed to ", call.spec.verb, " ", call.spec.object,
                   ": its members change again and again; repeat the call"));
}

}  // namespace addons
