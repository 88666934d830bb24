#ifndef ADDONS_REPLICATION_STEPS_PRIMARY_ONLY_H_
#define ADDONS_REPLICATION_STEPS_PRIMARY_ONLY_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "replication/look/mirror_view.h"
#include "replication/session.h"

namespace addons {

/// A look, with its step, for what is done with a primary in snapshot mode
/// alone. `action` is as in FailedTo(). FAILED_PRECONDITION: its replication is
/// off or being disabled, it is secondary on this site (the message names the
/// one to ask), or it is in journal mode, for which `no_journal` is the reason.
/// UNAVAILABLE: it refuses writes. Otherwise errors of Look(). Blocks for that.
absl::StatusOr<MirrorView> LookAtPrimary(const Session& session,
                                         absl::string_view action,
                                         absl::string_view no_journal);

/// UNAVAILABLE: a rollback of the image that `view` shows has not ended, so
/// that what it holds is to reach no other site, and no point.
absl::Status RefuseInRollback(const Session& session, absl::string_view action,
                              const MirrorView& view);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_PRIMARY_ONLY_H_
