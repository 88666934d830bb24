#include "absl/strings/str_cat.h"
#include "replication/decide/promote_rows.h"
#include "replication/look/peers.h"
#include "replication/look/report.h"
#include "replication/look/rollback_mark.h"

namespace addons {

namespace {

/// Behind what does it. Since its own demotion nothing was written here.
std::string DescribeReturn(const PromoteSeen& s) {
  const auto rollback = ReadRollbackMark(s.view);
  return absl::StrCat(
      " returns to ", s.view.RestorePoint(),
      s.view.OwnDemotion() && s.view.LastComplete() == s.view.Newest()
          ? " and loses only what another site has written "
            "since, if one was primary"
          : " and loses what was written since",
      s.restore_point.empty()
          ? ""
          : absl::StrCat(", and then to point '", s.restore_point, "'"),
      rollback.has_value() ? absl::StrCat("; ", DescribeRollback(*rollback))
                           : "");
}

}  // namespace

std::string Loss(const PromoteSeen& s) {
  return absl::StrCat("forcing", DescribeReturn(s));
}

std::string ReturnsTo(const PromoteSeen& s) {
  return absl::StrCat("it", DescribeReturn(s));
}

std::string DescribeWait(const PromoteSeen& s, bool arrived) {
  const MirrorView& view = s.view;
  const std::string progress = view.CopyProgress();
  std::string reason;
  const MirrorSnapshot* newest = view.Newest();
  if (arrived && NeedsReport(view)) {
    return absl::StrCat(view.OwnDemotion() ? "this site demoted itself; " : "",
                        "waiting for the peer's next report, which tells "
                        "whether it is primary (up to half a minute)");
  }
  const std::string& sent_away = s.clocks.sent_away;
  if (arrived) {
    return absl::StrCat(
        "the demotion has arrived; rbd-mirror of this site, which would tell "
        "whether the peer took the role back since, is down or has not "
        "reported; ",
        sent_away.empty() ? "it does so within half a minute of its start"
                          : sent_away);
  }
  if (const SiteView* peer =
          FindPeer(view, Says::kPrimary, Word::kOutdated, Settle(s));
      peer != nullptr) {
    // rbd-mirror writes a report each half a minute.
    reason = absl::StrCat(
        s.site_name(peer->status.mirror_uuid),
        peer->age < kJustReported
            ? " still reports its image as primary: demote it there"
            : " reported its image as primary, and is silent since: where that "
              "site lives, demote it there");
    if (newest != nullptr && newest->demoted()) {
      absl::StrAppend(&reason, " (or its report is about to change)");
    }
  } else if (newest != nullptr && newest->demoted()) {
    reason = "the peer's demotion has begun to arrive";
  } else {
    reason = "the peer's demotion has not arrived yet";
  }
  if (!progress.empty()) absl::StrAppend(&reason, "; ", progress);
  if (view.local.has_value() && view.local->says == Says::kError) {
    absl::StrAppend(&reason, "; rbd-mirror of this site reports '",
                    DescriptionText(view.local->status.description), "'");
  }
  if (!view.LocalDaemonUp()) {
    absl::StrAppend(&reason, "; ",
                    sent_away.empty()
                        ? "rbd-mirror of this site is down or has not "
                          "reported, nothing can arrive until it runs"
                        : sent_away);
  }
  return reason;
}

std::string DescribeWhyDiverged(const MirrorView& view) {
  if (!view.PeerDiverged() || (!view.Yielded() && !view.resync_requested)) {
    return "rbd-mirror of this site reports a split brain: the other site went "
           "on from another content, and nothing here tells which of the two "
           "is the right one; promote that site, resync this image and move "
           "again";
  }
  if (view.Yielded()) {
    return absl::StrCat(DescribeGivenBack(view, "that site"),
                        ", resync this image and move again");
  }
  return "a resync of this image was requested because another site was "
         "primary, and what was written there since is not here: promote that "
         "site, resync this image and move again";
}

std::string DescribeLocalMirrorDown(const PromoteSeen& s,
                                    SteadyDuration silent) {
  const bool hangs = s.clocks.hangs;
  std::string alive;
  for (const SiteView& peer : s.view.peers) {
    if (!Lives(peer, Settle(s))) continue;
    alive = absl::StrCat(": ", s.site_name(peer.status.mirror_uuid),
                         " is alive, and what was written there arrives then");
  }
  return absl::StrCat(
      "rbd-mirror of this site ", hangs ? "lives and hangs" : "is down",
      ": it has not reported on the image for at least ", WholeSeconds(silent),
      " s, so nothing can arrive; ", hangs ? "restart" : "start",
      " rbd-mirror here", alive, alive.empty() ? ", or " : "; or ", kByHand,
      " (", Loss(s), ")",
      s.clocks.daemons_unread.empty()
          ? ""
          : absl::StrCat("; or it lives and cannot reach the other "
                         "site, which it tells the manager only: ",
                         s.clocks.daemons_unread));
}

std::string DescribeNotYet(const PromoteSeen& s) {
  std::string reason = DescribeWait(s, Arrived(s));
  if (s.view.OneWay() &&
      (!s.interval.has_value() || s.view.info.mode == MirrorMode::kJournal)) {
    absl::StrAppend(&reason,
                    "; mirroring is one-way, so nothing here tells whether the "
                    "other site is alive: if it is dead, ",
                    kByHand, " (", Loss(s), ")");
  }
  return reason;
}

}  // namespace addons
