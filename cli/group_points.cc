#include "cli/group_points.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "cli/inspection.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/repeated_call.h"
#include "cli/volume_name.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

template <typename Request>
Request RequestOn(const PointCommand& command) {
  Request request;
  request.set_group_id(command.id);
  return request;
}

absl::Status CallOnGroup(const PointCommand& command,
                         const google::protobuf::Message& request,
                         google::protobuf::Message& response,
                         Streams& streams) {
  return CallAdminUntilDone(command.endpoint, command.timeout,
                            RepeatedCall().one_call, command.secrets,
                            absl::StrCat("volume group '", command.id, "'"),
                            request, response, streams);
}

/// Of each member; `bytes` is what was read of all.
absl::Status DigestMembers(const PointCommand& command,
                           const admin_pb::CreateGroupPointResponse& made,
                           uint64_t* bytes, Streams& streams) {
  int number = 0;
  for (const std::string& volume_id : made.volume_ids()) {
    streams.err << "reading volume " << ++number << " of "
                << made.volume_ids_size() << ", "
                << CleanLine(volume_id, kMaxShownName) << std::endl;
    admin_pb::DigestPointRequest request;
    request.set_volume_id(volume_id);
    request.set_name(made.name());
    request.set_bytes_per_second(command.mebibytes_per_second << 20);
    admin_pb::DigestPointResponse digested;
    // It ends when nobody waits, so it is called once, for all of the time.
    ADDONS_RETURN_IF_ERROR(CallAdminUntilDone(
        command.endpoint, command.timeout, command.timeout, command.secrets,
        absl::StrCat("volume '", volume_id, "'"), request, digested, streams));
    *bytes += digested.bytes_read();
  }
  return absl::OkStatus();
}

int CreateOfGroup(const PointCommand& command, Streams& streams) {
  auto create = RequestOn<admin_pb::CreateGroupPointRequest>(command);
  // A call that is repeated is about the same point.
  create.set_name(command.name.empty() ? FormatUtcForName(absl::Now())
                                       : command.name);
  admin_pb::CreateGroupPointResponse made;
  absl::Status status = CallOnGroup(command, create, made, streams);
  if (!status.ok()) return FailCall(status, streams);
  const std::string name = CleanLine(made.name(), kMaxShownName);
  streams.err << "point " << name << " was made of " << made.volume_ids_size()
              << " volumes, at one instant; now they are read" << std::endl;
  uint64_t bytes = 0;
  status = DigestMembers(command, made, &bytes, streams);
  if (!status.ok()) {
    streams.err << "the points stay: the same command with --name "
                << CleanLine(create.name(), kMaxShownName)
                << " goes on, and `rbd-addons point remove --group "
                << command.id << " " << name << "` removes them\n";
    return FailCall(status, streams);
  }
  return YieldChange(
      {{"verb", "point create"},
       {"group_id", command.id},
       {"name", made.name()},
       {"result", "made"}},
      made,
      absl::StrCat("point ", name, " is made of ", made.volume_ids_size(),
                   " volumes: ", BytesText(static_cast<double>(bytes)),
                   " read. On the other site `rbd-addons verify VOLUME` "
                   "compares each with its copy\n"),
      streams);
}

int ListOfGroup(const PointCommand& command, Streams& streams) {
  admin_pb::ListGroupPointsResponse listed;
  const absl::Status status =
      CallOnGroup(command, RequestOn<admin_pb::ListGroupPointsRequest>(command),
                  listed, streams);
  if (!status.ok()) return FailCall(status, streams);
  std::string text = PointLines(listed.points());
  if (text.empty()) {
    text = absl::StrCat(
        "no point of one instant is on this site that each of the group's ",
        listed.volume_ids_size(),
        " volumes has; where they are primary `rbd-addons point create "
        "--group ",
        command.id, "` makes one\n");
  }
  return YieldMessage(listed, text, streams);
}

int RemoveOfGroup(const PointCommand& command, Streams& streams) {
  auto request = RequestOn<admin_pb::RemoveGroupPointRequest>(command);
  request.set_name(command.name);
  admin_pb::RemoveGroupPointResponse removed;
  const absl::Status status = CallOnGroup(command, request, removed, streams);
  if (!status.ok()) return FailCall(status, streams);
  const std::string point = CleanLine(command.name, kMaxShownName);
  return YieldChange(
      {{"verb", "point remove"},
       {"group_id", command.id},
       {"name", command.name},
       {"result", removed.removed() ? "removed" : "there was no such point"}},
      removed,
      removed.removed()
          ? absl::StrCat("point ", point, " of the group is removed\n")
          : absl::StrCat("no volume of the group has point ", point,
                         "; `rbd-addons point list --group ", command.id,
                         "` shows those that it has\n"),
      streams);
}

}  // namespace

int RunGroupPoint(const PointCommand& command, Streams& streams) {
  switch (command.verb) {
    case PointVerb::kCreate:
      return CreateOfGroup(command, streams);
    case PointVerb::kList:
      return ListOfGroup(command, streams);
    default:
      return RemoveOfGroup(command, streams);
  }
}

}  // namespace addons
