#include "cli/points.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/utc.h"
#include "cli/confirm.h"
#include "cli/inspection.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/repeated_call.h"
#include "cli/volume_name.h"
#include "rpc/text.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;
using std::chrono::milliseconds;

constexpr int kMostNamed = 10;

template <typename Request>
Request RequestFor(const PointCommand& command) {
  Request request;
  request.set_volume_id(command.id);
  return request;
}

/// What ends when nobody waits is called once, for all of the time.
absl::Status Call(const PointCommand& command, milliseconds one_call,
                  const google::protobuf::Message& request,
                  google::protobuf::Message& response, Streams& streams) {
  return CallAdminUntilDone(
      command.endpoint, command.timeout, one_call, command.secrets,
      absl::StrCat("volume '", command.id, "'"), request, response, streams);
}

uint64_t RateOf(const PointCommand& command) {
  return command.mebibytes_per_second << 20;
}

std::string TimeText(int64_t seconds) {
  return FormatUtc(absl::FromUnixSeconds(seconds));
}

/// What a person types to remove a point.
std::string PointRemove(const PointCommand& command, const std::string& point,
                        const Streams& streams) {
  return absl::StrCat("rbd-addons point remove ",
                      TypedName(command.id, streams), " ",
                      CleanLine(point, kMaxShownName));
}

int Create(const PointCommand& command, Streams& streams) {
  auto create = RequestFor<admin_pb::CreatePointRequest>(command);
  // A call that is repeated is about the same point.
  create.set_name(command.name.empty() ? FormatUtcForName(absl::Now())
                                       : command.name);
  admin_pb::CreatePointResponse made;
  absl::Status status =
      Call(command, RepeatedCall().one_call, create, made, streams);
  if (!status.ok()) return FailCall(status, streams);
  streams.err << "point " << CleanLine(made.name(), kMaxShownName)
              << " was made; now it is read" << std::endl;
  auto digest = RequestFor<admin_pb::DigestPointRequest>(command);
  digest.set_name(made.name());
  digest.set_bytes_per_second(RateOf(command));
  admin_pb::DigestPointResponse digested;
  status = Call(command, command.timeout, digest, digested, streams);
  if (!status.ok()) {
    streams.err << "the point stays: the same command with --name "
                << CleanLine(made.name(), kMaxShownName) << " goes on, and `"
                << PointRemove(command, made.name(), streams)
                << "` removes it\n";
    return FailCall(status, streams);
  }
  return YieldChange(
      {{"verb", "point create"},
       {"volume_id", command.id},
       {"name", made.name()},
       {"result", "made"}},
      digested,
      absl::StrCat(
          "point ", CleanLine(made.name(), kMaxShownName),
          " is made: ", BytesText(static_cast<double>(digested.bytes_read())),
          " read. On the other site `rbd-addons verify ",
          TypedName(command.id, streams), "` compares them with its copy\n"),
      streams);
}

int List(const PointCommand& command, Streams& streams) {
  admin_pb::ListPointsResponse listed;
  const absl::Status status =
      Call(command, RepeatedCall().one_call,
           RequestFor<admin_pb::ListPointsRequest>(command), listed, streams);
  if (!status.ok()) return FailCall(status, streams);
  std::string text = PointLines(listed.points());
  if (text.empty()) {
    const std::string name = TypedName(command.id, streams);
    text = absl::StrCat("volume ", name,
                        " has no points on this site; where it is primary "
                        "`rbd-addons point create ",
                        name, "` makes one\n");
  }
  return YieldMessage(listed, text, streams);
}

/// Makes a point of what the volume holds now: its name.
absl::StatusOr<std::string> Keep(const PointCommand& command,
                                 Streams& streams) {
  auto create = RequestFor<admin_pb::CreatePointRequest>(command);
  create.set_name(absl::StrCat("before-", FormatUtcForName(absl::Now())));
  admin_pb::CreatePointResponse made;
  const absl::Status status =
      Call(command, RepeatedCall().one_call, create, made, streams);
  if (!status.ok()) {
    streams.err << "what the volume holds now could not be kept, and nothing "
                   "was changed; --discard does without\n";
    return status;
  }
  streams.err << "point " << CleanLine(made.name(), kMaxShownName)
              << " keeps what the volume holds now" << std::endl;
  return made.name();
}

std::string RollbackLoss(const PointCommand& command,
                         const admin_pb::RollBackResponse& seen) {
  const std::string point = CleanLine(command.name, kMaxShownName);
  std::string text =
      absl::StrCat("To roll back writes what the volume held at point ", point,
                   " over what it holds now, on both sites.\n");
  if (seen.keeps_itself()) {
    absl::StrAppend(&text,
                    "A promotion to a point has not ended: it holds what had "
                    "arrived last.\n");
  } else if (seen.goes_on()) {
    absl::StrAppend(&text,
                    "An earlier rollback has not ended: it holds a mixture.\n");
  }
  absl::StrAppend(
      &text, seen.goes_on() && !seen.kept().empty()
                 ? absl::StrCat("What it held before that stays as point ",
                                CleanLine(seen.kept(), kMaxShownName), ".\n")
             : !seen.keeps_itself() && (command.discard || seen.goes_on())
                 ? "What it holds now is lost.\n"
                 : "What it holds now is kept as a point of its own first.\n");
  if (seen.bytes_now() > seen.bytes()) {
    absl::StrAppend(&text, "It has grown since. What lies beyond ",
                    BytesText(static_cast<double>(seen.bytes())),
                    " stays as it is.\n");
  }
  return text;
}

int RollBack(const PointCommand& command, Streams& streams) {
  auto request = RequestFor<admin_pb::RollBackRequest>(command);
  request.set_name(command.name);
  request.set_only_look(true);
  admin_pb::RollBackResponse done;
  absl::Status status =
      Call(command, RepeatedCall().one_call, request, done, streams);
  if (!status.ok()) return FailCall(status, streams);
  if (!Confirmed(command.yes, RollbackLoss(command, done),
                 absl::StrCat("volume ", TypedName(command.id, streams)),
                 streams)) {
    return kCliUsage;
  }
  request.set_only_look(false);
  // Somebody else may have ended it by now.
  request.set_kept(done.kept());
  request.set_only_go_on(done.goes_on() && done.kept().empty());
  if (!command.discard && !done.goes_on()) {
    const auto kept = Keep(command, streams);
    if (!kept.ok()) return FailCall(kept.status(), streams);
    request.set_kept(*kept);
  }
  status = Call(command, RepeatedCall().one_call, request, done, streams);
  if (!status.ok()) {
    if (!request.kept().empty()) {
      streams.err << "point " << request.kept()
                  << " stays: it keeps what the volume held before\n";
    }
    return FailCall(status, streams);
  }
  const std::string point = CleanLine(command.name, kMaxShownName);
  return YieldChange(
      {{"verb", "point rollback"},
       {"volume_id", command.id},
       {"name", command.name},
       {"result", "rolled back"}},
      done,
      absl::StrCat(
          "the volume holds what it held at point ", point, ": ",
          BytesText(static_cast<double>(done.bytes_compared())), " compared\n",
          done.kept().empty()
              ? ""
              : absl::StrCat("point ", CleanLine(done.kept(), kMaxShownName),
                             " has what it held before; `",
                             PointRemove(command, done.kept(), streams),
                             "` when nobody needs it\n"),
          "`rbd-addons sync ", TypedName(command.id, streams),
          "` waits until the other site has it, and a point made then, with "
          "`rbd-addons verify` there, proves it\n"),
      streams);
}

int Remove(const PointCommand& command, Streams& streams) {
  auto request = RequestFor<admin_pb::RemovePointRequest>(command);
  request.set_name(command.name);
  admin_pb::RemovePointResponse removed;
  const absl::Status status =
      Call(command, RepeatedCall().one_call, request, removed, streams);
  if (!status.ok()) return FailCall(status, streams);
  const std::string name = TypedName(command.id, streams);
  const std::string point = CleanLine(command.name, kMaxShownName);
  const char* const result =
      removed.removed() ? "removed" : "there was no such point";
  return YieldChange(
      {{"verb", "point remove"},
       {"volume_id", command.id},
       {"name", command.name},
       {"result", result}},
      removed,
      removed.removed()
          ? absl::StrCat("point ", point, " of volume ", name, " is removed\n")
          : absl::StrCat("volume ", name, " has no point ", point,
                         "; `rbd-addons point list ", name,
                         "` shows those that it has\n"),
      streams);
}

std::string DamageText(const admin_pb::VerifyPointResponse& found) {
  std::string text;
  const int named = std::min(found.damaged_objects_size(), kMostNamed);
  for (int i = 0; i < named; ++i) {
    const admin_pb::DamagedObjects& one = found.damaged_objects(i);
    absl::StrAppend(&text, "  object ", one.object(),
                    one.count() > 1
                        ? absl::StrCat(", or one of the ", one.count(),
                                       " with data from it on")
                        : "",
                    ", at byte ", one.offset(), " of the image\n");
  }
  if (found.damaged() > static_cast<uint64_t>(named)) {
    absl::StrAppend(&text, "  and ",
                    found.damaged() - static_cast<uint64_t>(named), " more\n");
  }
  return text;
}

std::string VerdictWord(const admin_pb::VerifyPointResponse& found,
                        const Palette& palette) {
  switch (found.verdict()) {
    case admin_pb::VerifyPointResponse::WHOLE:
      return palette.Good("WHOLE");
    case admin_pb::VerifyPointResponse::NOT_CLEARED:
      return absl::StrCat(
          palette.Good("WHOLE"), ", and ",
          BytesText(static_cast<double>(found.not_cleared_bytes())),
          " of old data are where the point has zeros");
    case admin_pb::VerifyPointResponse::UNCLEAR:
      return palette.Poor("UNCLEAR");
    default:
      return palette.Bad("DAMAGED");
  }
}

int Verify(const PointCommand& command, Streams& streams) {
  auto request = RequestFor<admin_pb::VerifyPointRequest>(command);
  request.set_bytes_per_second(RateOf(command));
  request.set_name(command.name);
  admin_pb::VerifyPointResponse found;
  const absl::Status status =
      Call(command, command.timeout, request, found, streams);
  if (!status.ok()) return FailCall(status, streams);
  const int printed =
      YieldMessage(found, VerdictText(found, Palette(streams)), streams);
  if (printed != 0) return printed;
  return found.damaged() == 0 ? 0 : kWouldNotWork;
}

}  // namespace

std::string PointLines(
    const google::protobuf::RepeatedPtrField<admin_pb::PointEntry>& points) {
  std::string text;
  for (const admin_pb::PointEntry& point : points) {
    absl::StrAppend(
        &text, CleanLine(point.name(), kMaxShownName),
        point.digested()
            ? absl::StrCat("  read at ", TimeText(point.digested_time()))
            : "",
        "\n");
  }
  return text;
}

std::string VerdictText(const admin_pb::VerifyPointResponse& found,
                        const Palette& palette) {
  const auto verdict = found.verdict();
  std::string text = absl::StrCat(
      "point ", CleanLine(found.name(), kMaxShownName), ", read at ",
      TimeText(found.digested_time()), "\n",
      found.primary() ? "the primary" : "the copy on this site",
      " at that point: ", VerdictWord(found, palette), "\n",
      found.objects_with_data(), " of ", found.objects(),
      " objects had data at the point; ",
      BytesText(static_cast<double>(found.bytes_read())), " read here\n");
  if (found.damaged() > 0) {
    absl::StrAppend(&text, found.damaged(),
                    found.damaged() == 1 ? " differs:\n" : " differ:\n",
                    DamageText(found));
  }
  if (verdict == admin_pb::VerifyPointResponse::DAMAGED) {
    absl::StrAppend(
        &text,
        found.primary()
            ? "the primary itself has changed since, below "
              "Ceph's own account; look at the disks, and "
              "at the copy\n"
            : absl::StrCat("copy the image anew on this site: rbd "
                           "mirror image resync ",
                           CleanLine(found.image(), kMaxShownName), "\n"));
  }
  if (verdict == admin_pb::VerifyPointResponse::UNCLEAR) {
    absl::StrAppend(&text,
                    "these may be damaged, or have old data in a part of a "
                    "block: the record of a large image does not tell\n");
  }
  if (verdict == admin_pb::VerifyPointResponse::NOT_CLEARED) {
    absl::StrAppend(
        &text,
        "mirroring does not carry each discard; a rollback to zeros "
        "looks the same\n");
  }
  if (!found.not_kept().empty()) {
    absl::StrAppend(&text,
                    "what was found could not be kept in the pool, so that a "
                    "promotion does not know of it: ",
                    CleanLine(found.not_kept(), kMaxShownText), "\n");
  }
  return text;
}

int RunPoint(const PointCommand& command, Streams& streams) {
  switch (command.verb) {
    case PointVerb::kCreate:
      return Create(command, streams);
    case PointVerb::kList:
      return List(command, streams);
    case PointVerb::kRemove:
      return Remove(command, streams);
    case PointVerb::kRollback:
      return RollBack(command, streams);
    case PointVerb::kVerify:
      break;
  }
  return Verify(command, streams);
}

}  // namespace addons
