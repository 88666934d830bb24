#ifndef ADDONS_REPLICATION_SESSION_H_
#define ADDONS_REPLICATION_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ceph/mirror.h"
#include "ceph/mirror_clients.h"
#include "ceph/pool.h"
#include "lease/leased_context.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/look/last_roles.h"
#include "replication/look/mirror_view.h"
#include "replication/look/report_watch.h"
#include "replication/look/role_log.h"
#include "replication/promotion_rest.h"

namespace addons {

/// What an image has looked like, or what is waited for, and since when.
struct SameFor {
  std::string look;
  SteadyTime since;
};

/// Of an image that is being enabled or disabled: who is at it makes it look
/// different from one moment to the next.
std::string LooksLike(const MirrorView& view);
/// How long `view`, a look of `now`, has looked the same; `known` is told.
SteadyDuration UnchangedFor(const MirrorView& view, SteadyTime now,
                            std::optional<SameFor>* known);

/// What a call has seen so far: it stays when the call's work is done again
/// from the start, so that nothing is waited for twice.
struct CallMemory {
  ReportWatch reports;
  bool begun = false;  // of a promotion
  // Of a promotion, of a demotion that a workload keeps from going on, or of a
  // resync that waits for reports.
  std::optional<SteadyTime> answer_by;
  PromotionRest rest;
  /// Of a promotion: when its wait is over, WaitClock::over_in.
  std::optional<SteadyTime> over_at;
  std::vector<MirrorPeer> peers;  // likewise, of the pool, for their names
  // Of a demotion: since when no workload has been seen, that is between two
  // watches perhaps.
  std::optional<SteadyTime> workload_gone_since;
  // Of an enable that somebody else makes, or has died at.
  std::optional<SameFor> half_enabled;
  // Of an image that is "disabling".
  std::optional<SameFor> disabling;
  std::optional<SameFor> waiting;  // what TellWait() has told
  bool found = false;              // the volume
  /// A handle that was to change the image has shown something else than the
  /// look before it, which did not open the image: Confirms().
  bool opens_to_look = false;
  bool tried_lease_first = false;  // SessionOptions::changes
};

/// A volume that was found.
struct OpenedVolume {
  ResolvedVolume volume;
  std::unique_ptr<Pool> reads;  // of its pool, on the read connection
  CephUserRef user;             // of the call; null: nobody's in particular

  Cluster& cluster() const { return *volume.cluster; }
};

/// What a verb works with once its volume is found. For one thread.
struct Session : OpenedVolume {
  /// Before the first change it takes the lease on the volume, and when it
  /// does, the work is done again from the start (lease/leased_context.h).
  OperationContext& context;
  ReplicationEnvironment& environment;
  CallMemory& memory;
};

/// Until when a verb waits for a volume or group to be found: as long as its
/// callers do, and not for long.
SteadyTime ResolveDeadline(OperationContext& context);

/// Finds the volume, to change something there or not; blocks until `deadline`
/// at most. Errors of Resolver::Resolve(). UNAVAILABLE also: it is not on the
/// cluster that `target` says.
absl::StatusOr<OpenedVolume> OpenVolume(ReplicationEnvironment& environment,
                                        const VolumeTarget& target,
                                        Access access, SteadyTime deadline);

/// A verb's work with its volume.
using SessionWork = std::function<absl::Status(Session&)>;

struct SessionOptions {
  LeaseWaits waits = LeaseWaits::kWithoutWorker;
  /// The role in which the verb changes a volume, rather than wait or find all
  /// done. One that was last seen so is leased before the first look, and
  /// looked at once less. So is one that was never seen.
  std::optional<LastRole> changes = std::nullopt;
  /// It gives space back: LeaseTarget::although_full.
  bool although_full = false;
};

/// Finds the volume and runs `work`. When the answer is that this client was
/// blocklisted and nothing was changed yet, once more on a new connection.
/// `verb` is shown to other daemons that wait for this one.
absl::Status RunWithSession(OperationContext& context,
                            ReplicationEnvironment& environment,
                            const VolumeTarget& target, const std::string& verb,
                            const SessionWork& work,
                            const SessionOptions& options = {});

/// The same for work that has a result, which is that of the last time.
template <typename Result>
absl::StatusOr<Result> RunForResult(
    OperationContext& context, ReplicationEnvironment& environment,
    const VolumeTarget& target, const std::string& verb,
    const std::function<absl::StatusOr<Result>(Session&)>& work,
    const SessionOptions& options = {}) {
  absl::StatusOr<Result> result = absl::UnknownError("not done");
  const absl::Status status = RunWithSession(
      context, environment, target, verb,
      [&](Session& session) {
        result = work(session);
        return result.status();
      },
      options);
  if (!status.ok()) return status;
  return result;
}

/// Opens the image for writing on the mutation connection, runs `change` on it
/// and closes it. The first error wins.
absl::Status ChangeImage(const ResolvedVolume& volume,
                         const std::function<absl::Status(Image&)>& change);

/// `changed` is what `change` answers, which is repeated while that is EBUSY,
/// for ReplicationOptions::watch_timeout at most: a daemon that died a moment
/// ago still counts as having an image open. Errors of SleepFor().
absl::Status WhileBusy(const Session& session,
                       const std::function<absl::Status()>& change,
                       absl::Status* changed);

/// What is said of snapshots that have not arrived whole.
struct NotWholeWords {
  const char* removed;  // "a snapshot that had arrived in part"
  const char* stays;    // "a snapshot has arrived in part, is a mixture"
};
/// Removes snapshots of users, by id: nobody must take them for what they were
/// on the other site. One that is protected or has clones stays, and is logged.
/// WhileBusy() each; an absent one is OK.
absl::Status RemoveSnapshotsNotWhole(const Session& session, Image& image,
                                     const std::vector<uint64_t>& ids,
                                     const NotWholeWords& words);

/// ListClients(), whose workloads are no daemons that hold the lease, or died
/// with it, either: with such a one BeginMutation() deals.
absl::StatusOr<ImageClients> FindClients(const Session& session, Image& image);
/// The same of the session's image, without opening it; `image_id` is that of
/// the last look. An image that is gone is UNAVAILABLE.
absl::StatusOr<ImageClients> FindClients(const Session& session,
                                         const std::string& image_id);

/// What a call has seen of its volume is remembered for later calls, and for
/// the background watch, when the image is mirrored.
void NoteLook(ReplicationEnvironment& environment, const OpenedVolume& opened,
              const MirrorView& view);

/// LookWithoutOpening() and NoteLook() for verbs; it counts the call's reports.
/// NOT_FOUND (the image is missing) only before the first change; afterwards it
/// is UNAVAILABLE. What changes a role by it is done by ChangeAsSeen().
absl::StatusOr<MirrorView> Look(const Session& session);
/// The same through an image that is opened read-only, with what `also` reads.
absl::StatusOr<MirrorView> LookOpened(const Session& session,
                                      const AlsoRead& also);
/// The same through a handle that is open already, as LookAt() does.
absl::StatusOr<MirrorView> Look(const Session& session, Image& image);

/// Whether `image`, the handle that is to change it, shows the role and the
/// mirror snapshots of `view`: the decision rests on that, and librbd goes by
/// what its handle knows. false: look again and decide anew; this call opens
/// the image for its looks from now on. Errors are those of Image.
absl::StatusOr<bool> Confirms(const Session& session, Image& image,
                              const MirrorView& view);

/// ChangeImage() of what `view` shows: `change` runs where the handle
/// Confirms() that. false: it does not, and nothing was changed; look again.
absl::StatusOr<bool> ChangeAsSeen(
    const Session& session, const MirrorView& view,
    const std::function<absl::Status(Image&)>& change);

/// What has changed a role, as metrics count it.
struct RoleChange {
  RoleVerb verb = RoleVerb::kPromote;
  Force force = Force::kNo;
};
/// A change of the image's role that was seen to have happened: a line of the
/// log (LogRoleChange()), an event of the volume's history, and counted; not
/// counted where `change` is nullopt, as nobody's verb has made it.
void NoteRoleChange(const Session& session, std::optional<RoleChange> change,
                    absl::string_view from, absl::string_view to,
                    absl::string_view by);

/// UNAVAILABLE: somebody has its lock by hand (`rbd lock add`). librbd's
/// demotion and disable wait for that without end. One read.
absl::Status RefuseLockTakenByHand(absl::string_view action,
                                   const ResolvedVolume& volume, Image& image);

/// "Failed to <action> image '...' (volume '...'): <reason>".
absl::Status FailedTo(absl::string_view action, const ResolvedVolume& volume,
                      absl::StatusCode code, absl::string_view reason);

inline constexpr char kCallIsAnswered[] = "the call is answered";

/// Tells callers what this call waits for (Step()), since when, and when it is
/// over (TellClock()): `then` at `until`, or before that the answer to the last
/// caller. Of a call that has changed something only what it waits for.
void TellWait(const Session& session, absl::string_view what,
              std::optional<SteadyTime> until = std::nullopt,
              absl::string_view then = kCallIsAnswered);

/// Between two looks of a verb that waits for a state: tells callers what it
/// waits for, which is `pending` for those that leave, and looks again after a
/// poll interval (OperationContext::LookAgainAfter()). `pending` when nobody
/// waits any more after the first change.
absl::Status WaitToLookAgain(const Session& session, absl::string_view reason,
                             const absl::Status& pending);

/// Whether a verb that has waited since `begin` may go on with that: one that
/// has begun to change something only while somebody waits for it, and not for
/// long; its retry waits without holding others up.
bool MayWaitOn(const Session& session, SteadyTime begin);

}  // namespace addons

#endif  // ADDONS_REPLICATION_SESSION_H_
