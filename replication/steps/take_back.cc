#include "replication/steps/take_back.h"

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/mirror_clients.h"
#include "ceph/pool.h"
#include "replication/look/move_marks.h"
#include "replication/look/peers.h"
#include "replication/look/role_log.h"
#include "replication/steps/write_record.h"

namespace addons {
namespace {

std::string DescribeParted(const std::string& site) {
  return absl::StrCat(site,
                      " reports a split brain since this site took its own "
                      "demotion back: it had gone on from another content");
}

/// Nobody was told that this site is primary. Who finds a primary with the note
/// of a mere demotion cannot know that: `rbd mirror image promote` leaves it.
bool MayYield(const MirrorView& view, Force force) {
  return force == Force::kNo && view.own.demotion.has_value() &&
         view.own.demotion->step != OwnDemotionStep::kDemoted;
}

}  // namespace

std::string DescribeAwaitedFollower(const FollowerVerdict& verdict,
                                    const std::string& site) {
  return absl::StrCat(
      "this site has taken its own demotion back and waits until ", site,
      " follows it; start no workload before (",
      verdict.state == FollowerState::kParted
          ? "it reports a split brain: resync its image there, or, if the "
            "content there is the right one, promote it there by force)"
          : "up to a minute)");
}

std::string DescribeSilentFollower(const std::string& site) {
  return absl::StrCat(
      "this site has taken its own demotion back, and nothing is heard of ",
      site,
      ", which may have been promoted meanwhile; where it was not, force: "
      "nothing that was written here is lost by that");
}

std::string DescribeTaken(const MirrorView& view, Force force,
                          const std::string& site) {
  if (MayYield(view, force)) {
    return absl::StrCat(
        site, " was promoted while this site took its own demotion back");
  }
  return absl::StrCat("this site was promoted by ",
                      force == Force::kYes ? "force" : "another program",
                      " and is primary, but ", site,
                      " has said since that it is primary as well; stop the "
                      "workload on one of the two sites and demote it there, "
                      "then resync it");
}

absl::Status TakeBack::Refuse(const std::string& reason) const {
  return FailedTo("promote", session_.volume, absl::StatusCode::kUnavailable,
                  reason);
}

/// Unless a workload has begun all the same.
absl::Status TakeBack::Yield(const MirrorView& view,
                             const std::string& reason) {
  if (!MayYield(view, Force::kNo)) return Refuse(reason);
  ADDONS_ASSIGN_OR_RETURN(const ImageClients clients, FindClients(session_));
  if (!clients.workloads.empty()) {
    return Refuse(absl::StrCat(reason,
                               ", and this site cannot give the role "
                               "back, because the image is in use by ",
                               DescribeWatchers(clients.workloads)));
  }
  ADDONS_RETURN_IF_ERROR(context_.BeginCorrection());
  context_.Step("demoting again");
  Log().warn("{}; this site is demoted again volume={}", reason,
             Quoted(session_.volume.volume_id.text()));
  ADDONS_RETURN_IF_ERROR(ChangeImage(session_.volume, [&](Image& opened) {
    // Before it, because nothing can be written to a secondary.
    MirrorView written = view;
    LocalRecord record = view.own;
    record.demotion = OwnDemotionMark{OwnDemotionStep::kGivenBack};
    // One that was given back before may have been promoted by another program.
    record.demotion->told_nobody = ToldNobody(view);
    const absl::Status noted = WriteLocalRecord(opened, record, &written);
    return noted.ok() ? opened.MirrorDemote() : noted;
  }));
  ADDONS_ASSIGN_OR_RETURN(const MirrorView after, Look(session_));
  if (!after.info.primary) {
    NoteRoleChange(session_, "primary", RoleName(after),
                   absl::StrCat("demoted again: ", reason));
  }
  return Refuse(absl::StrCat(reason, "; this site has given the role back"));
}

absl::Status TakeBack::ByForce(const MirrorView& view) {
  const FollowerVerdict verdict =
      JudgeFollowers(view, environment_.options.settle_time);
  if (verdict.state == FollowerState::kFollow) return absl::OkStatus();
  const std::string peer = SiteName(*session_.reads, verdict.peer);
  if (verdict.state == FollowerState::kTaken) {
    return Refuse(DescribeTaken(view, Force::kYes, peer));
  }
  Log().warn(
      "this site has taken its own demotion back by force, without waiting "
      "until {} follows it; if that site is promoted now, both are primary "
      "volume={}",
      peer, Quoted(session_.volume.volume_id.text()));
  return absl::OkStatus();
}

absl::Status TakeBack::AwaitFollowers(Force force, const WaitFn& wait,
                                      MirrorView* view) {
  if (force == Force::kYes) return ByForce(*view);
  const SteadyTime begin = context_.clock().Now();
  while (true) {
    const FollowerVerdict verdict =
        JudgeFollowers(*view, environment_.options.settle_time);
    if (verdict.state == FollowerState::kFollow) break;
    const std::string peer = SiteName(*session_.reads, verdict.peer);
    if (verdict.state == FollowerState::kSilent) {
      return FailedTo("promote", session_.volume,
                      absl::StatusCode::kFailedPrecondition,
                      DescribeSilentFollower(peer));
    }
    if (verdict.state == FollowerState::kTaken) {
      return Yield(*view, DescribeTaken(*view, force, peer));
    }
    if (verdict.state == FollowerState::kParted && MayYield(*view, force)) {
      return Yield(*view, DescribeParted(peer));
    }
    const std::string reason = DescribeAwaitedFollower(verdict, peer);
    if (!MayWaitOn(session_, begin)) return Refuse(reason);
    ADDONS_RETURN_IF_ERROR(wait(*view, reason));
    ADDONS_ASSIGN_OR_RETURN(*view, Look(session_));
    if (!view->info.primary) {
      return Refuse("the image was demoted by somebody else meanwhile");
    }
  }
  context_.SetPending(absl::OkStatus());
  return absl::OkStatus();
}

}  // namespace addons
