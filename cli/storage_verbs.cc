#include "cli/storage_verbs.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "cli/call.h"
#include "cli/methods.h"
#include "cli/parameters.h"
#include "cli/repeated_call.h"
#include "fence/fence.pb.h"
#include "reclaimspace/reclaimspace.pb.h"
#include "rpc/text.h"
#include "volumegroup/volumegroup.pb.h"

namespace addons {
namespace {

using google::protobuf::Message;
using nlohmann::json;

const char* MethodOf(StorageVerb verb) {
  switch (verb) {
    case StorageVerb::kFence:
      return "fence.FenceController/FenceClusterNetwork";
    case StorageVerb::kUnfence:
      return "fence.FenceController/UnfenceClusterNetwork";
    case StorageVerb::kFences:
      return "fence.FenceController/ListClusterFence";
    case StorageVerb::kFenceClient:
      return "fence.FenceController/GetFenceClients";
    case StorageVerb::kReclaim:
      return "reclaimspace.ReclaimSpaceController/ControllerReclaimSpace";
    case StorageVerb::kTrim:
      return "reclaimspace.ReclaimSpaceNode/NodeReclaimSpace";
    case StorageVerb::kGroupCreate:
      return "volumegroup.Controller/CreateVolumeGroup";
    case StorageVerb::kGroupModify:
      return "volumegroup.Controller/ModifyVolumeGroupMembership";
    case StorageVerb::kGroupDelete:
      return "volumegroup.Controller/DeleteVolumeGroup";
    case StorageVerb::kGroupList:
      return "volumegroup.Controller/ListVolumeGroups";
    case StorageVerb::kGroupShow:
      return "volumegroup.Controller/ControllerGetVolumeGroup";
  }
  return "";
}

/// The request as MakeRequest() takes it.
absl::StatusOr<std::string> RequestText(const StorageCommand& command) {
  json request = json::object();
  ADDONS_ASSIGN_OR_RETURN(const auto parameters,
                          ParseParameters(command.parameters));
  // Not every request has them.
  if (!parameters.empty()) request["parameters"] = parameters;
  switch (command.verb) {
    case StorageVerb::kFence:
    case StorageVerb::kUnfence:
      for (const std::string& cidr : command.cidrs) {
        request["cidrs"].push_back({{"cidr", cidr}});
      }
      [[fallthrough]];
    case StorageVerb::kFences:
    case StorageVerb::kFenceClient:
      request["parameters"]["clusterID"] = command.cluster;
      break;
    case StorageVerb::kTrim:
      request["staging_target_path"] = command.path;
      [[fallthrough]];
    case StorageVerb::kReclaim:
      request["volume_id"] = command.id;
      break;
    case StorageVerb::kGroupCreate:
      request["name"] = command.id;
      request["volume_ids"] = command.volumes;
      break;
    case StorageVerb::kGroupModify:
      request["volume_ids"] = command.volumes;
      [[fallthrough]];
    case StorageVerb::kGroupDelete:
    case StorageVerb::kGroupShow:
      request["volume_group_id"] = command.id;
      break;
    case StorageVerb::kGroupList:
      break;
  }
  // Text that is no UTF-8 is refused by the daemon, not by the printer.
  return request.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string Cidrs(
    const google::protobuf::RepeatedPtrField<::fence::CIDR>& cidrs,
    const char* between) {
  return absl::StrJoin(cidrs, between, [](std::string* out, const auto& cidr) {
    absl::StrAppend(out, CleanLine(cidr.cidr(), kMaxShownName));
  });
}

std::string FencesText(const ::fence::ListClusterFenceResponse& found) {
  if (found.cidrs().empty()) return "nothing is fenced\n";
  return absl::StrCat(Cidrs(found.cidrs(), "\n"), "\n");
}

std::string ClientsText(const ::fence::GetFenceClientsResponse& found) {
  std::string text;
  for (const auto& client : found.clients()) {
    absl::StrAppend(&text, CleanLine(client.id(), kMaxShownName), "  ",
                    Cidrs(client.addresses(), ", "), "\n");
  }
  return text;
}

std::string Mebibytes(int64_t bytes) {
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

template <typename Response>
std::string UsageText(const Message& message) {
  const auto& usage = static_cast<const Response&>(message);
  if (!usage.has_pre_usage() || !usage.has_post_usage()) {
    return "done; how much became free is not known\n";
  }
  const int64_t before = usage.pre_usage().usage_bytes();
  const int64_t after = usage.post_usage().usage_bytes();
  return absl::StrCat("used before  ", Mebibytes(before), "\nused now     ",
                      Mebibytes(after), "\n");
}

std::string GroupText(const ::volumegroup::VolumeGroup& group) {
  std::string text = absl::StrCat(
      "group  ", CleanLine(group.volume_group_id(), kMaxShownName), "\n");
  for (const auto& volume : group.volumes()) {
    absl::StrAppend(&text, "  ", CleanLine(volume.volume_id(), kMaxShownName));
    const auto problem = volume.volume_context().find("problem");
    if (problem != volume.volume_context().end()) {
      absl::StrAppend(&text,
                      "  broken: ", CleanLine(problem->second, kMaxShownText));
    }
    absl::StrAppend(&text, "\n");
  }
  absl::StrAppend(&text, group.volumes_size(),
                  group.volumes_size() == 1 ? " volume\n" : " volumes\n");
  return text;
}

std::string GroupsText(const ::volumegroup::ListVolumeGroupsResponse& found) {
  if (found.entries().empty()) return "there are no volume groups\n";
  std::string text;
  for (const auto& entry : found.entries()) {
    absl::StrAppend(
        &text, CleanLine(entry.volume_group().volume_group_id(), kMaxShownName),
        "\n");
  }
  return text;
}

template <typename Response>
std::string GroupOf(const Message& message) {
  return GroupText(static_cast<const Response&>(message).volume_group());
}

std::string ResultText(const StorageCommand& command, const Message& message) {
  const auto ranges = [&] {
    return absl::StrCat(
        CleanLine(absl::StrJoin(command.cidrs, ", "), kMaxShownText),
        " in cluster '", CleanLine(command.cluster, kMaxShownName), "'\n");
  };
  switch (command.verb) {
    case StorageVerb::kFence:
      return absl::StrCat("fenced: ", ranges());
    case StorageVerb::kUnfence:
      return absl::StrCat("not fenced any more: ", ranges());
    case StorageVerb::kFences:
      return FencesText(
          static_cast<const ::fence::ListClusterFenceResponse&>(message));
    case StorageVerb::kFenceClient:
      return ClientsText(
          static_cast<const ::fence::GetFenceClientsResponse&>(message));
    case StorageVerb::kReclaim:
      return UsageText<::reclaimspace::ControllerReclaimSpaceResponse>(message);
    case StorageVerb::kTrim:
      return UsageText<::reclaimspace::NodeReclaimSpaceResponse>(message);
    case StorageVerb::kGroupCreate:
      return GroupOf<::volumegroup::CreateVolumeGroupResponse>(message);
    case StorageVerb::kGroupModify:
      return GroupOf<::volumegroup::ModifyVolumeGroupMembershipResponse>(
          message);
    case StorageVerb::kGroupShow:
      return GroupOf<::volumegroup::ControllerGetVolumeGroupResponse>(message);
    case StorageVerb::kGroupList:
      return GroupsText(
          static_cast<const ::volumegroup::ListVolumeGroupsResponse&>(message));
    case StorageVerb::kGroupDelete:
      break;
  }
  return "the group is gone; its volumes stay\n";
}

}  // namespace

int RunStorageCommand(const StorageCommand& command, Streams& streams) {
  const auto method = FindMethod(MethodOf(command.verb));
  if (!method.ok()) return Fail(method.status(), kCliUsage, streams);
  const auto request =
      MakeVerbRequest(**method, RequestText(command), command.secrets_file);
  if (!request.ok()) return Fail(request.status(), kCliUsage, streams);
  const auto response = NewMessage(*(*method)->output_type());
  const absl::Status called =
      CallUntilDone({command.endpoint, command.timeout, nullptr}, **method,
                    **request, *response, streams);
  if (!called.ok()) return FailCall(called, streams);
  if (command.json) return PrintJson(*response, streams);
  streams.out << ResultText(command, *response);
  return 0;
}

}  // namespace addons
