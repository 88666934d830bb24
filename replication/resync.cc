#include "replication/resync.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "replication/demotion_mark.h"
#include "replication/image_id.h"
#include "replication/leftover.h"
#include "replication/rescue.h"
#include "replication/role_log.h"
#include "replication/session.h"
#include "replication/stale_schedules.h"
#include "replication/state/rescue_record.h"

namespace addons {
namespace {

/// An error that stands so often in rewritten reports is no passing one.
constexpr int kStandingRewrites = 2;
/// The role of a copy from the request of a resync to its end.
constexpr char kBeingMadeAnew[] = "being made anew";
/// Stamps of the demotion snapshot and of reports are written by several OSDs.
constexpr std::chrono::seconds kStampMargin{15};

class Resynchronization {
 public:
  Resynchronization(const ResyncRequest& request, Session& session)
      : context_(session.context),
        environment_(session.environment),
        request_(request),
        session_(session),
        key_(absl::StrCat(session.cluster().fsid(), "/", session.volume.pool_id,
                          "/", session.volume.rados_namespace, "/",
                          session.volume.uuid)) {}

  absl::StatusOr<ResyncResult> Run();

 private:
  absl::StatusOr<ResyncResult> DecideAbsent();
  absl::StatusOr<ResyncResult> Decide(const MirrorView& view);
  /// Of an image that is a secondary and that no resync or copy is changing.
  absl::StatusOr<ResyncResult> DecideIdle(const MirrorView& view);
  absl::StatusOr<ResyncResult> DecideOnError(const MirrorView& view);
  absl::StatusOr<ResyncResult> Ready(const MirrorView& view);
  absl::StatusOr<ResyncResult> Request(absl::string_view role);
  absl::StatusOr<bool> DemotedIncarnation(const MirrorView& view);
  bool CopyRunning(const MirrorView& view);
  bool SawPrimaryLately();
  absl::Status SourceGone(const MirrorView& view, absl::string_view what) const;
  std::string PeerName(const MirrorView& view) const;
  absl::Status Failed(absl::StatusCode code, const std::string& reason) const;
  absl::Status Waiting() const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const ResyncRequest& request_;
  Session& session_;
  const std::string key_;  // of the volume, in the history
};

bool IsCopy(MirrorSnapshotKind kind) {
  return kind == MirrorSnapshotKind::kNonPrimary ||
         kind == MirrorSnapshotKind::kNonPrimaryDemoted;
}

/// The last thing that happened to the image is that this site demoted it.
bool OwnDemotionIsNewest(const MirrorView& view) {
  const MirrorSnapshot* newest = view.Newest();
  return newest != nullptr &&
         newest->kind == MirrorSnapshotKind::kPrimaryDemoted;
}

bool WholeCopy(const MirrorView& view) {
  if (view.info.mode == MirrorMode::kJournal) return !view.first_copy_pending;
  const MirrorSnapshot* newest = view.Newest();
  return newest != nullptr && newest->complete;
}

/// The report is about the role that the image has now: it was written after
/// this site demoted it, or after this copy was begun.
bool IsCurrent(const MirrorView& view, const SiteView& site) {
  int64_t since = view.created.seconds;
  if (OwnDemotionIsNewest(view)) {
    since = std::chrono::system_clock::to_time_t(view.Newest()->created) +
            kStampMargin.count();
  }
  return site.status.last_update >= since;
}

/// A peer that is up and has said `role` since this image has its role.
bool PeerIs(const MirrorView& view, SiteRole role, SteadyDuration settle) {
  return std::any_of(view.peers.begin(), view.peers.end(),
                     [&](const SiteView& peer) {
                       return peer.role == role && peer.age < settle &&
                              peer.status.up && IsCurrent(view, peer);
                     });
}

bool Replays(const MirrorView& view) {
  return view.LocalDaemonUp() &&
         view.local->status.state == MirrorStatusState::kReplaying;
}

/// With one-way mirroring the peer has no report; there the local rbd-mirror
/// tells by replaying.
bool LivingPrimary(const MirrorView& view, SteadyDuration settle) {
  return PeerIs(view, SiteRole::kPrimary, settle) ||
         (view.OneWay() && Replays(view));
}

/// A living peer has yet to copy the demotion of this site, and is not primary.
/// In journal mode the demotion is the last entry of the journal: the peer says
/// that it replays until it has met it. That the demotion was this site's is
/// marked in the metadata, which nobody can change on a secondary.
bool PeerCopiesOwnDemotion(const MirrorView& view, SteadyDuration settle) {
  if (view.info.mode != MirrorMode::kJournal) {
    return OwnDemotionIsNewest(view) &&
           PeerIs(view, SiteRole::kSecondary, settle);
  }
  return view.own_demotion_mark &&
         std::any_of(
             view.peers.begin(), view.peers.end(), [&](const SiteView& peer) {
               return peer.age < settle && peer.status.up &&
                      (peer.status.state == MirrorStatusState::kReplaying ||
                       peer.status.state == MirrorStatusState::kSyncing);
             });
}

/// Nobody is there to copy from.
bool SourceIsSilent(const MirrorView& view, SteadyDuration settle) {
  return view.OneWay() ? view.local.has_value() && !view.LocalDaemonUp()
                       : !view.AnyFreshPeer(settle);
}

/// What rbd-mirror reports goes away when its cause does: nothing is wrong with
/// this copy.
bool PassesByItself(absl::string_view text) {
  static constexpr absl::string_view kWords[] = {
      "timed out", "timeout",   "no space",  "quota",    "full",
      "blocklist", "blacklist", "connect",   "shutdown", "shut down",
      "cancel",    "interrupt", "try again", "temporar", "busy",
      "(110)",     "(28)",      "(122)",     "(108)",    "(11)"};
  const std::string lower = absl::AsciiStrToLower(text);
  return std::any_of(
      std::begin(kWords), std::end(kWords),
      [&](absl::string_view word) { return absl::StrContains(lower, word); });
}

ResyncResult NotReady(std::string message) {
  return ResyncResult{false, std::move(message)};
}

bool Resynchronization::SawPrimaryLately() {
  const auto since = environment_.resyncs.SincePrimary(key_);
  return since.has_value() && *since < environment_.options.settle_time;
}

/// The copy of a peer's image is being made, by what is seen of it now.
bool Resynchronization::CopyRunning(const MirrorView& view) {
  const MirrorSnapshot* newest = view.Newest();
  const bool creating = view.info.state == MirrorImageState::kCreating;
  const bool incomplete =
      newest != nullptr && !newest->complete && IsCopy(newest->kind);
  if (!view.local.has_value()) {
    // So new that nobody has reported on it yet.
    return (creating || incomplete) && SawPrimaryLately();
  }
  if (!view.LocalDaemonUp() || !IsCurrent(view, *view.local)) return false;
  switch (view.local->status.state) {
    case MirrorStatusState::kSyncing:
      return true;
    case MirrorStatusState::kStartingReplay:
      // After a demotion of this site it is only looking what there is.
      return creating || newest == nullptr || IsCopy(newest->kind);
    case MirrorStatusState::kReplaying:
      return creating || incomplete;
    default:
      return false;
  }
}

std::string Resynchronization::PeerName(const MirrorView& view) const {
  if (view.peers.empty()) return "the peer site";
  return SiteName(*session_.reads, view.peers.front().status.mirror_uuid);
}

absl::Status Resynchronization::Failed(absl::StatusCode code,
                                       const std::string& reason) const {
  return FailedTo("resync", session_.volume, code, reason);
}

absl::Status Resynchronization::Waiting() const {
  return Failed(absl::StatusCode::kUnavailable,
                "waiting for both sites to report what they see, which takes "
                "up to a minute; nothing has been begun");
}

absl::Status Resynchronization::SourceGone(const MirrorView& view,
                                           absl::string_view what) const {
  return Failed(
      absl::StatusCode::kUnavailable,
      absl::StrCat(
          what, ", but ", PeerName(view),
          view.peers.empty()
              ? " is silent"
              : absl::StrCat(" has not reported for at least ",
                             std::chrono::duration_cast<std::chrono::seconds>(
                                 view.peers.front().age)
                                 .count(),
                             " s"),
          "; it goes on when that site is back"));
}

absl::StatusOr<bool> Resynchronization::DemotedIncarnation(
    const MirrorView& view) {
  auto image = session_.reads->OpenImageReadOnly(session_.volume.image_name());
  if (!image.ok()) return AfterResolve(image.status(), session_.volume);
  ADDONS_ASSIGN_OR_RETURN(const auto saved, (*image)->Metadata(kDemotionMark));
  return saved == DemotionMark(view.created);
}

absl::StatusOr<ResyncResult> Resynchronization::Ready(const MirrorView& view) {
  ADDONS_ASSIGN_OR_RETURN(const bool made_anew,
                          CorrectImageId(session_, view.image_id));
  if (made_anew) {
    LogRoleChange(session_.volume, kBeingMadeAnew, RoleOf(view),
                  "resync ended: rbd-mirror has recreated this copy");
  }
  SweepSchedules(session_);
  // A state before this one, which nobody went back to.
  ADDONS_ASSIGN_OR_RETURN(
      const auto rescue,
      ReadRescueRecord(*session_.reads, session_.volume.image_name()));
  if (rescue.has_value() && !RescueIsLive(*rescue, view)) {
    ADDONS_RETURN_IF_ERROR(Rescue(session_).Remove());
  }
  return ResyncResult{true, "this copy is in step with its peer"};
}

absl::StatusOr<ResyncResult> Resynchronization::Request(
    absl::string_view role) {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("requesting the resync");
  ADDONS_ASSIGN_OR_RETURN(std::unique_ptr<Pool> pool,
                          session_.volume.OpenPool(Access::kMutate));
  // A read-only handle suffices: a writable open of a secondary can get the
  // local rbd-mirror blocklisted.
  auto image = pool->OpenImageReadOnly(session_.volume.image_name());
  if (!image.ok()) return AfterResolve(image.status(), session_.volume);
  const absl::Status requested = (*image)->MirrorResync();
  // Of an image that is not mirrored any more: librbd 16.2 and 18.2 say ENOENT,
  // 20.2 EINVAL.
  if (const int error = CephErrno(requested);
      error == EINVAL || error == ENOENT) {
    ADDONS_ASSIGN_OR_RETURN(const MirrorView now, Look(session_));
    if (!now.enabled()) {
      return Failed(absl::StatusCode::kUnavailable,
                    "replication was disabled at the same moment; repeat the "
                    "call");
    }
  }
  ADDONS_RETURN_IF_ERROR(requested);
  LogRoleChange(session_.volume, role, kBeingMadeAnew,
                "resync begun: rbd-mirror deletes this copy and copies again");
  ADDONS_RETURN_IF_ERROR((*image)->Close());
  return NotReady("resync requested");
}

absl::StatusOr<ResyncResult> Resynchronization::DecideOnError(
    const MirrorView& view) {
  const SteadyDuration settle = environment_.options.settle_time;
  const std::string text = DescriptionText(view.local->status.description);
  const ResyncHistory::Standing standing =
      environment_.resyncs.SawError(key_, view.local->status.last_update);
  const bool split = view.local->role == SiteRole::kSplitBrain;
  bool broken = split;
  if (!broken && !PassesByItself(text) && standing.stands_for >= settle &&
      standing.rewrites >= kStandingRewrites) {
    ADDONS_ASSIGN_OR_RETURN(broken, DemotedIncarnation(view));
  }
  if (!broken) {
    return Failed(absl::StatusCode::kUnavailable,
                  absl::StrCat("rbd-mirror of this site reports an error: ",
                               text, "; this copy is left alone"));
  }
  const std::string what =
      split ? absl::StrCat("split brain: ", text)
            : absl::StrCat("rbd-mirror of this site keeps reporting '", text,
                           "' since this site was demoted");
  if (!PeerIs(view, SiteRole::kPrimary, settle)) {
    return Failed(
        absl::StatusCode::kUnavailable,
        absl::StrCat(what, "; ", PeerName(view),
                     " is not known to be alive and primary; a resync "
                     "deletes this copy and needs a living source, so "
                     "none was requested"));
  }
  if (request_.force == Force::kNo) {
    return Failed(
        absl::StatusCode::kFailedPrecondition,
        absl::StrCat(what, "; this copy must be deleted and recreated from ",
                     PeerName(view),
                     ": set autoResync: true, or state: resync, or run `rbd "
                     "mirror image resync ",
                     session_.volume.Spec(session_.volume.image_name()), "`"));
  }
  return Request(RoleOf(view));
}

absl::StatusOr<ResyncResult> Resynchronization::Decide(const MirrorView& view) {
  const SteadyDuration settle = environment_.options.settle_time;
  if (!view.resync_requested) {
    if (view.info.state == MirrorImageState::kDisabling) {
      return Failed(absl::StatusCode::kUnavailable, kDisablingText);
    }
    if (!view.enabled()) {
      return Failed(absl::StatusCode::kFailedPrecondition,
                    "replication is not enabled");
    }
  }
  if (view.info.primary) {
    return Failed(absl::StatusCode::kFailedPrecondition,
                  "the image is primary on this site; demote it first");
  }
  if (LivingPrimary(view, settle)) environment_.resyncs.SawPrimary(key_);
  if (!view.local.has_value() ||
      view.local->status.state != MirrorStatusState::kError) {
    environment_.resyncs.SawNoError(key_);
  }
  if (view.resync_requested) {
    if (SourceIsSilent(view, settle)) {
      return SourceGone(view, "a resync is requested");
    }
    return NotReady("a resync is requested already");
  }
  if (CopyRunning(view)) {
    if (SourceIsSilent(view, settle) && view.quiet_for >= settle) {
      return SourceGone(view, "the copy is not complete");
    }
    return NotReady(
        absl::StrCat("the copy is being made; ", view.CopyProgress()));
  }
  return DecideIdle(view);
}

absl::StatusOr<ResyncResult> Resynchronization::DecideIdle(
    const MirrorView& view) {
  const SteadyDuration settle = environment_.options.settle_time;
  if (!view.local.has_value()) return Waiting();
  if (!view.LocalDaemonUp()) {
    return Failed(absl::StatusCode::kUnavailable,
                  "rbd-mirror of this site is down, nothing is being copied; "
                  "start it");
  }
  if (!IsCurrent(view, *view.local)) return Waiting();
  if (PeerCopiesOwnDemotion(view, settle)) {
    return NotReady(absl::StrCat(
        PeerName(view), " is still copying the demotion of this site"));
  }
  if (WholeCopy(view)) {
    if (IsIdle(view.local->status) && LivingPrimary(view, settle)) {
      return Ready(view);
    }
    if (view.local->role == SiteRole::kNotPrimary &&
        PeerIs(view, SiteRole::kNotPrimary, settle)) {
      return Ready(view);
    }
  }
  if (view.local->status.state == MirrorStatusState::kError) {
    return DecideOnError(view);
  }
  return Waiting();
}

/// The journal knows the volume: rbd-mirror has deleted the image and has not
/// made it anew yet. Nothing of the peer can be seen meanwhile.
absl::StatusOr<ResyncResult> Resynchronization::DecideAbsent() {
  if (SawPrimaryLately()) {
    return NotReady("the image is absent; rbd-mirror is about to recreate it");
  }
  return Failed(
      absl::StatusCode::kUnavailable,
      "the image is absent on this site; rbd-mirror recreates it when the "
      "peer is alive and primary, which was not seen lately; check "
      "rbd-mirror of both sites (`rbd mirror pool status --verbose`)");
}

absl::StatusOr<ResyncResult> Resynchronization::Run() {
  context_.Step("looking at both sites");
  const auto view =
      LookAt(session_.volume, *session_.reads, environment_.tracker);
  if (absl::IsNotFound(view.status())) return DecideAbsent();
  ADDONS_RETURN_IF_ERROR(view.status());
  environment_.series.ForgetPrimary(view->tracker_key);
  return Decide(*view);
}

}  // namespace

absl::StatusOr<ResyncResult> Resync(OperationContext& context,
                                    ReplicationEnvironment& environment,
                                    const ResyncRequest& request) {
  ResyncResult result;
  ADDONS_RETURN_IF_ERROR(
      RunWithSession(context, environment, request.target, "resync",
                     [&](Session& session) -> absl::Status {
                       ADDONS_ASSIGN_OR_RETURN(
                           result, Resynchronization(request, session).Run());
                       return absl::OkStatus();
                     }));
  return result;
}

}  // namespace addons
