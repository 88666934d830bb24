#ifndef ADDONS_TESTS_RPC_FENCE_CALL_H_
#define ADDONS_TESTS_RPC_FENCE_CALL_H_

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ceph/cluster.h"
#include "fence/fence.grpc.pb.h"

namespace addons::testing {

/// A request of fence.FenceController. `cidrs` matter to two methods only.
struct FenceAsk {
  std::vector<std::string> cidrs;
  std::map<std::string, std::string> parameters = {{"clusterID", "site-a"}};
  std::chrono::milliseconds deadline = std::chrono::seconds(20);
  std::string user_id = {};
  std::string user_key = {};
};

struct FenceAnswer {
  grpc::Status status;
  std::vector<std::string> cidrs;  // listed, or the client's addresses
  std::string client_id;
};

template <typename Request>
Request FenceRequestOf(const FenceAsk& ask) {
  Request request;
  for (const auto& [key, value] : ask.parameters) {
    (*request.mutable_parameters())[key] = value;
  }
  (*request.mutable_secrets())["userID"] = ask.user_id;
  (*request.mutable_secrets())["userKey"] = ask.user_key;
  return request;
}

/// Calls "FenceClusterNetwork" and the like. `deadline` zero: none at all.
inline FenceAnswer CallFence(const std::shared_ptr<grpc::Channel>& channel,
                             const std::string& method, const FenceAsk& ask) {
  namespace pb = ::fence;
  grpc::ClientContext context;
  if (ask.deadline.count() > 0) {
    context.set_deadline(std::chrono::system_clock::now() + ask.deadline);
  }
  const auto stub = pb::FenceController::NewStub(channel);
  FenceAnswer answer;
  if (method == "FenceClusterNetwork") {
    auto request = FenceRequestOf<pb::FenceClusterNetworkRequest>(ask);
    for (const auto& cidr : ask.cidrs) request.add_cidrs()->set_cidr(cidr);
    pb::FenceClusterNetworkResponse response;
    answer.status = stub->FenceClusterNetwork(&context, request, &response);
  } else if (method == "UnfenceClusterNetwork") {
    auto request = FenceRequestOf<pb::UnfenceClusterNetworkRequest>(ask);
    for (const auto& cidr : ask.cidrs) request.add_cidrs()->set_cidr(cidr);
    pb::UnfenceClusterNetworkResponse response;
    answer.status = stub->UnfenceClusterNetwork(&context, request, &response);
  } else if (method == "ListClusterFence") {
    pb::ListClusterFenceResponse response;
    answer.status = stub->ListClusterFence(
        &context, FenceRequestOf<pb::ListClusterFenceRequest>(ask), &response);
    for (const auto& cidr : response.cidrs()) {
      answer.cidrs.push_back(cidr.cidr());
    }
  } else if (method == "GetFenceClients") {
    pb::GetFenceClientsResponse response;
    answer.status = stub->GetFenceClients(
        &context, FenceRequestOf<pb::GetFenceClientsRequest>(ask), &response);
    for (const auto& client : response.clients()) {
      answer.client_id = client.id();
      for (const auto& cidr : client.addresses()) {
        answer.cidrs.push_back(cidr.cidr());
      }
    }
  } else {
    ADD_FAILURE() << "no method " << method;
  }
  return answer;
}

inline constexpr const char* kFenceMethods[] = {
    "FenceClusterNetwork", "UnfenceClusterNetwork", "ListClusterFence",
    "GetFenceClients"};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_RPC_FENCE_CALL_H_
