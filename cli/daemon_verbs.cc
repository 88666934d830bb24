#include "cli/daemon_verbs.h"

#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "cli/call.h"
#include "cli/confirm.h"
#include "cli/methods.h"
#include "cli/operations.h"
#include "cli/output.h"
#include "cli/repeated_call.h"
#include "identity/identity.pb.h"
#include "rbdaddons/admin.pb.h"
#include "rpc/method.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin = ::rbdaddons::admin::v1;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;

std::string ReadAll(std::istream& in) {
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

absl::StatusOr<std::unique_ptr<Message>> ReadRequest(
    const DaemonCommand& command, const MethodDescriptor& method,
    Streams& streams) {
  const bool from_input = command.request == "-";
  const std::string json = from_input ? ReadAll(streams.in) : command.request;
  SecretsSource source = command.secrets;
  source.required = false;
  // Not every method takes them, and the environment does not know which.
  source.environment =
      method.input_type()->FindFieldByName("secrets") != nullptr;
  ADDONS_ASSIGN_OR_RETURN(const std::string secrets, ReadSecrets(source));
  return MakeRequest(method, json,
                     from_input ? TextSource::kInput : TextSource::kCommandLine,
                     secrets);
}

/// "reclaim_space: ONLINE".
std::string CapabilityText(const identity::Capability& capability) {
  switch (capability.type_case()) {
    case identity::Capability::kService:
      return absl::StrCat("service: ", identity::Capability::Service::Type_Name(
                                           capability.service().type()));
    case identity::Capability::kReclaimSpace:
      return absl::StrCat("reclaim space: ",
                          identity::Capability::ReclaimSpace::Type_Name(
                              capability.reclaim_space().type()));
    case identity::Capability::kNetworkFence:
      return absl::StrCat("network fence: ",
                          identity::Capability::NetworkFence::Type_Name(
                              capability.network_fence().type()));
    case identity::Capability::kVolumeReplication:
      return absl::StrCat("volume replication: ",
                          identity::Capability::VolumeReplication::Type_Name(
                              capability.volume_replication().type()));
    case identity::Capability::kVolumeGroup:
      return absl::StrCat("volume group: ",
                          identity::Capability::VolumeGroup::Type_Name(
                              capability.volume_group().type()));
    case identity::Capability::kEncryptionKeyRotation:
      return absl::StrCat(
          "encryption key rotation: ",
          identity::Capability::EncryptionKeyRotation::Type_Name(
              capability.encryption_key_rotation().type()));
    case identity::Capability::TYPE_NOT_SET:
      break;
  }
  return "unknown";
}

std::string IdentityText(const identity::GetIdentityResponse& who,
                         const identity::GetCapabilitiesResponse& what) {
  std::string text = absl::StrCat(
      "name     ", CleanLine(who.name(), kMaxShownName), "\nversion  ",
      CleanLine(who.vendor_version(), kMaxShownName), "\n");
  for (const auto& [key, value] : who.manifest()) {
    absl::StrAppend(&text, CleanLine(key, kMaxShownName), "  ",
                    CleanLine(value, kMaxShownName), "\n");
  }
  absl::StrAppend(&text, "can do\n");
  for (const identity::Capability& capability : what.capabilities()) {
    absl::StrAppend(
        &text, "  ",
        absl::StrReplaceAll(absl::AsciiStrToLower(CapabilityText(capability)),
                            {{"_", " "}}),
        "\n");
  }
  return text;
}

/// Whether it is stopped. One that is not there is left to the daemon to name.
bool MayCancel(const DaemonCommand& command, Streams& streams) {
  admin::ListOperationsRequest request;
  admin::ListOperationsResponse list;
  if (!AskWithSecrets(command, request, list, streams).ok()) return true;
  for (const admin::Operation& operation : list.operations()) {
    if (operation.operation_id() != command.operation_id) continue;
    return Confirmed(
        command.yes,
        "A cancelled operation ends where it can, half of what it was to do "
        "may be done, and its callers are answered CANCELLED: the operator "
        "begins it again.",
        absl::StrCat("operation ", command.operation_id, ", ",
                     OperationText(operation)),
        streams);
  }
  return true;
}

}  // namespace

int RunCall(const DaemonCommand& command, Streams& streams) {
  const absl::StatusOr<const MethodDescriptor*> method =
      FindMethod(command.method);
  if (!method.ok()) return Fail(method.status(), kCliUsage, streams);
  const absl::StatusOr<std::unique_ptr<Message>> request =
      ReadRequest(command, **method, streams);
  if (!request.ok()) return Fail(request.status(), kCliUsage, streams);
  const std::unique_ptr<Message> response =
      NewMessage(*(*method)->output_type());
  const bool admin = IsForAdministrators(MethodName(**method));
  if (admin && command.admin_endpoint.empty()) {
    return Fail(OtherDaemon(), kCliUsage, streams);
  }
  const absl::Status called =
      CallOnce(admin ? command.admin_endpoint : command.endpoint,
               command.timeout, **method, **request, *response, streams);
  if (!called.ok()) return FailRawCall(called, streams);
  const auto json = ToJson(*response);
  if (!json.ok()) return Fail(json.status(), json.status().raw_code(), streams);
  return YieldMessage(*response, *json, streams);
}

int RunMethods(Streams& streams) {
  std::vector<std::string> names;
  for (const MethodDescriptor* method : AllMethods()) {
    names.push_back(MethodName(*method));
  }
  return Yield({{"methods", names}},
               absl::StrCat(absl::StrJoin(names, "\n"), "\n"), streams);
}

int RunProbe(const DaemonCommand& command, Streams& streams) {
  identity::ProbeRequest request;
  identity::ProbeResponse response;
  const absl::Status called =
      AskWithSecrets(command, request, response, streams);
  if (!called.ok()) return FailCall(called, streams);
  if (response.has_ready() && !response.ready().value()) {
    const absl::Status starting =
        absl::UnavailableError("the daemon is starting");
    return Fail(starting, starting.raw_code(), streams);
  }
  return Yield({{"ready", true}}, "ready\n", streams);
}

int RunIdentity(const DaemonCommand& command, Streams& streams) {
  identity::GetIdentityRequest who_request;
  identity::GetIdentityResponse who;
  absl::Status called = AskWithSecrets(command, who_request, who, streams);
  if (!called.ok()) return FailCall(called, streams);
  identity::GetCapabilitiesRequest what_request;
  identity::GetCapabilitiesResponse what;
  called = AskWithSecrets(command, what_request, what, streams);
  if (!called.ok()) return FailCall(called, streams);
  auto result = JsonOf(who);
  const auto capabilities = JsonOf(what);
  for (const absl::Status& status : {result.status(), capabilities.status()}) {
    if (!status.ok()) return Fail(status, status.raw_code(), streams);
  }
  result->update(*capabilities);
  return Yield(*result, IdentityText(who, what), streams);
}

int RunOperations(const DaemonCommand& command, Streams& streams) {
  admin::ListOperationsRequest request;
  admin::ListOperationsResponse response;
  const absl::Status called =
      AskWithSecrets(command, request, response, streams);
  if (!called.ok()) return FailCall(called, streams);
  return YieldMessage(response, OperationsText(response, streams.wide),
                      streams);
}

int RunCancel(const DaemonCommand& command, Streams& streams) {
  if (!command.yes && !MayCancel(command, streams)) return kCliUsage;
  admin::CancelOperationRequest request;
  request.set_operation_id(command.operation_id);
  admin::CancelOperationResponse response;
  const absl::Status called =
      AskWithSecrets(command, request, response, streams);
  if (!called.ok()) return FailCall(called, streams);
  return YieldChange({{"verb", "cancel"}}, response, CancelText(response),
                     streams);
}

}  // namespace addons
