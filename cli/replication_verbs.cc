#include "cli/replication_verbs.h"

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "cli/call.h"
#include "cli/confirm.h"
#include "cli/methods.h"
#include "cli/parameters.h"
#include "cli/repeated_call.h"
#include "replication/replication.pb.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace pb = ::replication;
using google::protobuf::Message;
using nlohmann::json;

struct VerbText {
  const char* method;
  const char* done;
  const char* loss;  // of doing it by force; empty: that loses nothing
};

VerbText TextOf(ReplicationVerb verb) {
  switch (verb) {
    case ReplicationVerb::kEnable:
      return {"replication.Controller/EnableVolumeReplication",
              "replication is enabled", ""};
    case ReplicationVerb::kDisable:
      return {"replication.Controller/DisableVolumeReplication",
              "done: replication is off, or this is the copy of a living "
              "primary, whose disable removes it",
              "To disable a copy by force ends its replication although its "
              "primary is not asked: do so only when that site is lost for "
              "good."};
    case ReplicationVerb::kPromote:
      return {"replication.Controller/PromoteVolume", "this site is primary",
              "To promote by force returns to the last complete copy on this "
              "site: what was written on the other site since is lost, and "
              "where that site lives, both are primary until it is demoted."};
    case ReplicationVerb::kDemote:
      return {"replication.Controller/DemoteVolume", "this site is secondary",
              ""};
    case ReplicationVerb::kResync:
      return {"replication.Controller/ResyncVolume",
              "this copy is in step with the other site",
              "To resync by force deletes this site's copy where the two sites "
              "differ, and copies it anew: what only this site has is lost."};
    case ReplicationVerb::kInfo:
      break;
  }
  return {"replication.Controller/GetVolumeReplicationInfo", "", ""};
}

/// The request as MakeRequest() takes it.
absl::StatusOr<std::string> RequestText(const ReplicationCommand& command) {
  json request;
  if (command.group) {
    request["replication_source"]["volumegroup"]["volume_group_id"] =
        command.id;
  } else {
    request["replication_source"]["volume"]["volume_id"] = command.id;
  }
  ADDONS_ASSIGN_OR_RETURN(const auto parameters,
                          ParseParameters(command.parameters));
  // Not every request has them.
  if (!parameters.empty()) request["parameters"] = parameters;
  if (command.force) {
    // Disable has no field of its own for it.
    if (command.verb == ReplicationVerb::kDisable) {
      request["parameters"]["force"] = "true";
    } else {
      request["force"] = true;
    }
  }
  // Text that is no UTF-8 is refused by the daemon, not by the printer.
  return request.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool Confirmed(const VerbText& text, const ReplicationCommand& command,
               Streams& streams) {
  if (!command.force || command.yes || *text.loss == '\0') return true;
  return SaysYes(absl::StrCat(text.loss, "\n"),
                 absl::StrCat(command.group ? "volume group " : "volume ",
                              CleanLine(command.id, kMaxShownText)),
                 streams);
}

/// A resync is done when the copy is in step.
absl::Status CopyIsInStep(Message& request, const Message& response) {
  if (static_cast<const pb::ResyncVolumeResponse&>(response).ready()) {
    return absl::OkStatus();
  }
  // It has begun: by force once more would begin it anew.
  static_cast<pb::ResyncVolumeRequest&>(request).set_force(false);
  return absl::UnavailableError(
      "the resync is under way; `rbd mirror image status` shows how far it is, "
      "and the call can be repeated");
}

std::string InfoText(const pb::GetVolumeReplicationInfoResponse& info) {
  std::string text = absl::StrCat(
      "replication  ",
      pb::GetVolumeReplicationInfoResponse::Status_Name(info.status()),
      "\nmessage      ", CleanLine(info.status_message(), kMaxShownText), "\n");
  if (!info.has_last_sync_time()) {
    absl::StrAppend(&text, "last sync    not known\n");
    return text;
  }
  absl::StrAppend(
      &text, "last sync    ",
      FormatUtc(absl::FromUnixSeconds(info.last_sync_time().seconds())));
  if (info.has_last_sync_duration()) {
    absl::StrAppend(&text, ", took ", info.last_sync_duration().seconds(),
                    " s");
  }
  if (info.last_sync_bytes() > 0) {
    absl::StrAppend(&text, ", ", info.last_sync_bytes(), " bytes");
  }
  absl::StrAppend(&text, "\n");
  return text;
}

int Print(const ReplicationCommand& command, const Message& response,
          Streams& streams) {
  if (command.json) return PrintJson(response, streams);
  if (command.verb == ReplicationVerb::kInfo) {
    streams.out << InfoText(
        static_cast<const pb::GetVolumeReplicationInfoResponse&>(response));
  } else {
    streams.out << TextOf(command.verb).done << "\n";
  }
  return 0;
}

}  // namespace

int RunReplicationCommand(const ReplicationCommand& command, Streams& streams) {
  const VerbText text = TextOf(command.verb);
  const auto method = FindMethod(text.method);
  if (!method.ok()) return Fail(method.status(), kCliUsage, streams);
  const auto request =
      MakeVerbRequest(**method, RequestText(command), command.secrets_file);
  if (!request.ok()) return Fail(request.status(), kCliUsage, streams);
  if (!Confirmed(text, command, streams)) return kCliUsage;
  const auto response = NewMessage(*(*method)->output_type());
  RepeatedCall call{command.endpoint, command.timeout, nullptr};
  if (command.verb == ReplicationVerb::kResync) call.judge = CopyIsInStep;
  const absl::Status called =
      CallUntilDone(call, **method, **request, *response, streams);
  if (!called.ok()) return FailCall(called, streams);
  return Print(command, *response, streams);
}

}  // namespace addons
