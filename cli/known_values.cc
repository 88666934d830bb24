#include "cli/known_values.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "cli/repeated_call.h"
#include "cli/status.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

/// For somebody who has pressed a key and waits.
constexpr std::chrono::seconds kPatience{2};

/// Those of a VolumeReplicationClass.
std::vector<std::string> Parameters() {
  return {
      "flattenMode=force", "mirroringMode=snapshot", "points=",
      "restorePoint=",     "schedulingInterval=",    "schedulingStartTime="};
}

bool IsWord(absl::string_view text) {
  return !text.empty() && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) ||
                  absl::StrContains("-._/:=", static_cast<char>(c));
         });
}

}  // namespace

std::vector<std::string> KnownKinds() {
  return {kKnownClusters, kKnownParameters, kKnownPools, kKnownVolumes};
}

std::vector<std::string> KnownIn(const admin_pb::ListStatusResponse& seen,
                                 const std::string& kind) {
  std::set<std::string> values;
  for (const admin_pb::PoolStatus& pool : seen.pools()) {
    if (kind == kKnownPools) values.insert(pool.pool());
    if (kind == kKnownClusters) values.insert(pool.cluster_id());
  }
  if (kind == kKnownClusters) {
    values.insert(seen.unwatched_clusters().begin(),
                  seen.unwatched_clusters().end());
  }
  if (kind == kKnownVolumes) {
    for (const admin_pb::VolumeStatus& volume : seen.volumes()) {
      values.insert(volume.volume_name());
    }
  }
  std::erase_if(values,
                [](const std::string& value) { return !IsWord(value); });
  return {values.begin(), values.end()};
}

int RunKnown(const KnownCommand& command, Streams& streams) {
  std::vector<std::string> values = Parameters();
  if (command.kind != kKnownParameters) {
    StatusCommand status;
    status.endpoint = command.endpoint;
    status.timeout = kPatience;
    status.trouble_only = command.kind != kKnownVolumes;
    admin_pb::ListStatusResponse seen;
    const absl::Status asked = AskForStatus(status, &seen, streams);
    if (!asked.ok()) return FailCall(asked, streams);
    values = KnownIn(seen, command.kind);
  }
  for (const std::string& value : values) streams.out << value << "\n";
  return 0;
}

}  // namespace addons
