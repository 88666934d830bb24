#include "inspection/verb_forecasts.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/mirror_clients.h"
#include "ceph/pinned_options.h"
#include "replication/decide/demote.h"
#include "replication/decide/disable.h"
#include "replication/look/mirrored_clone.h"
#include "replication/look/peers.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"
#include "replication/steps/disable.h"
#include "replication/steps/parent.h"
#include "replication/steps/resync.h"

namespace addons {

OpenedFacts ReadOpenedFacts(ReplicationEnvironment& environment,
                            const OpenedVolume& opened, Image& image,
                            std::vector<std::string>* unseen) {
  OpenedFacts facts;
  const auto miss = [unseen](absl::string_view what,
                             const absl::Status& status) {
    unseen->push_back(absl::StrCat(what, ": ", status.message()));
  };
  const auto take = [&miss](const char* what, auto result, auto* into) {
    if (result.ok()) {
      *into = *std::move(result);
    } else {
      miss(what, result.status());
    }
  };
  take("who has the image open", image.Watchers(), &facts.watchers);
  take("the clients of rbd-mirror", ListMirrorClients(*opened.reads),
       &facts.mirror_clients);
  take("who has the image's lock", image.Lockers(), &facts.lockers);
  take("what ceph-csi has noted", image.ListMetadata(kPublishPrefix),
       &facts.published);
  take("the image's group", image.Group(), &facts.group);
  take("which of its clones are mirrored",
       MirroredClones(opened.cluster(), image), &facts.mirrored_clones);
  facts.clients = FindClients(opened, environment.leases, image);
  if (!facts.clients.ok()) {
    miss("who of them is a workload", facts.clients.status());
  }
  return facts;
}

Forecast ForecastDemote(
    ReplicationEnvironment& environment, const OpenedVolume& opened,
    const MirrorView& view,
    const absl::StatusOr<std::optional<RescueRecord>>& rescue,
    const OpenedFacts& facts) {
  if (!rescue.ok()) return NotSeen(rescue.status());
  const bool primary = view.enabled() && view.info.primary;
  if (primary && !facts.clients.ok()) return NotSeen(facts.clients.status());
  const std::vector<Watcher> nobody;
  const ImageName& image = opened.volume.image_name();
  // A call waits for the next report where this process has seen one only.
  MirrorView awaited = view;
  AssumeReportedBefore(&awaited);
  const SiteNameFn names = SiteNamesOf(*opened.reads);
  DemoteSeen seen{.view = awaited,
                  .rescue = *rescue,
                  .site_name = names,
                  .settle = environment.options.settle_time,
                  .spec = opened.volume.ImageSpec(),
                  .rescue_spec = opened.volume.Spec(RescueImageName(image)),
                  .image = image,
                  .workloads = primary ? facts.clients->workloads : nobody,
                  .open_by_mirror = primary && facts.clients->mirror &&
                                    view.info.mode != MirrorMode::kJournal,
                  .published = facts.published};
  if (primary && !FollowerSeen(seen)) {
    const auto peers = opened.reads->MirrorPeers();
    if (!peers.ok()) return NotSeen(peers.status());
    seen.no_peers = peers->empty();
  }
  const Next next = DecideDemote(seen);
  if (next.step != Step::kDemote) return ForecastOf(next);
  if (std::string lock = LockTakenByHand(facts.lockers); !lock.empty()) {
    return {Verdict::kRefuses, absl::StatusCode::kUnavailable, std::move(lock)};
  }
  auto room = ReadSnapshotRoom(*opened.reads, view);
  if (!room.ok()) return NotSeen(room.status());
  // Those are removed first.
  room->present -= SpareSnapshots(view.snapshots).size();
  if (room->For(1)) return ForecastOf(next);
  return {Verdict::kRefuses, absl::StatusCode::kFailedPrecondition,
          DescribeNoRoom(*room, "a demotion makes", opened.volume.ImageSpec())};
}

/// Since when rbd-mirror has had it open without a change only calls know: so
/// long it counts as at work.
Forecast ForecastDisable(
    ReplicationEnvironment& environment, const OpenedVolume& opened,
    const MirrorView& view,
    const absl::StatusOr<std::optional<RescueRecord>>& rescue,
    const OpenedFacts& facts, Force force) {
  if (!rescue.ok()) return NotSeen(rescue.status());
  DisableSeen seen{
      .view = view, .options = environment.options, .force = force};
  const auto awaits_follower =
      AwaitsFollower(opened, view, environment.options.settle_time);
  if (!awaits_follower.ok()) return NotSeen(awaits_follower.status());
  if (*awaits_follower) seen.awaited_for = SteadyDuration::zero();
  // As a call would see it that has looked for a while.
  seen.unchanged_for = SteadyDuration::max();
  if (view.info.state == MirrorImageState::kDisabling &&
      MayBeAtWork(view, seen.plain_refused)) {
    if (!facts.clients.ok()) return NotSeen(facts.clients.status());
    if (!facts.clients->workloads.empty()) {
      seen.at_work = DescribeWatchers(facts.clients->workloads);
    } else if (facts.clients->mirror) {
      seen.at_work = "rbd-mirror of this site";
    }
  }
  seen.obstacle = LockTakenByHand(facts.lockers);
  if (seen.obstacle.empty() && !facts.mirrored_clones.empty()) {
    seen.obstacle = DescribeMirroredClones(facts.mirrored_clones);
  }
  seen.rescue = *rescue;
  seen.rescue_image = RescueImageName(opened.volume.image_name());
  // What is removed first is no matter.
  Next next = FirstOf(DisableTable(), seen, [](const Next& step) {
    return step.step == Step::kRemoveRescue;
  });
  if (next.step != Step::kDisable) return ForecastOf(next);
  for (const SiteView& peer : view.peers) {
    if (!MayHaveGoneOn(peer)) continue;
    next.reason = absl::StrCat(
        "replication ends here; the image of ",
        SiteName(*opened.reads, peer.status.mirror_uuid),
        " does not follow this one, and may stay: look there, and disable it "
        "there as well");
  }
  return ForecastOf(next);
}

Forecast ForecastResync(
    ReplicationEnvironment& environment, const OpenedVolume& opened,
    const MirrorView* view,
    const absl::StatusOr<std::optional<RescueRecord>>& rescue, Force force) {
  if (!rescue.ok()) return NotSeen(rescue.status());
  const absl::StatusOr<Next> next =
      JudgeResync(opened, environment, Counts::kNo, view, *rescue, force);
  if (!next.ok()) return NotSeen(next.status());
  Forecast forecast = ForecastOf(*next);
  // OK, and not ready.
  if (next->answers() && forecast.verdict == Verdict::kWorks) {
    forecast.verdict = Verdict::kWaits;
  }
  return forecast;
}

}  // namespace addons
