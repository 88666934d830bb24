#include "replication/half_enable.h"

#include "base/log.h"
#include "base/status_macros.h"
#include "replication/mirror_client_guard.h"
#include "replication/state/leftover.h"

namespace addons {

absl::StatusOr<bool> StaysHalfEnabled(Session& session,
                                      const MirrorView& seen) {
  session.context.Step("looking once more at a half-done enable");
  ADDONS_RETURN_IF_ERROR(
      session.context.SleepFor(session.environment.options.poll_interval));
  ADDONS_ASSIGN_OR_RETURN(const MirrorView now, Look(session));
  return HalfEnabled(now) && now.image_id == seen.image_id &&
         now.snapshots.size() == seen.snapshots.size();
}

absl::Status ClearHalfEnable(Session& session) {
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  Log().warn("clearing a half-done enable volume={}",
             Quoted(session.volume.volume_id.text()));
  const MirrorClientGuard guard(session.cluster(), *session.reads,
                                session.environment.tracker);
  return ChangeImage(session.volume, [](Image& image) {
    return image.MirrorDisable(Force::kYes);
  });
}

}  // namespace addons
