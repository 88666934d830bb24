#include "replication/steps/primary_only.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "replication/look/leftover.h"
#include "replication/look/peers.h"
#include "replication/look/role_log.h"
#include "replication/look/rollback_mark.h"

namespace addons {

absl::StatusOr<MirrorView> LookAtPrimary(const Session& session,
                                         absl::string_view action,
                                         absl::string_view no_journal) {
  const auto refuse = [&](absl::string_view reason) {
    return FailedTo(action, session.volume,
                    absl::StatusCode::kFailedPrecondition, reason);
  };
  session.context.Step("looking at the image");
  ADDONS_ASSIGN_OR_RETURN(MirrorView view, Look(session));
  if (view.info.state == MirrorImageState::kDisabling) {
    return refuse(kDisablingText);
  }
  if (!view.enabled()) {
    return refuse("its replication is off; enable it first");
  }
  if (!view.info.primary) {
    const SiteView* const primary =
        FindPeer(view, Says::kPrimary, Word::kBefore,
                 session.environment.options.settle_time);
    return refuse(absl::StrCat(
        "it is ", RoleName(view), " on this site; run it where it is primary",
        primary == nullptr
            ? ", which no site reports to be"
            : absl::StrCat(", on ", SiteName(*session.reads,
                                             primary->status.mirror_uuid))));
  }
  if (view.info.mode == MirrorMode::kJournal) return refuse(no_journal);
  if (view.marked_non_primary) {
    return FailedTo(action, session.volume, absl::StatusCode::kUnavailable,
                    "it is primary but refuses writes, because a change of its "
                    "role died half-way; promote it again first");
  }
  return view;
}

absl::Status RefuseInRollback(const Session& session, absl::string_view action,
                              const MirrorView& view) {
  const auto rollback = ReadRollbackMark(view);
  if (!rollback.has_value()) return absl::OkStatus();
  return FailedTo(action, session.volume, absl::StatusCode::kUnavailable,
                  DescribeRollback(*rollback));
}

}  // namespace addons
