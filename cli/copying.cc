#include "cli/copying.h"

#include <google/protobuf/message.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/utc.h"
#include "cli/flag_names.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/repeated_call.h"
#include "rbdaddons/admin.pb.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using nlohmann::ordered_json;

/// What became of one volume.
struct Copied {
  std::string id;
  ordered_json fields = ordered_json::object();
  std::string text;
  std::optional<admin_pb::SyncVolumeResponse> made;  // of a sync
  absl::Status status;
};

/// Calls the method of `request` until it is done, with the secrets.
absl::Status CallCopying(const CopyingCommand& command, const std::string& id,
                         const google::protobuf::Message& request,
                         google::protobuf::Message& response,
                         Streams& streams) {
  return CallAdminUntilDone(command.endpoint, command.timeout,
                            RepeatedCall().one_call, command.secrets,
                            absl::StrCat("volume '", id, "'"), request,
                            response, streams);
}

/// The fields of an answer, beside what is there.
void AddFields(const google::protobuf::Message& answer, Copied* copied) {
  const auto fields = JsonOf(answer);
  if (fields.ok()) copied->fields.update(*fields);
}

void MakeSnapshot(const CopyingCommand& command, Streams& streams,
                  Copied* copied) {
  admin_pb::SyncVolumeRequest request;
  request.set_volume_id(copied->id);
  admin_pb::SyncVolumeResponse made;
  copied->status = CallCopying(command, copied->id, request, made, streams);
  if (!copied->status.ok()) return;
  AddFields(made, copied);
  copied->made = made;
}

void AwaitCopies(const CopyingCommand& command, Streams& streams,
                 Copied* copied) {
  admin_pb::AwaitSyncRequest request;
  request.set_volume_id(copied->id);
  request.set_snapshot_id(copied->made->snapshot_id());
  request.set_snapshot_time(copied->made->snapshot_time());
  admin_pb::AwaitSyncResponse answer;
  copied->status = CallCopying(command, copied->id, request, answer, streams);
  if (!copied->status.ok()) return;
  AddFields(answer, copied);
  std::vector<std::string> sites;
  for (const std::string& site : answer.sites()) {
    sites.push_back(CleanLine(site, kMaxShownName));
  }
  copied->text = absl::StrCat(
      "what was written until ",
      FormatUtc(absl::FromUnixSeconds(copied->made->snapshot_time())),
      " is at ", absl::StrJoin(sites, ", "));
}

template <typename Request, typename Response>
void CallPauseVerb(const CopyingCommand& command, Streams& streams,
                   Copied* copied) {
  Request request;
  request.set_volume_id(copied->id);
  Response answer;
  copied->status = CallCopying(command, copied->id, request, answer, streams);
  if (!copied->status.ok()) return;
  AddFields(answer, copied);
  copied->text = CleanLine(answer.message(), kMaxShownText);
}

void RunOne(const CopyingCommand& command, Streams& streams, Copied* copied) {
  switch (command.verb) {
    case CopyingVerb::kSync:
      return MakeSnapshot(command, streams, copied);
    case CopyingVerb::kPause:
      return CallPauseVerb<admin_pb::PauseVolumeRequest,
                           admin_pb::PauseVolumeResponse>(command, streams,
                                                          copied);
    case CopyingVerb::kResume:
      return CallPauseVerb<admin_pb::ResumeVolumeRequest,
                           admin_pb::ResumeVolumeResponse>(command, streams,
                                                           copied);
  }
}

/// Nothing is tried with the next volume after that.
bool EndsAll(const absl::Status& status) {
  const int code = ExitCodeOf(status);
  return code == kCliUsage || code == kCliInterrupted;
}

int Print(const std::vector<Copied>& all, Streams& streams) {
  ordered_json items = ordered_json::array();
  std::string text;
  int code = 0;
  for (const Copied& copied : all) {
    ordered_json item = {{"volume_id", copied.id}};
    item.update(copied.fields);
    if (copied.status.ok()) {
      absl::StrAppend(&text, all.size() > 1 ? copied.id : "",
                      all.size() > 1 ? ": " : "", copied.text, "\n");
    } else {
      const absl::Status said = InWordsOfFlags(copied.status);
      if (code == 0) code = ExitCodeOf(copied.status);
      item["code"] = absl::StatusCodeToString(said.code());
      item["error"] = said.message();
      streams.err << ErrorLine(said) << "\n";
    }
    items.push_back(std::move(item));
  }
  Yield({{"items", items}}, text, streams);
  return code;
}

}  // namespace

int RunCopying(const CopyingCommand& command, Streams& streams) {
  std::vector<Copied> all;
  for (const std::string& id : command.ids) {
    all.emplace_back().id = id;
    RunOne(command, streams, &all.back());
    if (EndsAll(all.back().status)) {
      return FailCall(all.back().status, streams);
    }
  }
  for (Copied& copied : all) {
    if (!copied.made.has_value()) continue;
    AwaitCopies(command, streams, &copied);
    if (EndsAll(copied.status)) return FailCall(copied.status, streams);
  }
  return Print(all, streams);
}

}  // namespace addons
