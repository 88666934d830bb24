// PointsService: the points of volume groups.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "operation/run_operation.h"
#include "points/group_point.h"
#include "points/points_service.h"
#include "replication/group/group_call.h"
#include "replication/group/members.h"
#include "replication/replication_service_call.h"
#include "replication/session.h"
#include "rpc/text.h"
#include "rpc/validate.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

/// What was found or made, and of which members.
template <typename Value>
struct OfGroup {
  Value value;
  std::vector<VolumeHandle> members;
};

/// One operation on the group and all its members.
template <typename Value>
Later<absl::StatusOr<OfGroup<Value>>> RunOnMembers(
    OperationTable& operations, ReplicationEnvironment& environment,
    const SourceCall& call, const Caller& caller,
    std::function<absl::StatusOr<Value>(OperationContext&, const GroupTarget&)>
        work) {
  return RunOnGroup<OfGroup<Value>>(
      operations, environment.resolver,
      {call.group_id, call.target.user, call.spec}, caller,
      [&environment, work = std::move(work)](
          OperationContext& context,
          const GroupTarget& target) -> absl::StatusOr<OfGroup<Value>> {
        environment.history.Locate(target.group_id.text(), target.place, "");
        ADDONS_ASSIGN_OR_RETURN(Value value, work(context, target));
        return OfGroup<Value>{std::move(value), target.members};
      });
}

template <typename Response>
void AddMembers(const std::vector<VolumeHandle>& members, Response* response) {
  for (const VolumeHandle& member : members) {
    response->add_volume_ids(CleanLine(member.text(), kMaxTextBytes));
  }
}

}  // namespace

grpc::ServerUnaryReactor* PointsService::CreateGroupPoint(
    grpc::CallbackServerContext* context,
    const admin_pb::CreateGroupPointRequest* request,
    admin_pb::CreateGroupPointResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_RETURN_IF_ERROR(CheckGivenName(request->name()));
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall call,
            PrepareGroupCall(environment_.resolver, *request, "create point",
                             {{"name", request->name()}}));
        call.spec.keep_result = true;
        return RunOnMembers<std::string>(
                   operations_, environment_, call, rpc_call.caller,
                   [this, name = request->name()](OperationContext& operation,
                                                  const GroupTarget& target) {
                     return MakeGroupPoint(operation, environment_, target,
                                           name);
                   })
            .Then([this, call, request_id = rpc_call.caller.request_id,
                   response](const absl::StatusOr<OfGroup<std::string>>& made) {
              RecordAnswer(environment_.history, call, request_id,
                           made.status(), made.ok() ? made->value : "");
              if (!made.ok()) return made.status();
              response->set_name(made->value);
              AddMembers(made->members, response);
              return absl::OkStatus();
            });
      });
}

grpc::ServerUnaryReactor* PointsService::ListGroupPoints(
    grpc::CallbackServerContext* context,
    const admin_pb::ListGroupPointsRequest* request,
    admin_pb::ListGroupPointsResponse* response) {
  using Points = std::vector<SharedPoint>;
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall call,
            PrepareGroupCall(environment_.resolver, *request, "list points"));
        MakeRead(&call.spec);
        call.spec.action = "list the points of";
        // Not RunOnMembers(): a read waits for no change of a member.
        return RunOperation<OfGroup<Points>>(
                   operations_, call.spec, rpc_call.caller,
                   [this, group_id = call.group_id,
                    user = call.target.user](OperationContext& operation)
                       -> absl::StatusOr<OfGroup<Points>> {
                     ADDONS_ASSIGN_OR_RETURN(
                         JournalMembers found,
                         ReadGroupMembers(environment_.resolver, group_id, user,
                                          ResolveDeadline(operation)));
                     const GroupTarget target = {group_id, user,
                                                 std::move(found.volumes),
                                                 std::move(found.place)};
                     ADDONS_ASSIGN_OR_RETURN(
                         Points points,
                         LookAtGroupPoints(operation, environment_, target));
                     return OfGroup<Points>{std::move(points), target.members};
                   })
            .Then([response](const absl::StatusOr<OfGroup<Points>>& seen) {
              if (!seen.ok()) return seen.status();
              for (const SharedPoint& point : seen->value) {
                admin_pb::PointEntry& entry = *response->add_points();
                entry.set_name(CleanLine(point.name, kMaxTextBytes));
                entry.set_digested(point.recorded);
                entry.set_digested_time(point.recorded ? point.made : 0);
              }
              AddMembers(seen->members, response);
              return absl::OkStatus();
            });
      });
}

grpc::ServerUnaryReactor* PointsService::RemoveGroupPoint(
    grpc::CallbackServerContext* context,
    const admin_pb::RemoveGroupPointRequest* request,
    admin_pb::RemoveGroupPointResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_RETURN_IF_ERROR(Require("name", request->name()));
        ADDONS_ASSIGN_OR_RETURN(
            const SourceCall call,
            PrepareGroupCall(environment_.resolver, *request, "remove point",
                             {{"name", request->name()}}));
        return RunOnMembers<bool>(
                   operations_, environment_, call, rpc_call.caller,
                   [this, name = request->name()](OperationContext& operation,
                                                  const GroupTarget& target) {
                     return addons::RemoveGroupPoint(operation, environment_,
                                                     target, name);
                   })
            .Then([this, call, request_id = rpc_call.caller.request_id,
                   name = request->name(),
                   response](const absl::StatusOr<OfGroup<bool>>& removed) {
              RecordAnswer(environment_.history, call, request_id,
                           removed.status(), name);
              if (!removed.ok()) return removed.status();
              response->set_removed(removed->value);
              return absl::OkStatus();
            });
      });
}

}  // namespace addons
