#include "cli/copying.h"

#include <google/protobuf/message.h>

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/utc.h"
#include "cli/repeated_call.h"
#include "cli/volume_name.h"
#include "cli/volume_results.h"
#include "rbdaddons/admin.pb.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

struct Copied {
  VolumeResult result;
  std::optional<admin_pb::SyncVolumeResponse> made;  // of a sync
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

void MakeSnapshot(const CopyingCommand& command, Streams& streams,
                  Copied* copied) {
  admin_pb::SyncVolumeRequest request;
  request.set_volume_id(copied->result.id);
  admin_pb::SyncVolumeResponse made;
  copied->result.status =
      CallCopying(command, copied->result.id, request, made, streams);
  if (!copied->result.status.ok()) return;
  AddFields(made, &copied->result);
  copied->made = made;
}

void AwaitCopies(const CopyingCommand& command, Streams& streams,
                 Copied* copied) {
  admin_pb::AwaitSyncRequest request;
  request.set_volume_id(copied->result.id);
  request.set_snapshot_id(copied->made->snapshot_id());
  request.set_snapshot_time(copied->made->snapshot_time());
  admin_pb::AwaitSyncResponse answer;
  copied->result.status =
      CallCopying(command, copied->result.id, request, answer, streams);
  if (!copied->result.status.ok()) return;
  AddFields(answer, &copied->result);
  std::vector<std::string> sites;
  for (const std::string& site : answer.sites()) {
    sites.push_back(CleanLine(site, kMaxShownName));
  }
  copied->result.text = absl::StrCat(
      "what was written until ",
      FormatUtc(absl::FromUnixSeconds(copied->made->snapshot_time())),
      " is at ", absl::StrJoin(sites, ", "));
}

template <typename Request, typename Response>
void CallPauseVerb(const CopyingCommand& command, Streams& streams,
                   Copied* copied) {
  Request request;
  request.set_volume_id(copied->result.id);
  Response answer;
  copied->result.status =
      CallCopying(command, copied->result.id, request, answer, streams);
  if (!copied->result.status.ok()) return;
  AddFields(answer, &copied->result);
  copied->result.text = CleanLine(answer.message(), kMaxShownText);
}

/// With -o wide also the id, where something else was typed.
std::string NameInList(const std::string& id, const Streams& streams) {
  const std::string name = TypedName(id, streams);
  return streams.wide && name != id ? absl::StrCat(name, " (", id, ")") : name;
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

}  // namespace

int RunCopying(const CopyingCommand& command, Streams& streams) {
  std::vector<Copied> all;
  for (const std::string& id : command.ids) {
    all.emplace_back().result.id = id;
    RunOne(command, streams, &all.back());
    const absl::Status& status = all.back().result.status;
    if (EndsAll(status)) return FailCall(status, streams);
  }
  std::vector<VolumeResult> results;
  for (Copied& copied : all) {
    if (copied.made.has_value()) AwaitCopies(command, streams, &copied);
    VolumeResult& result = results.emplace_back(std::move(copied.result));
    if (EndsAll(result.status)) return FailCall(result.status, streams);
    result.text = all.size() > 1 ? absl::StrCat(NameInList(result.id, streams),
                                                ": ", result.text, "\n")
                                 : absl::StrCat(result.text, "\n");
  }
  return PrintResults(results, "volume_id", streams);
}

}  // namespace addons
