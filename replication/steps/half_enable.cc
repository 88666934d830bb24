#include "replication/steps/half_enable.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "replication/look/leftover.h"
#include "replication/steps/mirror_client_guard.h"

namespace addons {

absl::StatusOr<bool> StaysHalfEnabled(Session& session,
                                      const MirrorView& seen) {
  const SteadyTime now = session.context.clock().Now();
  const SteadyDuration gap = session.environment.options.poll_interval;
  std::optional<SameFor>& known = session.memory.half_enabled;
  std::string look = absl::StrCat(seen.image_id, "/", seen.snapshots.size());
  if (!known.has_value() || known->look != look) {
    known = SameFor{std::move(look), now};
  }
  if (now - known->since >= gap) {
    // With the lease, which is taken next, it is looked at as carefully.
    known.reset();
    return true;
  }
  session.context.Step("looking once more at a half-done enable");
  ADDONS_RETURN_IF_ERROR(
      session.context.LookAgainAfter(gap - (now - known->since)));
  return false;
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
