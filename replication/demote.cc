#include "replication/demote.h"

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
#include "ceph/mirror_clients.h"
#include "replication/demotion_mark.h"
#include "replication/rescue_record.h"
#include "replication/session.h"

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
  Demotion(OperationContext& context, ReplicationEnvironment& environment,
           Session& session)
      : context_(context), environment_(environment), session_(session) {}

  absl::Status Run();

 private:
  absl::Status RefuseWorkloads();
  bool IsCurrent(const MirrorView& view, const SiteView& peer);
  absl::StatusOr<bool> Followed(const MirrorView& view);
  absl::Status WaitForFollower(MirrorView view);
  absl::StatusOr<bool> PublishedAndUnwatched();
  absl::Status DemotePrimary();
  absl::Status Repair(const MirrorView& view);
  absl::Status Failed(absl::StatusCode code, const std::string& reason) const;

  OperationContext& context_;
  /// Reports of one peer during this call.
  struct Rewrites {
    int64_t last_update = 0;
    int count = 0;  // how often it was rewritten
  };

  ReplicationEnvironment& environment_;
  Session& session_;
  std::map<std::string, Rewrites> rewrites_;  // by mirror uuid
};

/// Not primary, and its own demotion never became whole.
bool HalfDone(const MirrorView& view) {
  const MirrorSnapshot* newest = view.Newest();
  return !view.info.primary && view.info.mode != MirrorMode::kJournal &&
         newest != nullptr && !newest->complete &&
         newest->kind == MirrorSnapshotKind::kPrimaryDemoted;
}

absl::Status Demotion::Failed(absl::StatusCode code,
                              const std::string& reason) const {
  return FailedTo("demote", session_.volume, code, reason);
}

absl::Status Demotion::Run() {
  context_.Step("looking at the image");
  ADDONS_ASSIGN_OR_RETURN(MirrorView view,
                          Look(context_, environment_, session_));
  if (!view.enabled()) {
    return Failed(absl::StatusCode::kFailedPrecondition,
                  "replication is not enabled");
  }
  environment_.tracker.ForgetPeerPrimary(view.tracker_key);
  ADDONS_ASSIGN_OR_RETURN(
      const auto rescue,
      ReadRescueRecord(*session_.reads, session_.volume.image_name()));
  if (rescue.has_value() && AwaitsRestore(*rescue, view)) {
    return Failed(absl::StatusCode::kUnavailable,
                  DescribeAwaitedRestore(session_.volume.image_name()));
  }
  for (int repair = 0; repair <= kRepairs; ++repair) {
    if (!view.info.primary) {
      if (!HalfDone(view)) return absl::OkStatus();
      ADDONS_RETURN_IF_ERROR(Repair(view));
    }
    ADDONS_RETURN_IF_ERROR(WaitForFollower(view));
    ADDONS_RETURN_IF_ERROR(DemotePrimary());
    ADDONS_ASSIGN_OR_RETURN(view, Look(context_, environment_, session_));
  }
  if (!view.info.primary && !HalfDone(view)) return absl::OkStatus();
  return Failed(
      absl::StatusCode::kUnavailable,
      view.info.primary
          ? "the image is still primary after a demotion that reported "
            "success; repeat the call"
          : "the demotion snapshot does not become complete; check the "
            "cluster's health and repeat the call");
}

absl::Status Demotion::Repair(const MirrorView& view) {
  for (const SiteView& peer : view.peers) {
    if (peer.role == SiteRole::kPrimary &&
        peer.age < environment_.options.settle_time) {
      return Failed(
          absl::StatusCode::kUnavailable,
          absl::StrCat("an earlier demotion is half-done and cannot be "
                       "repaired, because ",
                       SiteName(*session_.reads, peer.status.mirror_uuid),
                       " is primary; resync this image"));
    }
  }
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("repairing a half-done demotion");
  Log().warn("repairing a half-done demotion volume={} snapshot={}",
             Quoted(session_.volume.volume_id), view.Newest()->id);
  return ChangeImage(session_.volume, [](Image& image) {
    return image.MirrorPromote(Force::kNo);
  });
}

absl::Status Demotion::RefuseWorkloads() {
  auto image = session_.reads->OpenImageReadOnly(session_.volume.image_name());
  if (!image.ok()) return AfterResolve(image.status(), session_.volume);
  ADDONS_ASSIGN_OR_RETURN(
      const std::vector<Watcher> workloads,
      ListWorkloads(session_.cluster(), *session_.reads, **image));
  if (workloads.empty()) return absl::OkStatus();
  return Failed(
      absl::StatusCode::kFailedPrecondition,
      absl::StrCat("the image is in use by ", DescribeWatchers(workloads),
                   "; stop the workload (a client that died is gone "
                   "from this list after 30 s)"));
}

/// What `peer` reports is about the time since this site became primary, and
/// not an older text that rbd-mirror wrote once more before it looked again.
bool Demotion::IsCurrent(const MirrorView& view, const SiteView& peer) {
  Rewrites& seen = rewrites_[peer.status.mirror_uuid];
  if (seen.last_update != peer.status.last_update) {
    if (seen.last_update != 0) ++seen.count;
    seen.last_update = peer.status.last_update;
  }
  const bool secondary = peer.role == SiteRole::kSecondary;
  if (seen.count >= (secondary ? 1 : 2)) return true;
  const std::optional<int64_t> since = view.PrimarySince();
  return since.has_value() && peer.status.last_update >=
                                  *since + (secondary ? 0 : kReportLag.count());
}

/// A peer copies from this image, or cannot. One that has not noticed yet that
/// this site is primary must not lose its chance: when both sides are demoted,
/// nothing is copied any more, and its next promote would return to the state
/// before this site became primary.
absl::StatusOr<bool> Demotion::Followed(const MirrorView& view) {
  if (view.info.mode != MirrorMode::kJournal) {
    auto image =
        session_.reads->OpenImageReadOnly(session_.volume.image_name());
    if (!image.ok()) return AfterResolve(image.status(), session_.volume);
    ADDONS_ASSIGN_OR_RETURN(const bool open_by_mirror,
                            MirrorFollows(*session_.reads, **image));
    if (open_by_mirror) return true;
  }
  for (const SiteView& peer : view.peers) {
    if (!IsCurrent(view, peer)) continue;
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

absl::Status Demotion::WaitForFollower(MirrorView view) {
  if (context_.mutating()) return absl::OkStatus();
  while (view.info.primary) {
    ADDONS_RETURN_IF_ERROR(RefuseWorkloads());
    ADDONS_ASSIGN_OR_RETURN(const bool followed, Followed(view));
    if (followed) break;
    context_.Step("waiting until the peer follows this site");
    context_.SetPending(Failed(
        absl::StatusCode::kUnavailable,
        "no peer has noticed yet that this site is primary; demoted now, its "
        "copy would stay behind for ever; check that rbd-mirror of the other "
        "site runs (`rbd mirror pool status`)"));
    ADDONS_RETURN_IF_ERROR(
        context_.SleepFor(environment_.options.poll_interval));
    ADDONS_ASSIGN_OR_RETURN(view, Look(context_, environment_, session_));
  }
  context_.SetPending(absl::OkStatus());
  return absl::OkStatus();
}

absl::StatusOr<bool> Demotion::PublishedAndUnwatched() {
  auto image = session_.reads->OpenImageReadOnly(session_.volume.image_name());
  if (!image.ok()) return AfterResolve(image.status(), session_.volume);
  ADDONS_ASSIGN_OR_RETURN(const auto metadata,
                          (*image)->ListMetadata(kPublishPrefix));
  for (const auto& [key, value] : metadata) {
    if (absl::StrContains(key, "/clientaddress/") ||
        absl::StrContains(key, "/userid/")) {
      Log().warn(
          "volume={} is still marked as published by key={}, but nobody has it "
          "open",
          Quoted(session_.volume.volume_id), Quoted(key));
      return true;
    }
  }
  return false;
}

absl::Status Demotion::DemotePrimary() {
  ADDONS_RETURN_IF_ERROR(RefuseWorkloads());
  if (!context_.mutating()) {
    ADDONS_ASSIGN_OR_RETURN(const bool published, PublishedAndUnwatched());
    if (published) {
      // Its client may be between two watches; a mark alone must not stop a
      // failover for ever.
      context_.Step("waiting whether the workload comes back");
      context_.SetPending(
          Failed(absl::StatusCode::kUnavailable,
                 "the volume is still marked as published; looking once more"));
      ADDONS_RETURN_IF_ERROR(
          context_.SleepFor(environment_.options.watch_timeout));
      context_.SetPending(absl::OkStatus());
      ADDONS_RETURN_IF_ERROR(RefuseWorkloads());
    }
  }
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("demoting");
  return ChangeImage(session_.volume, [&](Image& image) -> absl::Status {
    ADDONS_ASSIGN_OR_RETURN(const auto known, image.Metadata(kDemotionMark));
    if (!known.has_value()) {
      ADDONS_ASSIGN_OR_RETURN(const Timestamp created, image.CreateTimestamp());
      ADDONS_RETURN_IF_ERROR(
          image.SetMetadata(kDemotionMark, DemotionMark(created)));
    }
    ADDONS_RETURN_IF_ERROR(image.MirrorDemote());
    // librbd protects nobody: who opened the image since we looked gets EROFS.
    const auto workloads =
        ListWorkloads(session_.cluster(), *session_.reads, image);
    if (workloads.ok() && !workloads->empty()) {
      Log().warn(
          "volume={} was opened while it was demoted; these clients cannot "
          "write "
          "any more: {}",
          Quoted(session_.volume.volume_id), DescribeWatchers(*workloads));
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status Demote(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const DemoteRequest& request) {
  return RunWithSession(context, environment, request.target,
                        [&](Session& session) {
                          return Demotion(context, environment, session).Run();
                        });
}

}  // namespace addons
