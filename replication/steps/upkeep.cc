#include "replication/steps/upkeep.h"

#include <optional>

#include "base/status_macros.h"
#include "operation/run_operation.h"
#include "replication/look/mount_restriction.h"
#include "replication/look/record.h"
#include "replication/session.h"
#include "replication/steps/mirror_schedule.h"
#include "replication/steps/parent.h"
#include "replication/steps/write_record.h"
#include "replication/volume_operation.h"

namespace addons {
namespace {

/// Notes for the time when what is seen now cannot be seen any more.
absl::Status KeepNotes(Session& session, const MirrorView& view) {
  const std::optional<TermNote> term = TermNoteDue(view);
  LocalRecord record = view.own;
  if (term.has_value()) record.term = term;
  if (FirstCopyNoteIsOver(view)) record.first_copy_awaited = false;
  const MetadataChanges also = MountRestrictionDue(view);
  if (record == view.own && also.empty()) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step(
      "noting since when the image is primary, or was copied, and who may "
      "mount it");
  return ChangeImage(session.volume, [&](Image& image) {
    MirrorView before = view;
    return WriteLocalRecord(image, record, &before, also);
  });
}

}  // namespace

bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) ||
         absl::IsDeadlineExceeded(status) || absl::IsResourceExhausted(status);
}

absl::Status KeepUp(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const UpkeepRequest& request) {
  return RunWithSession(
      context, environment, request.target, "keep up replication of",
      [&](Session& session) -> absl::Status {
        session.context.Step("looking at the image");
        ADDONS_ASSIGN_OR_RETURN(MirrorView view, Look(session));
        if (!view.enabled() || !view.info.primary) return absl::OkStatus();
        if (view.info.mode != MirrorMode::kSnapshot) {
          return KeepNotes(session, view);
        }
        ADDONS_RETURN_IF_ERROR(RememberClone(session, &view));
        ADDONS_RETURN_IF_ERROR(KeepNotes(session, view));
        return SetWantedSchedule(session, view);
      });
}

Later<absl::Status> RunKeepUp(OperationTable& operations,
                              ReplicationEnvironment& environment,
                              const VolumeTarget& target,
                              const Caller& caller) {
  ADDONS_ASSIGN_OR_RETURN(
      OperationSpec spec,
      SpecOnVolume(environment, target, "keep up replication"));
  spec.action = "keep up the replication of";
  return RunVerb(operations, spec, caller, environment,
                 UpkeepRequest{{target.volume_id, target.user}}, &KeepUp);
}

}  // namespace addons
