#include "tests/cluster/volume_group_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "tests/cluster/real_bed.h"

namespace addons::testing {
namespace {

namespace group_pb = ::volumegroup;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kDeadline{120};

/// Which the death of a daemon that another client has called does not spoil.
grpc::ChannelArguments OwnConnection() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return arguments;
}

template <typename Request>
void FillSecrets(const std::string& site, Request* request) {
  const CephUserRef user = Bed().User(site);
  (*request->mutable_secrets())["userID"] = user->id;
  (*request->mutable_secrets())["userKey"] = user->key.Reveal();
}

template <typename Response>
void Take(const Response& response, GroupReply* reply) {
  if constexpr (requires { response.volume_group(); }) {
    reply->id = response.volume_group().volume_group_id();
    for (const auto& volume : response.volume_group().volumes()) {
      reply->volumes.push_back(volume.volume_id());
    }
    std::sort(reply->volumes.begin(), reply->volumes.end());
    const auto& context = response.volume_group().volume_group_context();
    reply->context = {context.begin(), context.end()};
  }
}

}  // namespace

VolumeGroupClient::VolumeGroupClient(std::string site,
                                     const std::string& socket)
    : site_(std::move(site)),
      stub_(group_pb::Controller::NewStub(grpc::CreateCustomChannel(
          "unix:" + socket, grpc::InsecureChannelCredentials(),
          OwnConnection()))) {}

template <typename Response, typename Request, typename Method>
GroupReply VolumeGroupClient::Call(Request request, Method method) const {
  FillSecrets(site_, &request);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  Response response;
  GroupReply reply;
  const SteadyTime begin = RealClock().Now();
  reply.status = (stub_.get()->*method)(&context, request, &response);
  reply.took = duration_cast<milliseconds>(RealClock().Now() - begin);
  Take(response, &reply);
  return reply;
}

GroupReply VolumeGroupClient::Create(const std::string& name,
                                     const Ids& volumes,
                                     bool in_namespace) const {
  group_pb::CreateVolumeGroupRequest request;
  request.set_name(name);
  (*request.mutable_parameters())["clusterID"] =
      absl::StrCat("site-", site_, in_namespace ? "-ns" : "");
  (*request.mutable_parameters())["pool"] = RealBed::kPool;
  request.mutable_volume_ids()->Add(volumes.begin(), volumes.end());
  return Call<group_pb::CreateVolumeGroupResponse>(
      std::move(request), &group_pb::Controller::Stub::CreateVolumeGroup);
}

GroupReply VolumeGroupClient::Modify(const std::string& id,
                                     const Ids& volumes) const {
  group_pb::ModifyVolumeGroupMembershipRequest request;
  request.set_volume_group_id(id);
  request.mutable_volume_ids()->Add(volumes.begin(), volumes.end());
  return Call<group_pb::ModifyVolumeGroupMembershipResponse>(
      std::move(request),
      &group_pb::Controller::Stub::ModifyVolumeGroupMembership);
}

GroupReply VolumeGroupClient::Get(const std::string& id) const {
  group_pb::ControllerGetVolumeGroupRequest request;
  request.set_volume_group_id(id);
  return Call<group_pb::ControllerGetVolumeGroupResponse>(
      std::move(request),
      &group_pb::Controller::Stub::ControllerGetVolumeGroup);
}

GroupReply VolumeGroupClient::Delete(const std::string& id) const {
  group_pb::DeleteVolumeGroupRequest request;
  request.set_volume_group_id(id);
  return Call<group_pb::DeleteVolumeGroupResponse>(
      std::move(request), &group_pb::Controller::Stub::DeleteVolumeGroup);
}

GroupListReply VolumeGroupClient::List(int32_t max_entries,
                                       const std::string& token) const {
  group_pb::ListVolumeGroupsRequest request;
  request.set_max_entries(max_entries);
  request.set_starting_token(token);
  FillSecrets(site_, &request);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  group_pb::ListVolumeGroupsResponse response;
  GroupListReply reply;
  const SteadyTime begin = RealClock().Now();
  reply.status = stub_->ListVolumeGroups(&context, request, &response);
  reply.took = duration_cast<milliseconds>(RealClock().Now() - begin);
  for (const auto& entry : response.entries()) {
    reply.ids.push_back(entry.volume_group().volume_group_id());
  }
  reply.next_token = response.next_token();
  return reply;
}

}  // namespace addons::testing
