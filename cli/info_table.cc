#include "cli/info_table.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/utc.h"
#include "cli/aligned_table.h"
#include "cli/flag_names.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/repeated_call.h"
#include "cli/volume_name.h"
#include "replication/replication.pb.h"

namespace addons {
namespace {

namespace pb = ::replication;
using nlohmann::ordered_json;

pb::GetVolumeReplicationInfoRequest RequestFor(
    const ReplicationCommand& command, const std::string& id) {
  pb::GetVolumeReplicationInfoRequest request;
  auto& source = *request.mutable_replication_source();
  if (command.group) {
    source.mutable_volumegroup()->set_volume_group_id(id);
  } else {
    source.mutable_volume()->set_volume_id(id);
  }
  return request;
}

// The daemon's words; a test on a simulated site compares.
constexpr char kSecondary[] = "this site is secondary";
constexpr char kNoImage[] = "but the pool has no such image";
constexpr char kInStep[] =
    "this site is secondary, the peer is primary; in step as of ";

/// Without the name and the id.
std::vector<std::string> CellsOf(
    const pb::GetVolumeReplicationInfoResponse& info) {
  return {
      RoleIn(info),
      IsInStep(info)
          ? "IN STEP"
          : pb::GetVolumeReplicationInfoResponse::Status_Name(info.status()),
      info.has_last_sync_time()
          ? FormatUtc(absl::FromUnixSeconds(info.last_sync_time().seconds()))
          : "",
      info.has_last_sync_duration()
          ? absl::StrCat(info.last_sync_duration().seconds(), " s")
          : "",
      info.last_sync_bytes() > 0
          ? BytesText(static_cast<double>(info.last_sync_bytes()))
          : "",
      info.status_message()};
}

std::vector<std::string> RowOf(const std::string& name, const std::string& id,
                               const std::vector<std::string>& cells,
                               bool wide) {
  std::vector<std::string> row = {name};
  if (wide) row.push_back(id);
  row.insert(row.end(), cells.begin(), cells.end());
  return row;
}

}  // namespace

std::string RoleIn(const pb::GetVolumeReplicationInfoResponse& info) {
  if (absl::StrContains(info.status_message(), kSecondary)) return "secondary";
  return absl::StrContains(info.status_message(), kNoImage) ? "" : "primary";
}

bool IsInStep(const pb::GetVolumeReplicationInfoResponse& info) {
  return absl::StartsWith(info.status_message(), kInStep);
}

int RunInfoTable(const ReplicationCommand& command,
                 const std::vector<std::string>& ids, Streams& streams) {
  std::vector<std::vector<std::string>> rows = {
      RowOf(command.group ? "GROUP" : "VOLUME", "ID",
            {"ROLE", "REPLICATION", "LAST SYNC", "TOOK", "BYTES", "MESSAGE"},
            streams.wide)};
  ordered_json items = ordered_json::array();
  int code = 0;
  for (const std::string& id : ids) {
    ordered_json item = {{command.group ? "volume_group_id" : "volume_id", id}};
    pb::GetVolumeReplicationInfoRequest request = RequestFor(command, id);
    pb::GetVolumeReplicationInfoResponse info;
    absl::Status called = AskWithSecrets(command, request, info, streams);
    if (called.ok()) {
      auto fields = JsonOf(info);
      called = fields.status();
      if (fields.ok()) item.update(*fields);
    }
    if (called.ok()) {
      rows.push_back(
          RowOf(TypedName(id, streams), id, CellsOf(info), streams.wide));
    } else {
      const int failed = ExitCodeOf(called);
      if (failed == kCliUsage || failed == kCliInterrupted) {
        return FailCall(called, streams);
      }
      if (code == 0) code = failed;
      called = InWordsOfFlags(called);
      const std::string name = absl::StatusCodeToString(called.code());
      item["code"] = name;
      item["error"] = called.message();
      rows.push_back(RowOf(
          TypedName(id, streams), id,
          {"", name, "", "", "", std::string(called.message())}, streams.wide));
    }
    items.push_back(std::move(item));
  }
  Yield({{"items", items}}, AlignedTable(std::move(rows)), streams);
  return code;
}

}  // namespace addons
