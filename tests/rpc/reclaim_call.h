#ifndef ADDONS_TESTS_RPC_RECLAIM_CALL_H_
#define ADDONS_TESTS_RPC_RECLAIM_CALL_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "reclaimspace/reclaimspace.grpc.pb.h"
#include "tests/rpc/replication_server.h"

namespace addons::testing {

struct ReclaimAnswer {
  grpc::Status status;
  std::optional<int64_t> before;
  std::optional<int64_t> after;
};

/// ControllerReclaimSpace of the server's site. `context`, where given, can
/// cancel; `channel`, where given, is that of another server.
inline ReclaimAnswer Reclaim(ReplicationServer& server, const Ask& ask,
                             grpc::ClientContext* context = nullptr,
                             std::shared_ptr<grpc::Channel> channel = nullptr) {
  grpc::ClientContext own;
  if (context == nullptr) context = &own;
  context->set_deadline(std::chrono::system_clock::now() + ask.deadline);
  ::reclaimspace::ControllerReclaimSpaceRequest request;
  request.set_volume_id(ask.volume_id);
  for (const auto& [key, value] : ask.parameters) {
    (*request.mutable_parameters())[key] = value;
  }
  (*request.mutable_secrets())["userID"] = server.a.user()->id;
  (*request.mutable_secrets())["userKey"] =
      ask.user_key.empty() ? server.a.user()->key.Reveal() : ask.user_key;
  ::reclaimspace::ControllerReclaimSpaceResponse response;
  ReclaimAnswer answer;
  answer.status = ::reclaimspace::ReclaimSpaceController::NewStub(
                      channel != nullptr ? channel : server.Channel())
                      ->ControllerReclaimSpace(context, request, &response);
  if (response.has_pre_usage()) {
    answer.before = response.pre_usage().usage_bytes();
  }
  if (response.has_post_usage()) {
    answer.after = response.post_usage().usage_bytes();
  }
  return answer;
}

/// Of the volume that was added.
inline ReclaimAnswer Reclaim(ReplicationServer& server) {
  Ask ask;
  ask.volume_id = server.id;
  return Reclaim(server, ask);
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_RPC_RECLAIM_CALL_H_
