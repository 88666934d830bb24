#include "absl/strings/str_cat.h"
#include "cli/conformance/cases.h"
#include "cli/conformance/methods_under_test.h"
#include "replication/replication.pb.h"

namespace addons {
namespace {

using absl::StatusCode;
using Json = ServerUnderTest::Json;

constexpr char kReplicationCapability[] =
    "volume_replication.VOLUME_REPLICATION";
constexpr char kEnable[] = "replication.Controller/EnableVolumeReplication";
constexpr char kDisable[] = "replication.Controller/DisableVolumeReplication";
constexpr char kPromote[] = "replication.Controller/PromoteVolume";
constexpr char kDemote[] = "replication.Controller/DemoteVolume";
constexpr char kResync[] = "replication.Controller/ResyncVolume";
constexpr char kInfo[] = "replication.Controller/GetVolumeReplicationInfo";
constexpr char kDestination[] =
    "replication.Controller/GetReplicationDestinationInfo";
constexpr size_t kReplicationCallers = 8;

/// One volume from "not replicated" through all roles and back. The cases run
/// in their order, each in the state that the one before has left.
Json About(const Subject& subject) {
  Json request = AboutVolume(subject.volume);
  for (const auto& [key, value] : subject.replication_parameters) {
    request["parameters"][key] = value;
  }
  return request;
}
/// Of the methods that take no parameters.
Json Bare(const Subject& subject) { return AboutVolume(subject.volume); }

Outcome Twice(const Subject& subject, const char* method) {
  Steps steps;
  if (steps.Answers("at first",
                    subject.server.CallPatiently(method, About(subject)),
                    {StatusCode::kOk})) {
    steps.Answers("again", subject.server.CallPatiently(method, About(subject)),
                  {StatusCode::kOk});
  }
  return steps.outcome();
}

Outcome RefusedWhileOff(const Subject& subject, const char* method) {
  return Expect(subject.server.Call(method, std::string(method) == kInfo
                                                ? Bare(subject)
                                                : About(subject)),
                {StatusCode::kFailedPrecondition});
}

Outcome PromotedAtOnce(const Subject& subject) {
  Steps steps;
  for (const Reply& reply : subject.server.CallAtOnce(
           kReplicationCallers, kPromote, About(subject))) {
    steps.Answers("", reply, {StatusCode::kOk, StatusCode::kAborted});
  }
  steps.Answers("afterwards",
                subject.server.CallPatiently(kPromote, About(subject)),
                {StatusCode::kOk});
  return steps.outcome();
}

Outcome InfoOfPrimary(const Subject& subject) {
  const Reply reply = subject.server.Call(kInfo, Bare(subject));
  Steps steps;
  // Before the first copy there is nothing to tell.
  if (!steps.Answers(
          "", reply,
          {StatusCode::kOk, StatusCode::kNotFound, StatusCode::kUnavailable}) ||
      !reply.ok()) {
    return steps.outcome();
  }
  const auto& info =
      reply.As<::replication::GetVolumeReplicationInfoResponse>();
  steps.Holds(
      info.status() != ::replication::GetVolumeReplicationInfoResponse::UNKNOWN,
      "the status is UNKNOWN");
  steps.Holds(
      !info.has_last_sync_time() || info.last_sync_time().seconds() > 0,
      "the time of the last copy is not known, and 0 instead of absent");
  return steps.outcome();
}

Outcome DestinationOfPrimary(const Subject& subject) {
  const Reply reply = subject.server.Call(kDestination, Bare(subject));
  Steps steps;
  if (!steps.Answers("", reply, {StatusCode::kOk, StatusCode::kUnavailable}) ||
      !reply.ok()) {
    return steps.outcome();
  }
  const auto& found =
      reply.As<::replication::GetReplicationDestinationInfoResponse>();
  steps.Holds(!found.replication_destination().volume().volume_id().empty(),
              "the id is empty");
  return steps.outcome();
}

Outcome ResyncOfPrimary(const Subject& subject) {
  return Expect(subject.server.Call(kResync, About(subject)),
                {StatusCode::kFailedPrecondition});
}

Outcome TwoSources(const Subject& subject) {
  Json request = About(subject);
  request["volume_id"] = "another-volume";
  return Expect(subject.server.Call(kPromote, request),
                {StatusCode::kInvalidArgument});
}

Outcome MovedAwayAndBack(const Subject& subject) {
  const Outcome demoted = Twice(subject, kDemote);
  if (demoted.verdict != Outcome::Verdict::kPassed) return demoted;
  return Expect(subject.server.CallPatiently(kPromote, About(subject)),
                {StatusCode::kOk});
}

Case Of(const char* id, const std::string& promise,
        std::function<Outcome(const Subject&)> run) {
  return {absl::StrCat("replication.", id), promise, kReplicationCapability,
          [run = std::move(run)](const Subject& subject) {
            if (subject.volume.empty()) {
              return Outcome::Skipped("it needs a volume: --volume");
            }
            return run(subject);
          }};
}

}  // namespace

Cases ReplicationCases() {
  const auto off = [](const char* method) {
    return [method](const Subject& subject) {
      return RefusedWhileOff(subject, method);
    };
  };
  const auto twice = [](const char* method) {
    return [method](const Subject& subject) { return Twice(subject, method); };
  };
  Cases cases = {
      Of("off.promote",
         "promoting a volume that is not replicated is FAILED_PRECONDITION",
         off(kPromote)),
      Of("off.demote",
         "demoting a volume that is not replicated is FAILED_PRECONDITION",
         off(kDemote)),
      Of("off.resync",
         "a resync of a volume that is not replicated is FAILED_PRECONDITION",
         off(kResync)),
      Of("off.info",
         "information on a volume that is not replicated is "
         "FAILED_PRECONDITION",
         off(kInfo)),
      Of("off.disable", "disabling what is not replicated is OK",
         twice(kDisable)),
      Of("enable", "enabling is OK, and OK again", twice(kEnable)),
      Of("promote", "promoting is OK, and OK again", twice(kPromote)),
      Of("promote.together",
         absl::StrCat(kReplicationCallers,
                      " callers that promote one volume at once get OK or "
                      "ABORTED, and the volume is primary"),
         PromotedAtOnce),
      Of("two-sources", "two ids that disagree are INVALID_ARGUMENT",
         TwoSources),
      Of("primary.info",
         "information on a primary is OK, or not there yet; what is not known "
         "is absent",
         InfoOfPrimary),
      Of("primary.destination",
         "the id at the other site is told, or not known yet (UNAVAILABLE)",
         DestinationOfPrimary),
      Of("primary.resync",
         "a resync of a primary is FAILED_PRECONDITION: it would delete the "
         "good copy",
         ResyncOfPrimary),
      Of("demote",
         "demoting is OK, and OK again; promoting without force takes it back",
         MovedAwayAndBack),
      Of("disable", "disabling is OK, and OK again", twice(kDisable)),
      Of("disabled.info",
         "information on a disabled volume is FAILED_PRECONDITION", off(kInfo)),
  };
  for (Case& one : cases) {
    if (one.id == "replication.primary.destination") {
      one.capability = "volume_replication.GET_REPLICATION_DESTINATION_INFO";
    }
  }
  return cases;
}

}  // namespace addons
