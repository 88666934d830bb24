#include "cli/conformance/cases.h"
#include "reclaimspace/reclaimspace.pb.h"

namespace addons {
namespace {

using absl::StatusCode;

constexpr char kReclaim[] =
    "reclaimspace.ReclaimSpaceController/ControllerReclaimSpace";

/// Codes that say "not now" to a caller who repeats it.
const Steps::Codes kAnswers = {StatusCode::kOk, StatusCode::kUnimplemented,
                               StatusCode::kFailedPrecondition,
                               StatusCode::kAborted};

Outcome Reclaim(const Subject& subject) {
  if (subject.volume.empty()) {
    return Outcome::Skipped("it needs a volume: --volume");
  }
  Steps steps;
  for (const char* const step : {"at first", "again"}) {
    const Reply reply =
        subject.server.CallPatiently(kReclaim, {{"volume_id", subject.volume}});
    if (!steps.Answers(step, reply, kAnswers) || !reply.ok()) break;
    const auto& usage =
        reply.As<::reclaimspace::ControllerReclaimSpaceResponse>();
    steps.Holds(usage.pre_usage().usage_bytes() >= 0 &&
                    usage.post_usage().usage_bytes() >= 0,
                "a usage is negative");
  }
  return steps.outcome();
}

}  // namespace

Cases ReclaimCases() {
  return {{"reclaim.volume",
           "space of a volume is reclaimed, and again, or the code says why "
           "not",
           "reclaim_space.OFFLINE", Reclaim}};
}

}  // namespace addons
