#ifndef ADDONS_TESTS_TESTING_RECLAIM_CALL_H_
#define ADDONS_TESTS_TESTING_RECLAIM_CALL_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "reclaimspace/reclaimspace.grpc.pb.h"

namespace addons::testing {

/// What a call of ControllerReclaimSpace answered.
struct Reclaimed {
  grpc::Status status;
  std::optional<int64_t> before;
  std::optional<int64_t> after;
};

struct ReclaimAsk {
  std::string volume_id;
  std::string user_id;
  std::string user_key;
  std::map<std::string, std::string> parameters = {};
  std::chrono::milliseconds deadline = std::chrono::seconds(60);
};

/// `context` can cancel.
inline Reclaimed CallReclaim(const std::shared_ptr<grpc::Channel>& channel,
                             const ReclaimAsk& ask,
                             grpc::ClientContext* context) {
  context->set_deadline(std::chrono::system_clock::now() + ask.deadline);
  ::reclaimspace::ControllerReclaimSpaceRequest request;
  request.set_volume_id(ask.volume_id);
  for (const auto& [key, value] : ask.parameters) {
    (*request.mutable_parameters())[key] = value;
  }
  (*request.mutable_secrets())["userID"] = ask.user_id;
  (*request.mutable_secrets())["userKey"] = ask.user_key;
  ::reclaimspace::ControllerReclaimSpaceResponse response;
  Reclaimed result;
  result.status = ::reclaimspace::ReclaimSpaceController::NewStub(channel)
                      ->ControllerReclaimSpace(context, request, &response);
  if (response.has_pre_usage()) {
    result.before = response.pre_usage().usage_bytes();
  }
  if (response.has_post_usage()) {
    result.after = response.post_usage().usage_bytes();
  }
  return result;
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_RECLAIM_CALL_H_
