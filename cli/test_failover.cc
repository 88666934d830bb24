#include "cli/test_failover.h"

#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/utc.h"
#include "base/uuid.h"
#include "cli/aligned_table.h"
#include "cli/inspection.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/repeated_call.h"
#include "cli/volume_name.h"
#include "cli/volume_results.h"
#include "cli/yaml.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using nlohmann::ordered_json;
using std::chrono::milliseconds;

/// The volume of an item; an answer's volume_id is the test's own.
constexpr char kTested[] = "tested";

absl::Status Call(const TestCommand& command, const std::string& subject,
                  milliseconds one_call,
                  const google::protobuf::Message& request,
                  google::protobuf::Message& response, Streams& streams) {
  return CallAdminUntilDone(command.endpoint, command.timeout, one_call,
                            command.secrets, subject, request, response,
                            streams);
}

std::string VolumeText(const std::string& id) {
  return absl::StrCat("volume '", id, "'");
}

void StartOne(const TestCommand& command, Streams& streams,
              VolumeResult* tested) {
  admin_pb::StartTestRequest request;
  request.set_volume_id(tested->id);
  request.set_name(command.point);
  request.set_bytes_per_second(command.mebibytes_per_second << 20);
  admin_pb::StartTestResponse started;
  tested->status = Call(command, VolumeText(tested->id), command.timeout,
                        request, started, streams);
  if (!tested->status.ok()) return;
  AddFields(started, tested);
  const admin_pb::TestFailover& test = started.test();
  tested->text = absl::StrCat(
      "the test of ", CleanLine(test.source_image(), kMaxShownName),
      " is ready: it holds what the primary held at point ",
      CleanLine(test.point(), kMaxShownName), ", read at ",
      FormatUtc(absl::FromUnixSeconds(test.digested_time())), "\n",
      "  volume  ", CleanLine(test.volume_id(), kMaxShownText), "\n",
      "  image   ", CleanLine(test.image(), kMaxShownText), "\n",
      "in Kubernetes: rbd-addons test manifest ",
      TypedName(tested->id, streams),
      " --claim-namespace NAMESPACE --secret NAMESPACE/NAME | kubectl apply -f "
      "-\n",
      "to end it:     rbd-addons test stop ", TypedName(tested->id, streams),
      "\n");
  if (started.not_cleared_bytes() > 0) {
    absl::StrAppend(
        &tested->text,
        BytesText(static_cast<double>(started.not_cleared_bytes())),
        " of old data are in the copy where the point has zeros; the test has "
        "zeros there\n");
  }
}

void StopOne(const TestCommand& command, Streams& streams,
             VolumeResult* tested) {
  admin_pb::StopTestRequest request;
  request.set_volume_id(tested->id);
  admin_pb::StopTestResponse stopped;
  tested->status = Call(command, VolumeText(tested->id),
                        RepeatedCall().one_call, request, stopped, streams);
  if (!tested->status.ok()) return;
  AddFields(stopped, tested);
  tested->text = absl::StrCat(
      TypedName(tested->id, streams), ": ",
      stopped.removed() ? "removed" : "there was no test of it", "\n");
}

int ForEach(const TestCommand& command, Streams& streams,
            void (*one)(const TestCommand&, Streams&, VolumeResult*)) {
  std::vector<VolumeResult> results;
  for (const std::string& id : command.ids) {
    VolumeResult result;
    result.id = id;
    one(command, streams, &result);
    if (EndsAll(result.status)) {
      // What was done before stays.
      if (!results.empty()) PrintResults(results, kTested, streams);
      return FailCall(result.status, streams);
    }
    results.push_back(std::move(result));
  }
  return PrintResults(results, kTested, streams);
}

const char* StateText(admin_pb::TestFailover::State state) {
  switch (state) {
    case admin_pb::TestFailover::READY:
      return "ready";
    case admin_pb::TestFailover::MAKING:
      return "being made, or given up";
    case admin_pb::TestFailover::GONE:
      return "its image is gone";
    default:
      return "unknown";
  }
}

absl::Status FindTests(const TestCommand& command,
                       admin_pb::ListTestsResponse* found, Streams& streams) {
  admin_pb::ListTestsRequest request;
  request.set_cluster_id(command.cluster);
  return Call(command, "the mirrored pools", RepeatedCall().one_call, request,
              *found, streams);
}

/// What a list lacks.
void TellUnseen(const admin_pb::ListTestsResponse& found, Streams& streams) {
  for (const std::string& unseen : found.unseen()) {
    streams.err << "not looked at: " << CleanLine(unseen, kMaxShownText)
                << "\n";
  }
}

int List(const TestCommand& command, Streams& streams) {
  admin_pb::ListTestsResponse found;
  const absl::Status status = FindTests(command, &found, streams);
  if (!status.ok()) return FailCall(status, streams);
  std::vector<std::vector<std::string>> rows = {
      {"TESTED", "POINT", "READ AT", "SIZE", "SINCE", "STATE", "VOLUME"}};
  for (const admin_pb::TestFailover& test : found.tests()) {
    rows.push_back({test.source_image(), test.point(),
                    FormatUtc(absl::FromUnixSeconds(test.digested_time())),
                    BytesText(static_cast<double>(test.bytes())),
                    FormatUtc(absl::FromUnixSeconds(test.began())),
                    StateText(test.state()), test.volume_id()});
  }
  const int printed = YieldMessage(
      found,
      rows.size() > 1 ? AlignedTable(std::move(rows)) : "there are no tests\n",
      streams);
  TellUnseen(found, streams);
  if (printed != 0) return printed;
  return found.unseen().empty() ? 0 : kWouldNotWork;
}

/// The uuid that an id ends with: the sites have one volume under two ids.
std::string UuidAtEnd(const std::string& id) {
  return id.size() < kUuidLength ? id : id.substr(id.size() - kUuidLength);
}

int Manifest(const TestCommand& command, Streams& streams) {
  if (!command.claim.empty() && command.ids.size() > 1) {
    streams.err << "--claim is for one volume\n";
    return kCliUsage;
  }
  admin_pb::ListTestsResponse found;
  const absl::Status status = FindTests(command, &found, streams);
  if (!status.ok()) return FailCall(status, streams);
  int first = 0;
  std::string text;
  for (const std::string& id : command.ids) {
    const std::string uuid = UuidAtEnd(id);
    const admin_pb::TestFailover* wanted = nullptr;
    for (const admin_pb::TestFailover& test : found.tests()) {
      if (UuidAtEnd(test.source_volume_id()) == uuid ||
          UuidAtEnd(test.volume_id()) == uuid) {
        wanted = &test;
      }
    }
    if (wanted == nullptr || wanted->state() != admin_pb::TestFailover::READY) {
      const std::string name = TypedName(id, streams);
      streams.err << VolumeText(name)
                  << " has no test that is ready; `rbd-addons test start "
                  << name << "` makes one\n";
      first = kWouldNotWork;
      continue;
    }
    absl::StrAppend(&text, TestManifest(*wanted, command));
  }
  TellUnseen(found, streams);
  streams.out << text;
  return first;
}

}  // namespace

std::string TestManifest(const admin_pb::TestFailover& test,
                         const TestCommand& command) {
  const std::string& name = test.volume_name();
  const std::string claim = command.claim.empty() ? name : command.claim;
  const size_t slash = command.secret.find('/');
  const ordered_json secret = {{"name", command.secret.substr(slash + 1)},
                               {"namespace", command.secret.substr(0, slash)}};
  const ordered_json labels = {{"app.kubernetes.io/managed-by", "rbd-addons"}};
  // No label: its text may be longer, and may end otherwise.
  const ordered_json notes = {{"rbd-addons/point", test.point()}};
  ordered_json csi = {{"driver", test.driver_name()},
                      {"volumeHandle", test.volume_id()}};
  if (!command.fs_type.empty() && !command.block) {
    csi["fsType"] = command.fs_type;
  }
  csi["nodeStageSecretRef"] = secret;
  csi["volumeAttributes"] = {
      {"clusterID", test.cluster_id()},
      {"pool", test.pool()},
      {"imageFeatures", "layering,exclusive-lock,object-map,fast-diff"}};
  const ordered_json access = {"ReadWriteOnce"};
  const ordered_json size = {{"storage", absl::StrCat(test.bytes())}};
  const char* const mode = command.block ? "Block" : "Filesystem";
  const ordered_json volume = {
      {"apiVersion", "v1"},
      {"kind", "PersistentVolume"},
      {"metadata",
       {{"name", name}, {"labels", labels}, {"annotations", notes}}},
      {"spec",
       {{"capacity", size},
        {"accessModes", access},
        {"volumeMode", mode},
        // `test stop` removes the image.
        {"persistentVolumeReclaimPolicy", "Retain"},
        {"storageClassName", ""},
        {"claimRef", {{"namespace", command.space}, {"name", claim}}},
        {"csi", csi}}}};
  const ordered_json wanted = {{"apiVersion", "v1"},
                               {"kind", "PersistentVolumeClaim"},
                               {"metadata",
                                {{"name", claim},
                                 {"namespace", command.space},
                                 {"labels", labels},
                                 {"annotations", notes}}},
                               {"spec",
                                {{"accessModes", access},
                                 {"volumeMode", mode},
                                 {"storageClassName", ""},
                                 {"volumeName", name},
                                 {"resources", {{"requests", size}}}}}};
  return absl::StrCat("---\n", ToYaml(volume), "---\n", ToYaml(wanted));
}

int RunTestFailover(const TestCommand& command, Streams& streams) {
  switch (command.verb) {
    case TestVerb::kStart:
      return ForEach(command, streams, StartOne);
    case TestVerb::kStop:
      return ForEach(command, streams, StopOne);
    case TestVerb::kManifest:
      return Manifest(command, streams);
    case TestVerb::kList:
      break;
  }
  return List(command, streams);
}

}  // namespace addons
