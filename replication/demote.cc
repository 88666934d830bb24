#include "replication/demote.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/mirror_clients.h"
#include "lease/leased_context.h"
#include "replication/demotion_mark.h"
#include "replication/leftover.h"
#include "replication/peer_claims.h"
#include "replication/role_log.h"
#include "replication/session.h"
#include "replication/state/mirrored_clone.h"
#include "replication/state/rescue_record.h"
#include "replication/tell_refusal.h"

namespace addons {
namespace {

/// Written by ceph-csi: who staged the volume. The leading dot keeps it on this
/// site.
constexpr char kPublishPrefix[] = ".rbd.csi.ceph.com/";
/// rbd-mirror looks at its images every 30 s and writes its reports every 30 s,
/// so a text can be out of date for so long.
constexpr std::chrono::seconds kReportLag{60};
/// A demotion that ends half-done is repaired so often within one call.
constexpr int kRepairs = 3;

class Demotion {
 public:
  explicit Demotion(Session& session)
      : context_(session.context),
        environment_(session.environment),
        session_(session) {}

  absl::Status Run();
  /// After Run(): the workload that it refused for, or an empty text.
  const std::string& workload() const { return workload_; }

 private:
  absl::Status LookAround();
  absl::Status RefuseIfAny(const std::vector<Watcher>& workloads);
  bool IsCurrent(const SiteView& peer);
  absl::StatusOr<bool> Followed();
  absl::Status WaitForFollower();
  bool Published() const;
  absl::Status WriteMarks(Image& image);
  absl::Status DemotePrimary();
  absl::Status Repair();
  absl::Status Failed(absl::StatusCode code, const std::string& reason) const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  Session& session_;
  std::string workload_;
  // --- of the last look, through one open image
  MirrorView view_;
  std::vector<Watcher> workloads_;  // of a primary
  bool open_by_mirror_ = false;     // a primary: a peer copies from it
  std::map<std::string, std::string> published_;  // ceph-csi's marks
};

/// What is wrong with the image after a demotion that reported success; empty:
/// nothing. It is demoted when the newest snapshot that this site made itself
/// says so and is whole. (Newer ones may be copies of what the peer, promoted
/// since, has written.)
std::string DescribeBadDemotion(const MirrorView& view) {
  if (view.info.primary) {
    return "the image is still primary after a demotion that reported success; "
           "repeat the call";
  }
  if (view.info.mode == MirrorMode::kJournal) return "";
  const auto own = std::find_if(
      view.snapshots.rbegin(), view.snapshots.rend(),
      [](const MirrorSnapshot& snapshot) {
        return snapshot.kind == MirrorSnapshotKind::kPrimary ||
               snapshot.kind == MirrorSnapshotKind::kPrimaryDemoted;
      });
  if (own == view.snapshots.rend()) {
    return "the image is not primary after the demotion, but none of its "
           "mirror snapshots is a demotion of this site; repeat the call";
  }
  if (own->kind != MirrorSnapshotKind::kPrimaryDemoted) {
    return absl::StrCat(
        "the image is not primary after the demotion, but the newest mirror "
        "snapshot of this site (id ",
        own->id, ") is of the kind '", Name(own->kind),
        "' and no demotion; check the cluster's health and repeat the call");
  }
  return own->complete ? ""
                       : "the demotion snapshot does not become complete; "
                         "check the cluster's health and repeat the call";
}

absl::Status Demotion::Failed(absl::StatusCode code,
                              const std::string& reason) const {
  return FailedTo("demote", session_.volume, code, reason);
}

/// An image is opened once for all that a look must tell.
absl::Status Demotion::LookAround() {
  const auto also = [this](Image& image,
                           const MirrorView& seen) -> absl::Status {
    workloads_.clear();
    open_by_mirror_ = false;
    published_.clear();
    if (!seen.enabled() || !seen.info.primary) return absl::OkStatus();
    ADDONS_ASSIGN_OR_RETURN(ImageClients clients, FindClients(session_, image));
    workloads_ = std::move(clients.workloads);
    open_by_mirror_ = clients.mirror && seen.info.mode != MirrorMode::kJournal;
    ADDONS_ASSIGN_OR_RETURN(published_, image.ListMetadata(kPublishPrefix));
    return absl::OkStatus();
  };
  ADDONS_ASSIGN_OR_RETURN(view_, Look(session_, also));
  return absl::OkStatus();
}

absl::Status Demotion::Run() {
  context_.Step("looking at the image");
  ADDONS_RETURN_IF_ERROR(LookAround());
  if (view_.info.state == MirrorImageState::kDisabling) {
    return Failed(absl::StatusCode::kUnavailable, kDisablingText);
  }
  if (!view_.enabled()) {
    return Failed(absl::StatusCode::kFailedPrecondition,
                  "replication is not enabled");
  }
  environment_.series.ForgetPrimary(view_.tracker_key);
  ADDONS_ASSIGN_OR_RETURN(
      const auto rescue,
      ReadRescueRecord(*session_.reads, session_.volume.image_name()));
  if (rescue.has_value() && AwaitsRestore(*rescue, view_)) {
    return Failed(
        absl::StatusCode::kUnavailable,
        DescribeAwaitedRestore(*rescue, session_.volume.image_name(),
                               session_.reads->ImageSpec(RescueImageName(
                                   session_.volume.image_name()))));
  }
  if (view_.info.primary) {
    // The site that is promoted next would go on with a copy that is not whole.
    const std::string loss = DescribeCloneLoss(
        view_, session_.volume.Spec(session_.volume.image_name()));
    if (!loss.empty()) {
      return Failed(absl::StatusCode::kFailedPrecondition, loss);
    }
  }
  bool demoted = false;  // by this call
  for (int repair = 0; repair <= kRepairs; ++repair) {
    if (!view_.info.primary) {
      if (!OwnHalfDemotion(view_)) break;
      ADDONS_RETURN_IF_ERROR(Repair());
    }
    ADDONS_RETURN_IF_ERROR(WaitForFollower());
    absl::Status done = DemotePrimary();
    // EINVAL is also what librbd says when somebody else was faster.
    if (!done.ok() && CephErrno(done) != EINVAL) return done;
    demoted = true;
    ADDONS_RETURN_IF_ERROR(LookAround());
    if (!done.ok() && view_.info.primary) return done;
    if (done.ok() && !view_.info.primary) {
      LogRoleChange(session_.volume, "primary", RoleOf(view_), "demoted");
    }
  }
  if (!demoted) return absl::OkStatus();  // a secondary all along
  const std::string bad = DescribeBadDemotion(view_);
  return bad.empty() ? absl::OkStatus()
                     : Failed(absl::StatusCode::kUnavailable, bad);
}

absl::Status Demotion::Repair() {
  if (const SiteView* peer = ClaimingPeer(view_); peer != nullptr) {
    const std::string name =
        SiteName(*session_.reads, peer->status.mirror_uuid);
    const bool silent = peer->age >= environment_.options.settle_time;
    return Failed(
        absl::StatusCode::kUnavailable,
        absl::StrCat(
            "an earlier demotion is half-done and cannot be repaired, because ",
            name,
            silent ? " was primary when its rbd-mirror reported last, and is "
                     "silent now; start rbd-mirror there, and resync this "
                     "image if that site is still primary; if that site is "
                     "lost, promote this image by force"
                   : " is primary; resync this image"));
  }
  if (const std::string unclear =
          view_.UnclearReport(environment_.options.settle_time);
      !unclear.empty()) {
    return Failed(absl::StatusCode::kUnavailable,
                  absl::StrCat("an earlier demotion is half-done and is not "
                               "repaired, because ",
                               unclear));
  }
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("repairing a half-done demotion");
  Log().warn("repairing a half-done demotion volume={} snapshot={}",
             Quoted(session_.volume.volume_id.text()), view_.Newest()->id);
  ADDONS_RETURN_IF_ERROR(ChangeImage(session_.volume, [](Image& image) {
    return image.MirrorPromote(Force::kNo);
  }));
  const std::string role_before(RoleOf(view_));
  ADDONS_RETURN_IF_ERROR(LookAround());
  if (view_.info.primary) {
    LogRoleChange(session_.volume, role_before, RoleOf(view_),
                  "promoted, to repair a half-done demotion");
  }
  return absl::OkStatus();
}

absl::Status Demotion::RefuseIfAny(const std::vector<Watcher>& workloads) {
  if (workloads.empty()) return absl::OkStatus();
  workload_ = DescribeWatchers(workloads);
  return Failed(absl::StatusCode::kFailedPrecondition,
                absl::StrCat("the image is in use by ", workload_,
                             "; stop the workload (a client that died is gone "
                             "from this list after 30 s)"));
}

/// What `peer` reports is about the time since this site became primary, and
/// not an older text that rbd-mirror wrote once more before it looked again.
bool Demotion::IsCurrent(const SiteView& peer) {
  const int rewrites =
      session_.memory.Reports(view_).Rewrites(peer.status.mirror_uuid);
  const bool secondary = peer.role == SiteRole::kSecondary;
  if (rewrites >= (secondary ? 1 : 2)) return true;
  const std::optional<int64_t> since = view_.PrimarySince();
  return since.has_value() && peer.status.last_update >=
                                  *since + (secondary ? 0 : kReportLag.count());
}

/// A peer copies from this image, or cannot. One that has not noticed yet that
/// this site is primary must not lose its chance: when both sides are demoted,
/// nothing is copied any more, and its next promote would return to the state
/// before this site became primary.
absl::StatusOr<bool> Demotion::Followed() {
  if (open_by_mirror_) return true;
  session_.memory.Reports(view_).Note(view_);
  for (const SiteView& peer : view_.peers) {
    if (!IsCurrent(peer)) continue;
    switch (peer.role) {
      case SiteRole::kSecondary:
      // These will not copy: demoting this side is the way out.
      case SiteRole::kPrimary:
      case SiteRole::kSplitBrain:
      case SiteRole::kError:
        return true;
      case SiteRole::kNotPrimary:
      case SiteRole::kUnclear:
        break;
    }
  }
  ADDONS_ASSIGN_OR_RETURN(const auto peers, session_.reads->MirrorPeers());
  return peers.empty();
}

absl::Status Demotion::WaitForFollower() {
  if (context_.mutating()) return absl::OkStatus();
  while (view_.info.primary) {
    ADDONS_RETURN_IF_ERROR(RefuseIfAny(workloads_));
    ADDONS_ASSIGN_OR_RETURN(const bool followed, Followed());
    if (followed) break;
    context_.Step("waiting until the peer follows this site");
    context_.SetPending(Failed(
        absl::StatusCode::kUnavailable,
        "no peer has noticed yet that this site is primary; demoted now, its "
        "copy would stay behind for ever; check that rbd-mirror of the other "
        "site runs (`rbd mirror pool status`)"));
    ADDONS_RETURN_IF_ERROR(
        context_.SleepFor(environment_.options.poll_interval));
    ADDONS_RETURN_IF_ERROR(LookAround());
  }
  context_.SetPending(absl::OkStatus());
  return absl::OkStatus();
}

/// ceph-csi says so, and nobody has it open.
bool Demotion::Published() const {
  for (const auto& [key, value] : published_) {
    if (absl::StrContains(key, "/clientaddress/") ||
        absl::StrContains(key, "/userid/")) {
      Log().warn(
          "volume={} is still marked as published by key={}, but nobody has it "
          "open",
          Quoted(session_.volume.volume_id.text()), Quoted(key));
      return true;
    }
  }
  return false;
}

/// What a demotion leaves in the metadata. A try that died inside librbd's call
/// has written it, and left a primary that refuses every write.
absl::Status Demotion::WriteMarks(Image& image) {
  ADDONS_ASSIGN_OR_RETURN(const bool refuses_writes, image.MarkedNonPrimary());
  if (refuses_writes) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const auto known, image.Metadata(kDemotionMark));
  if (!known.has_value()) {
    ADDONS_ASSIGN_OR_RETURN(const Timestamp created, image.CreateTimestamp());
    ADDONS_RETURN_IF_ERROR(
        image.SetMetadata(kDemotionMark, DemotionMark(created)));
  }
  // The note that this had to wait goes with the demotion; the mark tells a
  // later promotion here that the peer may have been promoted meanwhile.
  ADDONS_RETURN_IF_ERROR(image.RemoveMetadata(kRefusedDemotionKey));
  return image.SetMetadata(kOwnDemotionKey, "demoted");
}

absl::Status Demotion::DemotePrimary() {
  ADDONS_RETURN_IF_ERROR(RefuseIfAny(workloads_));
  if (!context_.mutating() && !session_.memory.awaited_workload &&
      Published()) {
    // Its client may be between two watches; a mark alone must not stop a
    // failover for ever.
    context_.Step("waiting whether the workload comes back");
    context_.SetPending(
        Failed(absl::StatusCode::kUnavailable,
               "the volume is still marked as published; looking once more"));
    ADDONS_RETURN_IF_ERROR(
        context_.SleepFor(environment_.options.watch_timeout));
    session_.memory.awaited_workload = true;
    context_.SetPending(absl::OkStatus());
    ADDONS_RETURN_IF_ERROR(LookAround());
    ADDONS_RETURN_IF_ERROR(RefuseIfAny(workloads_));
  }
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("demoting");
  return ChangeImage(session_.volume, [&](Image& image) -> absl::Status {
    ADDONS_RETURN_IF_ERROR(WriteMarks(image));
    // Once more, on the handle that demotes: between the last look and now
    // somebody may have opened the image.
    const auto demote = [&]() -> absl::Status {
      ADDONS_ASSIGN_OR_RETURN(const ImageClients opened,
                              FindClients(session_, image));
      ADDONS_RETURN_IF_ERROR(RefuseIfAny(opened.workloads));
      return image.MirrorDemote();
    };
    if (absl::Status demoted = demote(); !demoted.ok()) {
      // Refused by an image that is a secondary by now, which keeps the mark.
      (void)image.RemoveMetadata(kOwnDemotionKey);
      return demoted;
    }
    // librbd protects nobody: who opened the image since we looked gets EROFS.
    const auto clients = FindClients(session_, image);
    if (clients.ok() && !clients->workloads.empty()) {
      Log().warn(
          "volume={} was opened while it was demoted; these clients cannot "
          "write "
          "any more: {}",
          Quoted(session_.volume.volume_id.text()),
          DescribeWatchers(clients->workloads));
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status Demote(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const DemoteRequest& request) {
  return RunWithSession(
      context, environment, request.target, "demote",
      [&](Session& session) -> absl::Status {
        Demotion demotion(session);
        absl::Status status = demotion.Run();
        if (status.ok() || demotion.workload().empty() ||
            request.scope == VerbScope::kGroupMember) {
          return status;
        }
        absl::Status told = TellRefusal(session, demotion.workload());
        if (SaysLookAgain(told)) return told;
        if (!told.ok()) {
          Log().warn("the other site was not told that volume={} is in use: {}",
                     Quoted(session.volume.volume_id.text()), told.ToString());
        }
        return status;
      });
}

absl::Status TellRefusedDemotion(OperationContext& context,
                                 ReplicationEnvironment& environment,
                                 const VolumeTarget& target) {
  return RunWithSession(
      context, environment, target, "note a refused demotion of",
      [&](Session& session) -> absl::Status {
        auto image =
            session.reads->OpenImageReadOnly(session.volume.image_name());
        if (!image.ok()) return AfterResolve(image.status(), session.volume);
        ADDONS_ASSIGN_OR_RETURN(const ImageClients clients,
                                FindClients(session, **image));
        if (clients.workloads.empty()) return absl::OkStatus();
        return TellRefusal(session, DescribeWatchers(clients.workloads));
      });
}

}  // namespace addons
