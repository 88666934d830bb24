#ifndef ADDONS_TESTS_RPC_VOLUME_GROUP_CALL_H_
#define ADDONS_TESTS_RPC_VOLUME_GROUP_CALL_H_

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "volumegroup/volumegroup.grpc.pb.h"

namespace addons::testing {

/// A request of volumegroup.Controller; the fields that a method does not have
/// are ignored.
struct VolumeGroupAsk {
  std::string name;
  std::string group_id;
  std::vector<std::string> volume_ids;
  std::map<std::string, std::string> parameters;
  int32_t max_entries = 0;
  std::string token;
  std::chrono::milliseconds deadline = std::chrono::seconds(20);
  std::string user_id;
  std::string user_key;
};

struct VolumeGroupAnswer {
  grpc::Status status;
  std::string group_id;
  std::vector<std::string> volume_ids;
  std::map<std::string, std::string> context;
  std::vector<std::string> listed;  // group ids
  std::string next_token;
};

template <typename Request>
Request VolumeGroupRequestOf(const VolumeGroupAsk& ask) {
  Request request;
  (*request.mutable_secrets())["userID"] = ask.user_id;
  (*request.mutable_secrets())["userKey"] = ask.user_key;
  if constexpr (requires { request.set_name(ask.name); }) {
    request.set_name(ask.name);
  }
  if constexpr (requires { request.set_volume_group_id(ask.group_id); }) {
    request.set_volume_group_id(ask.group_id);
  }
  if constexpr (requires { request.mutable_parameters(); }) {
    request.mutable_parameters()->insert(ask.parameters.begin(),
                                         ask.parameters.end());
  }
  if constexpr (requires { request.mutable_volume_ids(); }) {
    request.mutable_volume_ids()->Add(ask.volume_ids.begin(),
                                      ask.volume_ids.end());
  }
  if constexpr (requires { request.set_max_entries(0); }) {
    request.set_max_entries(ask.max_entries);
    request.set_starting_token(ask.token);
  }
  return request;
}

/// Calls "CreateVolumeGroup" and the like.
inline VolumeGroupAnswer CallVolumeGroup(
    const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
    const VolumeGroupAsk& ask) {
  namespace pb = ::volumegroup;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + ask.deadline);
  const auto stub = pb::Controller::NewStub(channel);
  VolumeGroupAnswer answer;
  const auto take = [&answer](const pb::VolumeGroup& group) {
    answer.group_id = group.volume_group_id();
    for (const auto& volume : group.volumes()) {
      answer.volume_ids.push_back(volume.volume_id());
    }
    answer.context = {group.volume_group_context().begin(),
                      group.volume_group_context().end()};
  };
  if (method == "CreateVolumeGroup") {
    pb::CreateVolumeGroupResponse response;
    answer.status = stub->CreateVolumeGroup(
        &context, VolumeGroupRequestOf<pb::CreateVolumeGroupRequest>(ask),
        &response);
    take(response.volume_group());
  } else if (method == "ModifyVolumeGroupMembership") {
    pb::ModifyVolumeGroupMembershipResponse response;
    answer.status = stub->ModifyVolumeGroupMembership(
        &context,
        VolumeGroupRequestOf<pb::ModifyVolumeGroupMembershipRequest>(ask),
        &response);
    take(response.volume_group());
  } else if (method == "DeleteVolumeGroup") {
    pb::DeleteVolumeGroupResponse response;
    answer.status = stub->DeleteVolumeGroup(
        &context, VolumeGroupRequestOf<pb::DeleteVolumeGroupRequest>(ask),
        &response);
  } else if (method == "ListVolumeGroups") {
    pb::ListVolumeGroupsResponse response;
    answer.status = stub->ListVolumeGroups(
        &context, VolumeGroupRequestOf<pb::ListVolumeGroupsRequest>(ask),
        &response);
    for (const auto& entry : response.entries()) {
      answer.listed.push_back(entry.volume_group().volume_group_id());
    }
    answer.next_token = response.next_token();
  } else if (method == "ControllerGetVolumeGroup") {
    pb::ControllerGetVolumeGroupResponse response;
    answer.status = stub->ControllerGetVolumeGroup(
        &context,
        VolumeGroupRequestOf<pb::ControllerGetVolumeGroupRequest>(ask),
        &response);
    take(response.volume_group());
  } else {
    ADD_FAILURE() << "no method " << method;
  }
  return answer;
}

inline constexpr const char* kVolumeGroupMethods[] = {
    "CreateVolumeGroup", "ModifyVolumeGroupMembership", "DeleteVolumeGroup",
    "ListVolumeGroups", "ControllerGetVolumeGroup"};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_RPC_VOLUME_GROUP_CALL_H_
