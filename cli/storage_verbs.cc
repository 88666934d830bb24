#include "cli/storage_verbs.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/aligned_table.h"
#include "cli/call.h"
#include "cli/confirm.h"
#include "cli/methods.h"
#include "cli/output.h"
#include "cli/parameters.h"
#include "cli/progress.h"
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
    case StorageVerb::kRotateKey:
      return "encryptionkeyrotation.EncryptionKeyRotationController/"
             "EncryptionKeyRotate";
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
    case StorageVerb::kRotateKey:
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
  return ReplacedJsonText(request);
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

/// As the daemon's list of operations calls it; empty: it is not in there.
std::string SubjectOf(const StorageCommand& command) {
  switch (command.verb) {
    case StorageVerb::kFence:
    case StorageVerb::kUnfence:
      return absl::StrCat("cluster '", command.cluster, "'");
    case StorageVerb::kReclaim:
    case StorageVerb::kTrim:
    case StorageVerb::kRotateKey:
      return absl::StrCat("volume '", command.id, "'");
    case StorageVerb::kGroupCreate:
    case StorageVerb::kGroupModify:
    case StorageVerb::kGroupDelete:
      return absl::StrCat("volume group '", command.id, "'");
    default:
      return "";
  }
}

std::string RangesText(const StorageCommand& command) {
  return absl::StrCat(
      CleanLine(absl::StrJoin(command.cidrs, ", "), kMaxShownText),
      " in cluster '", CleanLine(command.cluster, kMaxShownName), "'");
}

bool IsAllowed(const StorageCommand& command, Streams& streams) {
  switch (command.verb) {
    case StorageVerb::kFence:
      return Confirmed(command.yes,
                       "A fence cuts every client at these addresses off from "
                       "the whole cluster: what they had not written yet is "
                       "lost.",
                       RangesText(command), streams);
    case StorageVerb::kUnfence:
      return Confirmed(command.yes,
                       "Without the fence these addresses can write again: "
                       "whatever ran there and still has volumes open damages "
                       "them when they are used elsewhere now.",
                       RangesText(command), streams);
    case StorageVerb::kGroupDelete:
      return Confirmed(command.yes,
                       "The group is gone for all who use its id; its volumes "
                       "stay.",
                       CleanLine(SubjectOf(command), kMaxShownText), streams);
    default:
      return true;
  }
}

std::string Mebibytes(int64_t bytes) {
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

/// `asked`: Trailers::asked_bytes.
template <typename Response>
std::string UsageText(const Message& message, std::optional<int64_t> asked) {
  const auto& usage = static_cast<const Response&>(message);
  if (!usage.has_pre_usage() || !usage.has_post_usage()) {
    return absl::StrCat(
        "done; how much became free is not known\n",
        asked ? absl::StrCat("asked to be discarded  ", Mebibytes(*asked),
                             ", by the filesystem's count\n")
              : "");
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
  std::vector<std::vector<std::string>> rows = {
      {"GROUP", "VOLUMES", "SIZE", "BROKEN MEMBERS"}};
  for (const auto& entry : found.entries()) {
    const ::volumegroup::VolumeGroup& group = entry.volume_group();
    int64_t bytes = 0;
    for (const auto& volume : group.volumes()) bytes += volume.capacity_bytes();
    const auto broken = group.volume_group_context().find("brokenMembers");
    rows.push_back(
        {group.volume_group_id(), absl::StrCat(group.volumes_size()),
         BytesText(static_cast<double>(bytes)),
         broken == group.volume_group_context().end() ? "" : broken->second});
  }
  return AlignedTable(rows);
}

template <typename Response>
std::string GroupOf(const Message& message) {
  return GroupText(static_cast<const Response&>(message).volume_group());
}

std::string ResultText(const StorageCommand& command, const Message& message,
                       std::optional<int64_t> asked) {
  switch (command.verb) {
    case StorageVerb::kFence:
      return absl::StrCat("fenced: ", RangesText(command), "\n");
    case StorageVerb::kUnfence:
      return absl::StrCat("not fenced any more: ", RangesText(command), "\n");
    case StorageVerb::kFences:
      return FencesText(
          static_cast<const ::fence::ListClusterFenceResponse&>(message));
    case StorageVerb::kFenceClient:
      return ClientsText(
          static_cast<const ::fence::GetFenceClientsResponse&>(message));
    case StorageVerb::kReclaim:
      return UsageText<::reclaimspace::ControllerReclaimSpaceResponse>(message,
                                                                       asked);
    case StorageVerb::kTrim:
      return UsageText<::reclaimspace::NodeReclaimSpaceResponse>(message,
                                                                 asked);
    case StorageVerb::kRotateKey:
      return "the KMS has the volume's key, and no earlier one opens it\n";
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

bool Changes(StorageVerb verb) {
  switch (verb) {
    case StorageVerb::kFences:
    case StorageVerb::kFenceClient:
    case StorageVerb::kGroupList:
    case StorageVerb::kGroupShow:
      return false;
    default:
      return true;
  }
}

/// What was changed, for programs.
nlohmann::ordered_json ResultOf(const StorageCommand& command) {
  switch (command.verb) {
    case StorageVerb::kFence:
    case StorageVerb::kUnfence:
      return {
          {"verb", command.verb == StorageVerb::kFence ? "fence" : "unfence"},
          {"cidrs", command.cidrs},
          {"cluster", command.cluster}};
    case StorageVerb::kReclaim:
      return {{"verb", "reclaim"}, {"volume_id", command.id}};
    case StorageVerb::kTrim:
      return {{"verb", "trim"}, {"volume_id", command.id}};
    case StorageVerb::kRotateKey:
      return {{"verb", "rotate-key"}, {"volume_id", command.id}};
    case StorageVerb::kGroupCreate:
      return {{"verb", "group create"}, {"name", command.id}};
    case StorageVerb::kGroupModify:
      return {{"verb", "group set-members"}, {"volume_group_id", command.id}};
    default:
      return {{"verb", "group delete"}, {"volume_group_id", command.id}};
  }
}

}  // namespace

int RunStorageCommand(const StorageCommand& command, Streams& streams) {
  const auto method = FindMethod(MethodOf(command.verb));
  if (!method.ok()) return Fail(method.status(), kCliUsage, streams);
  SecretsSource secrets = command.secrets;
  // The node's daemon opens no image.
  secrets.required = command.verb != StorageVerb::kTrim;
  const auto request = MakeVerbRequest(**method, RequestText(command), secrets);
  if (!request.ok()) return Fail(request.status(), kCliUsage, streams);
  if (!IsAllowed(command, streams)) return kCliUsage;
  const auto response = NewMessage(*(*method)->output_type());
  const absl::Status called =
      CallUntilDone({command.endpoint, command.admin_endpoint, command.timeout,
                     nullptr, SubjectOf(command)},
                    **method, **request, *response, streams);
  if (!called.ok()) return FailCall(called, streams);
  const std::string text =
      ResultText(command, *response, streams.trailers.asked_bytes);
  if (!Changes(command.verb)) return YieldMessage(*response, text, streams);
  nlohmann::ordered_json result = ResultOf(command);
  if (streams.trailers.asked_bytes) {
    result["asked_bytes"] = *streams.trailers.asked_bytes;
  }
  return YieldChange(std::move(result), *response, text, streams);
}

}  // namespace addons
