#ifndef ADDONS_REPLICATION_SESSION_H_
#define ADDONS_REPLICATION_SESSION_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/mirror_view.h"

namespace addons {

/// What a verb works with once its volume is found.
struct Session {
  ResolvedVolume volume;
  std::unique_ptr<Pool> reads;  // of the volume's pool, on the read connection

  Cluster& cluster() const { return *volume.cluster; }
};

/// Until when a verb waits for a volume or group to be found: as long as its
/// callers do, and not for long.
SteadyTime ResolveDeadline(OperationContext& context);

/// Finds the volume; blocks until `deadline` at most. Errors of
/// Resolver::Resolve().
absl::StatusOr<Session> OpenSession(ReplicationEnvironment& environment,
                                    const VolumeTarget& target,
                                    SteadyTime deadline);

/// Finds the volume and runs `body`. When the answer is that this client was
/// blocklisted and nothing was changed yet, once more on a new connection.
absl::Status RunWithSession(OperationContext& context,
                            ReplicationEnvironment& environment,
                            const VolumeTarget& target,
                            const std::function<absl::Status(Session&)>& body);

/// Opens the image for writing on the mutation connection, runs `change` on it
/// and closes it. The first error wins.
absl::Status ChangeImage(const ResolvedVolume& volume,
                         const std::function<absl::Status(Image&)>& change);

/// LookAt() for verbs. NOT_FOUND (the image is missing) only before the first
/// change; afterwards it is UNAVAILABLE.
absl::StatusOr<MirrorView> Look(const OperationContext& context,
                                ReplicationEnvironment& environment,
                                const Session& session);

/// "Failed to <action> image '...' (volume '...'): <reason>".
absl::Status FailedTo(absl::string_view action, const ResolvedVolume& volume,
                      absl::StatusCode code, absl::string_view reason);

/// Between two looks of a verb that waits for a state: tells callers what it
/// waits for, which is `pending` for those that leave, and sleeps for a poll
/// interval. `pending` when nobody waits any more after the first change.
absl::Status WaitToLookAgain(OperationContext& context,
                             const ReplicationEnvironment& environment,
                             absl::string_view reason,
                             const absl::Status& pending);

/// The answer for a volume whose journal entry is there but whose image is not.
absl::Status ImageMissing(const ResolvedVolume& volume);

}  // namespace addons

#endif  // ADDONS_REPLICATION_SESSION_H_
