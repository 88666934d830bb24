#include "cli/replication_verbs.h"

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "cli/call.h"
#include "cli/confirm.h"
#include "cli/info_table.h"
#include "cli/inspection.h"
#include "cli/methods.h"
#include "cli/output.h"
#include "cli/palette.h"
#include "cli/parameters.h"
#include "cli/repeated_call.h"
#include "cli/volume_name.h"
#include "rbdaddons/admin.pb.h"
#include "replication/replication.pb.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
namespace pb = ::replication;
using google::protobuf::Message;
using nlohmann::json;

/// At a copy, between two calls.
constexpr std::chrono::seconds kOneLook{5};
/// Before a promotion by force.
constexpr std::chrono::seconds kOneForecast{30};

struct VerbText {
  const char* name = "";
  const char* method = "";
  const char* done = "";
  const char* loss = "";         // of doing it; empty: it loses nothing
  const char* forced_loss = "";  // of doing it by force, likewise
};

VerbText TextOf(ReplicationVerb verb) {
  switch (verb) {
    case ReplicationVerb::kEnable:
      return {"enable", "replication.Controller/EnableVolumeReplication",
              "replication is enabled"};
    case ReplicationVerb::kDisable:
      return {"disable", "replication.Controller/DisableVolumeReplication",
              "done: replication is off, or this is the copy of a living "
              "primary, whose disable removes it",
              "To disable replication of a primary makes the other site delete "
              "its copy: until it is enabled and copied anew there is nothing "
              "to fail over to.",
              "To disable a copy by force ends its replication although its "
              "primary is not asked: do so only when that site is lost for "
              "good."};
    case ReplicationVerb::kPromote:
      return {"promote", "replication.Controller/PromoteVolume",
              "this site is primary", "",
              "To promote by force returns to the last complete copy on this "
              "site: what was written on the other site since is lost, and "
              "where that site lives, both are primary until it is demoted."};
    case ReplicationVerb::kDemote:
      return {"demote", "replication.Controller/DemoteVolume",
              "this site is secondary"};
    case ReplicationVerb::kResync:
      return {"resync", "replication.Controller/ResyncVolume",
              "this copy is in step with the other site", "",
              "To resync by force deletes this site's copy where the two sites "
              "differ, and copies it anew: what only this site has is lost."};
    case ReplicationVerb::kDestination:
      return {"destination",
              "replication.Controller/GetReplicationDestinationInfo", ""};
    case ReplicationVerb::kInfo:
      break;
  }
  return {"info", "replication.Controller/GetVolumeReplicationInfo", ""};
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
  ADDONS_ASSIGN_OR_RETURN(auto parameters, ParseParameters(command.parameters));
  if (!command.point.empty()) parameters["restorePoint"] = command.point;
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
  return ReplacedJsonText(request);
}

/// As the daemon's list of operations calls it.
std::string ObjectOf(const ReplicationCommand& command) {
  return absl::StrCat(command.group ? "volume group '" : "volume '", command.id,
                      "'");
}

/// What forcing this promotion would cost, as check-failover sees it; where it
/// does not, what any may cost, and why.
std::string LossByForce(const VerbText& text, const ReplicationCommand& command,
                        Streams& streams) {
  admin_pb::CheckFailoverRequest request;
  if (command.group) {
    request.add_group_ids(command.id);
  } else {
    request.add_volume_ids(command.id);
  }
  const auto parameters = ParseParameters(command.parameters);
  if (parameters.ok()) {
    request.mutable_parameters()->insert(parameters->begin(),
                                         parameters->end());
  }
  admin_pb::CheckFailoverResponse found;
  const absl::Status asked =
      command.admin_endpoint.empty()
          ? absl::UnavailableError("no socket for administrators is known")
          : AskWithSecrets(command.admin_endpoint, kOneForecast,
                           command.secrets, request, found, streams);
  if (asked.ok()) {
    if (std::string seen = ForceText(found, Palette(streams)); !seen.empty()) {
      return seen;
    }
  }
  return absl::StrCat(text.forced_loss,
                      "\nWhat this one would lose was not "
                      "seen: ",
                      CleanLine(asked.message(), kMaxShownText), "\n");
}

/// What going back to a point comes to; empty: to none.
std::string PointText(const ReplicationCommand& command) {
  if (command.point.empty()) return "";
  return absl::StrCat("Then it goes back to point '",
                      CleanLine(command.point, kMaxShownName),
                      "'. What this site held last is kept as a point "
                      "'before-...' (`rbd-addons point list`). Start no "
                      "workload before it has ended.\n");
}

bool IsAllowed(const VerbText& text, const ReplicationCommand& command,
               Streams& streams) {
  std::string loss = command.force ? text.forced_loss : text.loss;
  if ((loss.empty() && command.point.empty()) || command.yes) return true;
  if (loss.empty()) {
    loss = "This site becomes primary.\n";
  } else {
    loss = command.verb == ReplicationVerb::kPromote
               ? LossByForce(text, command, streams)
               : absl::StrCat(loss, "\n");
  }
  loss += PointText(command);
  return SaysYes(loss,
                 absl::StrCat(command.group ? "volume group '" : "volume '",
                              TypedName(command.id, streams), "'"),
                 streams);
}

/// What replication info says of a copy that is being made; empty when it does
/// not answer.
std::string HowFarItIs(const ReplicationCommand& command, Streams& streams) {
  pb::GetVolumeReplicationInfoRequest request;
  auto& source = *request.mutable_replication_source();
  if (command.group) {
    source.mutable_volumegroup()->set_volume_group_id(command.id);
  } else {
    source.mutable_volume()->set_volume_id(command.id);
  }
  pb::GetVolumeReplicationInfoResponse info;
  if (!AskWithSecrets(command.endpoint, kOneLook, command.secrets, request,
                      info, streams)
           .ok()) {
    return "";
  }
  return info.status_message();
}

/// A resync is done when the copy is in step.
absl::Status CopyIsInStep(const ReplicationCommand& command, Message& request,
                          const Message& response, Streams& streams) {
  if (static_cast<const pb::ResyncVolumeResponse&>(response).ready()) {
    return absl::OkStatus();
  }
  // It has begun: by force once more would begin it anew.
  static_cast<pb::ResyncVolumeRequest&>(request).set_force(false);
  const std::string how_far = HowFarItIs(command, streams);
  return absl::UnavailableError(
      absl::StrCat("the resync is under way, and the call can be repeated",
                   how_far.empty() ? "" : "; ", how_far));
}

std::string StatusText(pb::GetVolumeReplicationInfoResponse::Status status,
                       const Palette& palette) {
  const std::string text =
      pb::GetVolumeReplicationInfoResponse::Status_Name(status);
  switch (status) {
    case pb::GetVolumeReplicationInfoResponse::HEALTHY:
      return palette.Good(text);
    case pb::GetVolumeReplicationInfoResponse::ERROR:
      return palette.Bad(text);
    default:
      return palette.Poor(text);
  }
}

std::string InfoText(const pb::GetVolumeReplicationInfoResponse& info,
                     const Palette& palette) {
  const std::string role = RoleIn(info);
  std::string text = absl::StrCat(
      "replication  ",
      IsInStep(info) ? palette.Good("IN STEP")
                     : StatusText(info.status(), palette),
      role.empty() ? "" : absl::StrCat("\nrole         ", role),
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

std::string DestinationText(
    const pb::GetReplicationDestinationInfoResponse& found) {
  const pb::ReplicationDestination& there = found.replication_destination();
  if (!there.has_volumegroup()) {
    return absl::StrCat(CleanLine(there.volume().volume_id(), kMaxShownName),
                        "\n");
  }
  const auto& group = there.volumegroup();
  std::string text = absl::StrCat(
      "group  ", CleanLine(group.volume_group_id(), kMaxShownName), "\n");
  const std::map<std::string, std::string> sorted(group.volume_ids().begin(),
                                                  group.volume_ids().end());
  for (const auto& [here, other] : sorted) {
    absl::StrAppend(&text, "  ", CleanLine(here, kMaxShownName), " is ",
                    CleanLine(other, kMaxShownName), "\n");
  }
  return text;
}

/// Nobody else tells whoever promotes: the answer has no place for it.
void SayWithoutSchedule(const ReplicationCommand& command, Streams& streams) {
  const int64_t without = streams.trailers.without_schedule.value_or(0);
  if (command.verb != ReplicationVerb::kPromote || without == 0) return;
  streams.err << (command.group
                      ? absl::StrCat("no mirror snapshot schedule is set for ",
                                     without, " of its volumes")
                      : "no mirror snapshot schedule is set")
              << ": nothing is copied back until there is one; promote it "
                 "again with one (--parameter schedulingInterval=5m)\n";
}

int Print(const ReplicationCommand& command, const Message& response,
          Streams& streams) {
  const VerbText text = TextOf(command.verb);
  const std::string done =
      command.point.empty()
          ? text.done
          : absl::StrCat(text.done, ", and the volume holds point '",
                         CleanLine(command.point, kMaxShownName), "'");
  switch (command.verb) {
    case ReplicationVerb::kInfo:
      return YieldMessage(
          response,
          InfoText(static_cast<const pb::GetVolumeReplicationInfoResponse&>(
                       response),
                   Palette(streams)),
          streams);
    case ReplicationVerb::kDestination:
      return YieldMessage(
          response,
          DestinationText(
              static_cast<const pb::GetReplicationDestinationInfoResponse&>(
                  response)),
          streams);
    default:
      break;
  }
  return YieldChange(
      {{"verb", text.name},
       {command.group ? "volume_group_id" : "volume_id", command.id},
       {"result", done}},
      response, absl::StrCat(done, "\n"), streams);
}

}  // namespace

int RunReplicationCommand(const ReplicationCommand& command, Streams& streams) {
  const VerbText text = TextOf(command.verb);
  const auto method = FindMethod(text.method);
  if (!method.ok()) return Fail(method.status(), kCliUsage, streams);
  const auto request =
      MakeVerbRequest(**method, RequestText(command), command.secrets);
  if (!request.ok()) return Fail(request.status(), kCliUsage, streams);
  if (!IsAllowed(text, command, streams)) return kCliUsage;
  const auto response = NewMessage(*(*method)->output_type());
  RepeatedCall call{command.endpoint, command.admin_endpoint, command.timeout,
                    nullptr, ObjectOf(command)};
  if (command.verb == ReplicationVerb::kResync) {
    call.judge = [&](Message& asked, const Message& answer) {
      return CopyIsInStep(command, asked, answer, streams);
    };
  }
  const absl::Status called =
      CallUntilDone(call, **method, **request, *response, streams);
  if (!called.ok()) return FailCall(called, streams);
  SayWithoutSchedule(command, streams);
  return Print(command, *response, streams);
}

}  // namespace addons
