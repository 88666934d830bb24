#include "replication/tell_refusal.h"

#include <chrono>

#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "replication/state/move_marks.h"

namespace addons {
namespace {

/// The other site believes a note for ten minutes; it is renewed before.
constexpr std::chrono::minutes kTellAgainAfter{3};

}  // namespace

absl::Status TellRefusal(Session& session, const std::string& workload) {
  ADDONS_ASSIGN_OR_RETURN(const MirrorView view, Look(session));
  if (!view.enabled() || !view.info.primary) return absl::OkStatus();
  if (view.marked_non_primary) {
    return absl::UnavailableError(
        "the image refuses writes, because an earlier demotion died half-way");
  }
  const absl::Time now = absl::FromChrono(session.context.clock().WallNow());
  RefusedDemotion note{workload, FormatUtc(now), absl::ToUnixSeconds(now)};
  if (view.refused_demotion.has_value()) {
    const std::chrono::seconds age(note.told - view.refused_demotion->told);
    const bool recent = age >= std::chrono::seconds(0) && age < kTellAgainAfter;
    if (recent && view.refused_demotion->workload == workload) {
      return absl::OkStatus();
    }
    if (!view.refused_demotion->since.empty()) {
      note.since = view.refused_demotion->since;
    }
  }
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("telling the other site that a workload is still there");
  return ChangeImage(session.volume, [&](Image& image) -> absl::Status {
    ADDONS_RETURN_IF_ERROR(
        image.SetMetadata(kRefusedDemotionKey, FormatRefusedDemotion(note)));
    if (view.info.mode != MirrorMode::kSnapshot) return absl::OkStatus();
    return image.CreateMirrorSnapshot().status();
  });
}

}  // namespace addons
