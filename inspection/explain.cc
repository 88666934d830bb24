#include "inspection/explain.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "ceph/mirror_clients.h"
#include "ceph/pinned_options.h"
#include "ceph/pool.h"
#include "ceph/retry_when_blocklisted.h"
#include "inspection/promote_forecast.h"
#include "lease/target.h"
#include "lease/who_holds.h"
#include "replication/decide/demote.h"
#include "replication/decide/disable.h"
#include "replication/decide/promote.h"
#include "replication/decide/resync.h"
#include "replication/image_clients.h"
#include "replication/look/evictions.h"
#include "replication/look/mirrored_clone.h"
#include "replication/look/peers.h"
#include "replication/look/rescue_record.h"
#include "replication/look/role_log.h"
#include "replication/session.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"
#include "replication/steps/disable.h"
#include "replication/steps/health.h"
#include "replication/steps/mirror_schedule.h"
#include "replication/steps/parent.h"
#include "replication/steps/resync.h"

namespace addons {
namespace {

/// What is read through the image that a look has open.
struct ImageFacts {
  std::vector<Watcher> watchers;
  std::vector<Watcher> mirror_clients;  // of the pool
  absl::StatusOr<ImageClients> clients = absl::UnknownError("not looked at");
  std::vector<Locker> lockers;
  std::map<std::string, std::string> published;
  std::optional<GroupSpec> group;
  std::vector<std::string> mirrored_clones;  // of it
};

std::string Seconds(SteadyDuration age) {
  return absl::StrCat(
      std::chrono::duration_cast<std::chrono::seconds>(age).count(), " s");
}

std::string NameOfStep(RescueStep step) {
  switch (step) {
    case RescueStep::kSaving:
      return "the last complete state is being saved";
    case RescueStep::kSaved:
      return "the last complete state is saved";
    case RescueStep::kPromoting:
    case RescueStep::kMarked:
      return "the image is promoted and must get that state back";
    case RescueStep::kWritten:
      return "the image was promoted and written to before it had that state "
             "back";
    case RescueStep::kWhole:
      return "the image has that state again, and no mirror snapshot of it yet";
    case RescueStep::kRestored:
      break;
  }
  return "the image has that state again; the rescue image can go";
}

/// Of a resync: OK, and not ready.
Forecast ForecastOfResync(const absl::StatusOr<Next>& next) {
  if (!next.ok()) return NotSeen(next.status());
  Forecast forecast = ForecastOf(*next);
  if (next->answers() && forecast.verdict == Verdict::kWorks) {
    forecast.verdict = Verdict::kWaits;
  }
  return forecast;
}

/// One explanation, from the id to the forecasts.
class Explaining {
 public:
  Explaining(OperationContext& context, ReplicationEnvironment& environment,
             const VolumeTarget& target,
             std::optional<std::chrono::minutes> interval)
      : context_(context),
        environment_(environment),
        target_(target),
        interval_(interval) {}

  absl::StatusOr<Explanation> Run();
  absl::StatusOr<std::vector<VerbForecast>> RunOtherVerbs();

 private:
  /// The volume's image could not be looked at.
  void AddUnseenImage(const OpenedVolume& opened, const absl::Status& look);
  void Add(std::string topic, std::string name, std::string value) {
    explained_.facts.push_back(
        {std::move(topic), std::move(name), std::move(value)});
  }
  void Unseen(absl::string_view what, const absl::Status& status) {
    explained_.unseen.push_back(absl::StrCat(what, ": ", status.message()));
  }
  void AddForecast(const char* verb, Force force, Forecast forecast) {
    explained_.forecasts.push_back({verb, force, std::move(forecast)});
  }
  /// Of all verbs.
  void AddForecasts(const Forecast& forecast);

  void AddId(const VolumeId& id);
  void AddPlace(const VolumeId& id, const OpenedVolume& opened);
  absl::Status ReadMore(const OpenedVolume& opened, Image& image);
  void AddImage(const OpenedVolume& opened, const MirrorView& view);
  void AddClients();
  void AddMirroring(const OpenedVolume& opened, const MirrorView& view);
  void AddSnapshots(const MirrorView& view);
  void AddSite(const SiteView& site, const std::string& name);
  void AddNotes(const MirrorView& view);
  void AddSchedule(const OpenedVolume& opened, const MirrorView& view);
  void AddRescue(const OpenedVolume& opened,
                 const absl::StatusOr<std::optional<RescueRecord>>& rescue);
  void AddLease(const OpenedVolume& opened);
  void AddResync(const OpenedVolume& opened, const MirrorView* view);
  Forecast OfDemote(const OpenedVolume& opened, const MirrorView& view,
                    const std::optional<RescueRecord>& rescue);
  void AddDisable(const OpenedVolume& opened, const MirrorView& view,
                  const std::optional<RescueRecord>& rescue);
  Forecast OfDisable(const OpenedVolume& opened, const MirrorView& view,
                     const std::optional<RescueRecord>& rescue, Force force);

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const VolumeTarget& target_;
  const std::optional<std::chrono::minutes> interval_;
  Explanation explained_;
  ImageFacts image_;
};

void Explaining::AddForecasts(const Forecast& forecast) {
  for (const char* verb : {"promote", "demote", "resync", "disable"}) {
    AddForecast(verb, Force::kNo, forecast);
    if (std::string_view(verb) != "demote") {
      AddForecast(verb, Force::kYes, forecast);
    }
  }
}

void Explaining::AddId(const VolumeId& id) {
  Add("id", "volume", target_.volume_id.text());
  Add("id", "cluster", id.cluster_id.text());
  Add("id", "pool id", absl::StrCat(id.pool_id));
  Add("id", "uuid", id.uuid);
}

void Explaining::AddPlace(const VolumeId& id, const OpenedVolume& opened) {
  const ResolvedVolume& volume = opened.volume;
  Add("place", "cluster",
      absl::StrCat(volume.cluster_id.text(),
                   volume.cluster_id == id.cluster_id
                       ? ""
                       : ", to which the id's is mapped"));
  Add("place", "fsid", opened.cluster().fsid());
  Add("place", "pool",
      absl::StrCat(volume.pool_name, " (id ", volume.pool_id, ")"));
  if (!volume.rados_namespace.empty()) {
    Add("place", "namespace", volume.rados_namespace);
  }
  const VolumeAttributes& journal = volume.attributes;
  Add("journal", "name", journal.request_name);
  Add("journal", "image", journal.image_name.text());
  Add("journal", "image id",
      journal.image_id.empty() ? "none: its creation is unfinished"
                               : journal.image_id);
  if (!journal.owner.empty()) Add("journal", "owner", journal.owner);
  if (!journal.kms_id.empty()) Add("journal", "kms", journal.kms_id);
}

/// What cannot be read here is no reason not to look at the rest.
absl::Status Explaining::ReadMore(const OpenedVolume& opened, Image& image) {
  const auto take = [this](const char* what, auto result, auto* into) {
    if (result.ok()) {
      *into = *std::move(result);
    } else {
      Unseen(what, result.status());
    }
  };
  take("who has the image open", image.Watchers(), &image_.watchers);
  take("the clients of rbd-mirror", ListMirrorClients(*opened.reads),
       &image_.mirror_clients);
  take("who has the image's lock", image.Lockers(), &image_.lockers);
  take("what ceph-csi has noted", image.ListMetadata(kPublishPrefix),
       &image_.published);
  take("the image's group", image.Group(), &image_.group);
  take("which of its clones are mirrored",
       MirroredClones(opened.cluster(), image), &image_.mirrored_clones);
  image_.clients = FindClients(opened, environment_.leases, image);
  if (!image_.clients.ok()) {
    Unseen("who of them is a workload", image_.clients.status());
  }
  return absl::OkStatus();
}

void Explaining::AddImage(const OpenedVolume& opened, const MirrorView& view) {
  const ResolvedVolume& volume = opened.volume;
  Add("image", "name", volume.ImageSpec());
  Add("image", "id",
      absl::StrCat(view.image_id,
                   view.image_id == volume.attributes.image_id ||
                           volume.attributes.image_id.empty()
                       ? ""
                       : ", which the journal does not say yet"));
  Add("image", "size",
      absl::StrCat(view.size.bytes, " bytes in ", view.size.objects,
                   " objects"));
  Add("image", "created", FormatUnixSeconds(view.created.seconds));
  Add("image", "parent",
      view.parent.has_value()
          ? absl::StrCat(view.parent->Spec(),
                         view.parent->in_trash ? ", which is in the trash" : "")
          : "none");
  if (image_.group.has_value()) Add("image", "group", image_.group->name);
  AddClients();
}

void Explaining::AddClients() {
  for (const Watcher& watcher : image_.watchers) {
    std::string who = "another rbd-addonsd, or this one";
    if (HasClient(image_.mirror_clients, watcher.client_id)) {
      who = "rbd-mirror";
    } else if (!image_.clients.ok()) {
      who = "unclear";
    } else if (HasClient(image_.clients->workloads, watcher.client_id)) {
      who = "a workload";
    }
    Add("image", absl::StrCat("client.", watcher.client_id),
        absl::StrCat(who, ", at ", watcher.address));
  }
  for (const Locker& locker : image_.lockers) {
    Add("image", "lock",
        absl::StrCat("held by ", locker.client, " at ", locker.address));
  }
  // Nothing else of what has that prefix: ceph-csi keeps keys there, too.
  if (const std::string mark = PublishedMark(image_.published); !mark.empty()) {
    Add("image", "published",
        absl::StrCat(mark, " = ", image_.published.at(mark)));
  }
}

void Explaining::AddSnapshots(const MirrorView& view) {
  const auto text = [&](const MirrorSnapshot& snapshot) {
    return absl::StrCat(
        "id ", snapshot.id, ", ", Name(snapshot.kind), ", ",
        snapshot.complete ? "complete" : "not complete", ", here since ",
        FormatUnixSeconds(
            std::chrono::system_clock::to_time_t(snapshot.created)));
  };
  const MirrorSnapshot* newest = view.Newest();
  if (newest == nullptr) return;
  Add("mirroring", "newest snapshot", text(*newest));
  if (const std::string progress = view.CopyProgress(); !progress.empty()) {
    Add("mirroring", "copying", progress);
  }
  const MirrorSnapshot* whole = view.LastComplete();
  if (whole != nullptr && whole != newest) {
    Add("mirroring", "last complete snapshot", text(*whole));
  }
}

void Explaining::AddSite(const SiteView& site, const std::string& name) {
  Add("mirroring", name,
      absl::StrCat("rbd-mirror is ", site.status.up ? "up" : "down", ", says '",
                   Name(site.status.state), ": ", site.status.description,
                   "' at ", site.ReportedAt(),
                   WholeSeconds(site.age) == 0
                       ? std::string()
                       : absl::StrCat(", not rewritten for at least ",
                                      Seconds(site.age))));
}

/// What this daemon has noted of earlier calls.
void Explaining::AddNotes(const MirrorView& view) {
  if (AwaitsFollowers(view, environment_.options.settle_time)) {
    Add("mirroring", "own demotion",
        "taken back, and the peers do not follow yet");
  } else if (view.Yielded()) {
    Add("mirroring", "own demotion",
        "given back to a site that was primary, whose content is not here");
  } else if (view.own.demotion.has_value() && !view.info.primary) {
    Add("mirroring", "own demotion", "this site has demoted its image");
  }
  if (view.refused_demotion.has_value()) {
    Add("mirroring", "refused demotion",
        absl::StrCat(DescribeRefusedDemotion(*view.refused_demotion),
                     "; known here for ", Seconds(view.refused_demotion_age)));
  }
  if (view.resync_requested) {
    Add("mirroring", "resync", "requested, and not carried out yet");
  }
  if (view.first_copy_pending) {
    Add("mirroring", "first copy", "not complete");
  }
  if (view.marked_non_primary && view.info.primary) {
    Add("mirroring", "writable",
        "no: a promotion died in the middle, or a demotion met the limit of "
        "its snapshots; promote it again");
  }
}

void Explaining::AddMirroring(const OpenedVolume& opened,
                              const MirrorView& view) {
  Add("mirroring", "state", std::string(Name(view.info.state)));
  if (view.info.state == MirrorImageState::kDisabled) return;
  Add("mirroring", "mode", std::string(Name(view.info.mode)));
  Add("mirroring", "role", std::string(RoleName(view)));
  Add("mirroring", "global id", view.info.global_id);
  AddSnapshots(view);
  if (!view.info.primary) {
    Add("mirroring", "forcing returns to", view.RestorePoint());
  }
  if (view.local.has_value()) {
    AddSite(*view.local, "this site");
    if (std::string sent_away =
            WhySilentHere(opened.cluster(), *opened.reads, view,
                          environment_.clock.WallNow());
        !sent_away.empty()) {
      Add("mirroring", "sent away", std::move(sent_away));
    }
  } else {
    Add("mirroring", "this site", "there is no report of its rbd-mirror");
  }
  for (const SiteView& peer : view.peers) {
    AddSite(peer, SiteName(*opened.reads, peer.status.mirror_uuid));
  }
  if (view.peers.empty()) {
    Add("mirroring", "the peer site",
        view.silent_peer_age.has_value()
            ? absl::StrCat(
                  "there is no report of its rbd-mirror on this image, "
                  "also not in the last ",
                  Seconds(*view.silent_peer_age))
            : "has never reported on this image");
  }
  AddNotes(view);
  if (std::string loss = DescribeCloneLoss(view, opened.volume.ImageSpec());
      !loss.empty()) {
    Add("mirroring", "clone", std::move(loss));
  }
}

void Explaining::AddSchedule(const OpenedVolume& opened,
                             const MirrorView& view) {
  if (!view.enabled() || view.info.mode != MirrorMode::kSnapshot) return;
  const std::optional<SnapshotSchedule> wanted = WantedSchedule(view);
  Add("schedule", "wanted",
      wanted.has_value() ? EveryText(*wanted)
                         : "nobody has asked for one here");
  if (view.own.pause.has_value()) {
    Add("schedule", "pause", DescribePause(*view.own.pause));
  }
  const auto applied = ReadAppliedSchedules(environment_, opened, view.image_id,
                                            ResolveDeadline(context_));
  if (!applied.ok()) {
    Unseen("the schedule of mirror snapshots", applied.status());
    return;
  }
  if (!applied->own.empty()) {
    Add("schedule", "real", EveryText(applied->own));
  } else if (!applied->inherited.empty()) {
    Add("schedule", "real",
        absl::StrCat(EveryText(applied->inherited),
                     ", of its namespace, pool or cluster"));
  } else {
    Add("schedule", "real", "none");
  }
}

void Explaining::AddRescue(
    const OpenedVolume& opened,
    const absl::StatusOr<std::optional<RescueRecord>>& rescue) {
  if (!rescue.ok()) {
    Unseen("the rescue image", rescue.status());
  } else if (!rescue->has_value()) {
    Add("rescue", "image", "none");
  } else {
    Add("rescue", "image",
        opened.volume.Spec(RescueImageName(opened.volume.image_name())));
    Add("rescue", "step", NameOfStep((*rescue)->step));
  }
}

void Explaining::AddLease(const OpenedVolume& opened) {
  const auto holder = WhoHoldsLease(*opened.reads, LeaseOf(opened.volume));
  if (!holder.ok()) {
    Unseen("which daemon changes the volume", holder.status());
  } else {
    Add("daemons", "lease", holder->empty() ? "nobody has it" : *holder);
  }
}

Forecast Explaining::OfDemote(const OpenedVolume& opened,
                              const MirrorView& view,
                              const std::optional<RescueRecord>& rescue) {
  const bool primary = view.enabled() && view.info.primary;
  if (primary && !image_.clients.ok()) return NotSeen(image_.clients.status());
  const std::vector<Watcher> nobody;
  const ImageName& image = opened.volume.image_name();
  // A call waits for the next report where this process has seen one only.
  MirrorView awaited = view;
  AssumeReportedBefore(&awaited);
  const SiteNameFn names = SiteNamesOf(*opened.reads);
  DemoteSeen seen{.view = awaited,
                  .rescue = rescue,
                  .site_name = names,
                  .settle = environment_.options.settle_time,
                  .spec = opened.volume.ImageSpec(),
                  .rescue_spec = opened.volume.Spec(RescueImageName(image)),
                  .image = image,
                  .workloads = primary ? image_.clients->workloads : nobody,
                  .open_by_mirror = primary && image_.clients->mirror &&
                                    view.info.mode != MirrorMode::kJournal,
                  .published = image_.published};
  if (primary && !FollowerSeen(seen)) {
    const auto peers = opened.reads->MirrorPeers();
    if (!peers.ok()) return NotSeen(peers.status());
    seen.no_peers = peers->empty();
  }
  const Next next = DecideDemote(seen);
  if (next.step != Step::kDemote) return ForecastOf(next);
  if (std::string lock = LockTakenByHand(image_.lockers); !lock.empty()) {
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

void Explaining::AddResync(const OpenedVolume& opened, const MirrorView* view) {
  for (const Force force : {Force::kNo, Force::kYes}) {
    AddForecast("resync", force,
                ForecastOfResync(JudgeResync(opened, environment_, Counts::kNo,
                                             view, force)));
  }
}

/// Since when rbd-mirror has had it open without a change only calls know: so
/// long it counts as at work.
Forecast Explaining::OfDisable(const OpenedVolume& opened,
                               const MirrorView& view,
                               const std::optional<RescueRecord>& rescue,
                               Force force) {
  DisableSeen seen{
      .view = view, .options = environment_.options, .force = force};
  const auto awaits_follower =
      AwaitsFollower(opened, view, environment_.options.settle_time);
  if (!awaits_follower.ok()) return NotSeen(awaits_follower.status());
  if (*awaits_follower) seen.awaited_for = SteadyDuration::zero();
  // As a call would see it that has looked for a while.
  seen.unchanged_for = SteadyDuration::max();
  if (view.info.state == MirrorImageState::kDisabling &&
      MayBeAtWork(view, seen.plain_refused)) {
    if (!image_.clients.ok()) return NotSeen(image_.clients.status());
    if (!image_.clients->workloads.empty()) {
      seen.at_work = DescribeWatchers(image_.clients->workloads);
    } else if (image_.clients->mirror) {
      seen.at_work = "rbd-mirror of this site";
    }
  }
  seen.obstacle = LockTakenByHand(image_.lockers);
  if (seen.obstacle.empty() && !image_.mirrored_clones.empty()) {
    seen.obstacle = DescribeMirroredClones(image_.mirrored_clones);
  }
  seen.rescue = rescue;
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

void Explaining::AddDisable(const OpenedVolume& opened, const MirrorView& view,
                            const std::optional<RescueRecord>& rescue) {
  for (const Force force : {Force::kNo, Force::kYes}) {
    AddForecast("disable", force, OfDisable(opened, view, rescue, force));
  }
}

void Explaining::AddUnseenImage(const OpenedVolume& opened,
                                const absl::Status& look) {
  const absl::Status status =
      absl::IsNotFound(look) ? ImageMissing(opened.volume) : look;
  Unseen("the image", status);
  AddForecast("promote", Force::kNo, NotSeen(status));
  AddForecast("promote", Force::kYes, NotSeen(status));
  AddForecast("demote", Force::kNo, NotSeen(status));
  if (absl::IsNotFound(look)) {
    AddResync(opened, nullptr);
  } else {
    AddForecast("resync", Force::kNo, NotSeen(status));
    AddForecast("resync", Force::kYes, NotSeen(status));
  }
  AddForecast("disable", Force::kNo, NotSeen(status));
  AddForecast("disable", Force::kYes, NotSeen(status));
}

absl::StatusOr<std::vector<VerbForecast>> Explaining::RunOtherVerbs() {
  const auto opened = OpenVolume(environment_, target_, Access::kMutate,
                                 ResolveDeadline(context_));
  if (SaysBlocklisted(opened.status())) return opened.status();
  if (!opened.ok()) {
    AddForecasts(NotSeen(opened.status()));
    return std::move(explained_.forecasts);
  }
  auto view = LookAt(opened->volume, *opened->reads, environment_.timeline,
                     [&](Image& image, const MirrorView&) {
                       return ReadMore(*opened, image);
                     });
  if (SaysBlocklisted(view.status())) return view.status();
  if (!view.ok()) {
    AddUnseenImage(*opened, view.status());
    return std::move(explained_.forecasts);
  }
  const auto rescue =
      ReadRescueRecord(*opened->reads, opened->volume.image_name(), &*view);
  if (rescue.ok()) {
    AddForecast("demote", Force::kNo, OfDemote(*opened, *view, *rescue));
    AddDisable(*opened, *view, *rescue);
  } else {
    AddForecast("demote", Force::kNo, NotSeen(rescue.status()));
    AddForecast("disable", Force::kNo, NotSeen(rescue.status()));
    AddForecast("disable", Force::kYes, NotSeen(rescue.status()));
  }
  AddResync(*opened, &*view);
  return std::move(explained_.forecasts);
}

absl::StatusOr<Explanation> Explaining::Run() {
  ADDONS_ASSIGN_OR_RETURN(const VolumeId id, target_.volume_id.id());
  AddId(id);
  context_.Step("finding the volume");
  // On the cluster where the verbs would look for it.
  const auto opened = OpenVolume(environment_, target_, Access::kMutate,
                                 ResolveDeadline(context_));
  if (absl::IsUnauthenticated(opened.status()) ||
      SaysBlocklisted(opened.status())) {
    return opened.status();
  }
  if (!opened.ok()) {
    Unseen("the volume", opened.status());
    AddForecasts(NotSeen(opened.status()));
    return std::move(explained_);
  }
  AddPlace(id, *opened);
  context_.Step("looking at the image");
  auto view = LookAt(opened->volume, *opened->reads, environment_.timeline,
                     [&](Image& image, const MirrorView&) {
                       return ReadMore(*opened, image);
                     });
  if (SaysBlocklisted(view.status())) return view.status();
  if (!view.ok()) {
    AddUnseenImage(*opened, view.status());
    AddLease(*opened);
    return std::move(explained_);
  }
  AddImage(*opened, *view);
  AddMirroring(*opened, *view);
  context_.Step("asking the manager for the schedule");
  AddSchedule(*opened, *view);
  const auto rescue =
      ReadRescueRecord(*opened->reads, opened->volume.image_name(), &*view);
  AddRescue(*opened, rescue);
  AddLease(*opened);

  context_.Step("looking ahead");
  if (rescue.ok()) {
    PromotePreview preview(environment_, WholePoolKey(opened->volume));
    if (NeedsClocks(*view, Force::kNo)) {
      preview.List(opened->cluster(), *opened->reads);
    }
    PromoteForecast promote =
        preview.Of(*view, *rescue, opened->cluster().fsid(),
                   opened->volume.rados_namespace, interval_);
    ForecastRoom(*opened, *view, &promote);
    if (!view->info.primary) {
      ForecastLock(image_.lockers, &promote);
    }
    AddForecast("promote", Force::kNo, std::move(promote.planned));
    AddForecast("promote", Force::kYes, std::move(promote.forced));
    AddForecast("demote", Force::kNo, OfDemote(*opened, *view, *rescue));
  } else {
    AddForecast("promote", Force::kNo, NotSeen(rescue.status()));
    AddForecast("promote", Force::kYes, NotSeen(rescue.status()));
    AddForecast("demote", Force::kNo, NotSeen(rescue.status()));
  }
  AddResync(*opened, &*view);
  if (rescue.ok()) {
    AddDisable(*opened, *view, *rescue);
  } else {
    AddForecast("disable", Force::kNo, NotSeen(rescue.status()));
    AddForecast("disable", Force::kYes, NotSeen(rescue.status()));
  }
  return std::move(explained_);
}

}  // namespace

absl::StatusOr<Explanation> ExplainVolume(
    OperationContext& context, ReplicationEnvironment& environment,
    const VolumeTarget& target, std::optional<std::chrono::minutes> interval) {
  return RetryWhenBlocklisted(
      [&] { return Explaining(context, environment, target, interval).Run(); });
}

absl::StatusOr<std::vector<VerbForecast>> ForecastOtherVerbs(
    OperationContext& context, ReplicationEnvironment& environment,
    const VolumeTarget& target) {
  return RetryWhenBlocklisted([&] {
    return Explaining(context, environment, target, std::nullopt)
        .RunOtherVerbs();
  });
}

}  // namespace addons
