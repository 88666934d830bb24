#include "tests/cluster/reclaim_client.h"

#include "reclaimspace/reclaimspace.grpc.pb.h"

namespace addons::testing {

Reclaimed CallReclaim(const std::string& socket, const ReclaimAsk& ask) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + ask.deadline);
  ::reclaimspace::ControllerReclaimSpaceRequest request;
  request.set_volume_id(ask.volume_id);
  for (const auto& [key, value] : ask.parameters) {
    (*request.mutable_parameters())[key] = value;
  }
  (*request.mutable_secrets())["userID"] = ask.user_id;
  (*request.mutable_secrets())["userKey"] = ask.user_key;
  ::reclaimspace::ControllerReclaimSpaceResponse response;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  Reclaimed result;
  result.status =
      ::reclaimspace::ReclaimSpaceController::NewStub(
          grpc::CreateCustomChannel(
              "unix:" + socket, grpc::InsecureChannelCredentials(), arguments))
          ->ControllerReclaimSpace(&context, request, &response);
  if (response.has_pre_usage()) {
    result.before = response.pre_usage().usage_bytes();
  }
  if (response.has_post_usage()) {
    result.after = response.post_usage().usage_bytes();
  }
  return result;
}

}  // namespace addons::testing
