#include "cli/replication_verbs.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "cli/call.h"
#include "cli/channel.h"
#include "cli/methods.h"
#include "replication/replication.pb.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace pb = ::replication;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

/// One call waits so long at most, so that the reason is seen soon.
constexpr seconds kOneCall{30};
constexpr seconds kPause{2};
constexpr size_t kMaxText = 4096;

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
  for (const std::string& parameter : command.parameters) {
    const size_t equals = parameter.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("--parameter '", parameter, "' is not KEY=VALUE"));
    }
    request["parameters"][parameter.substr(0, equals)] =
        parameter.substr(equals + 1);
  }
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
  streams.err << text.loss << "\n"
              << (command.group ? "volume group " : "volume ")
              << CleanLine(command.id, kMaxText)
              << ": type yes to go on, anything else to change nothing: "
              << std::flush;
  std::string answer;
  std::getline(streams.in, answer);
  if (answer == "yes") return true;
  streams.err << "\nnothing was changed (--yes answers beforehand)\n";
  return false;
}

/// It goes on without this call, or the daemon asks for it to be repeated. The
/// daemon's messages name the request; those of a connection that fails do not.
bool MustBeRepeated(const absl::Status& status) {
  if (absl::IsDeadlineExceeded(status)) return true;
  return (absl::IsUnavailable(status) || absl::IsAborted(status)) &&
         absl::StrContains(status.message(), "(request ");
}

/// Without the id of the request, which is another one each time.
std::string Reason(const absl::Status& status) {
  std::string line = ErrorLine(status);
  const size_t request = line.rfind(" (request ");
  return request == std::string::npos ? line : line.substr(0, request);
}

/// A resync is done when the copy is in step.
absl::Status NotReady(const ReplicationCommand& command,
                      const Message& response) {
  if (command.verb != ReplicationVerb::kResync ||
      static_cast<const pb::ResyncVolumeResponse&>(response).ready()) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(
      "the resync is under way; `rbd mirror image status` shows how far it is, "
      "and the call can be repeated");
}

absl::Status CallUntilDone(const ReplicationCommand& command,
                           const MethodDescriptor& method, Message& request,
                           Message& response, Streams& streams) {
  ADDONS_ASSIGN_OR_RETURN(const auto channel, OpenChannel(command.endpoint));
  const auto end = steady_clock::now() + command.timeout;
  std::string last_reason;
  while (true) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    absl::Status status = CallMethod(
        channel, method, request,
        std::clamp<milliseconds>(left, milliseconds(1), kOneCall), response);
    if (status.ok()) {
      status = NotReady(command, response);
      if (status.ok()) return status;
      // It has begun: by force once more would begin it anew.
      static_cast<pb::ResyncVolumeRequest&>(request).set_force(false);
    } else if (!MustBeRepeated(status)) {
      return status;
    }
    if (steady_clock::now() + kPause >= end) return status;
    if (std::string reason = Reason(status); reason != last_reason) {
      streams.err << "waiting: " << reason << std::endl;
      last_reason = std::move(reason);
    }
    RealClock().SleepFor(kPause, std::stop_token());
  }
}

std::string InfoText(const pb::GetVolumeReplicationInfoResponse& info) {
  std::string text = absl::StrCat(
      "replication  ",
      pb::GetVolumeReplicationInfoResponse::Status_Name(info.status()),
      "\nmessage      ", CleanLine(info.status_message(), kMaxText), "\n");
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
  if (command.json) {
    const absl::StatusOr<std::string> text = ToJson(response);
    if (!text.ok()) {
      return Fail(text.status(), text.status().raw_code(), streams);
    }
    streams.out << *text;
  } else if (command.verb == ReplicationVerb::kInfo) {
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
  const auto make =
      [&]() -> absl::StatusOr<std::unique_ptr<google::protobuf::Message>> {
    ADDONS_ASSIGN_OR_RETURN(const std::string json, RequestText(command));
    ADDONS_ASSIGN_OR_RETURN(const std::string secrets,
                            ReadFile(command.secrets_file));
    return MakeRequest(**method, json, TextSource::kCommandLine, secrets);
  };
  const auto request = make();
  if (!request.ok()) return Fail(request.status(), kCliUsage, streams);
  if (!Confirmed(text, command, streams)) return kCliUsage;
  const auto response = NewMessage(*(*method)->output_type());
  const absl::Status called =
      CallUntilDone(command, **method, **request, *response, streams);
  if (!called.ok()) {
    return Fail(called,
                absl::IsInvalidArgument(called) &&
                        !absl::StrContains(called.message(), "(request ")
                    ? kCliUsage
                    : called.raw_code(),
                streams);
  }
  return Print(command, *response, streams);
}

}  // namespace addons
