#include "inspection/explain.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/mirror_clients.h"
#include "ceph/pool.h"
#include "ceph/retry_when_blocklisted.h"
#include "inspection/mirroring_facts.h"
#include "inspection/promote_forecast.h"
#include "inspection/verb_forecasts.h"
#include "lease/target.h"
#include "lease/who_holds.h"
#include "replication/decide/demote.h"
#include "replication/decide/promote.h"
#include "replication/look/mount_restriction.h"
#include "replication/look/nvmeof_export.h"
#include "replication/look/rescue_record.h"
#include "replication/session.h"
#include "replication/steps/health.h"
#include "replication/steps/mirror_schedule.h"
#include "volume/missing_image.h"

namespace addons {
namespace {

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
  /// What is read through the image that the look has open.
  AlsoRead ReadFacts(const OpenedVolume& opened);
  void AddImage(const OpenedVolume& opened, const MirrorView& view);
  void AddClients();
  void AddSchedule(const OpenedVolume& opened, const MirrorView& view);
  void AddRescue(const OpenedVolume& opened,
                 const absl::StatusOr<std::optional<RescueRecord>>& rescue);
  void AddLease(const OpenedVolume& opened);
  /// All but promote.
  void AddOtherVerbs(const OpenedVolume& opened, const MirrorView& view,
                     const absl::StatusOr<std::optional<RescueRecord>>& rescue);

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const VolumeTarget& target_;
  const std::optional<std::chrono::minutes> interval_;
  Explanation explained_;
  OpenedFacts image_;
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

AlsoRead Explaining::ReadFacts(const OpenedVolume& opened) {
  return [this, &opened](Image& image, const MirrorView&) {
    image_ = ReadOpenedFacts(environment_, opened, image, &explained_.unseen);
    return absl::OkStatus();
  };
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
  if (std::string who = DescribeMountRestriction(view); !who.empty()) {
    Add("image", "may be mounted", std::move(who));
  }
  if (std::string where = DescribeNvmeofExport(view.exported); !where.empty()) {
    Add("image", "exported",
        absl::StrCat("as ", where,
                     view.info.primary || view.info.mode == MirrorMode::kJournal
                         ? ""
                         : ", as it was noted here while this site was "
                           "primary"));
  }
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

void Explaining::AddOtherVerbs(
    const OpenedVolume& opened, const MirrorView& view,
    const absl::StatusOr<std::optional<RescueRecord>>& rescue) {
  AddForecast("demote", Force::kNo,
              ForecastDemote(environment_, opened, view, rescue, image_));
  for (const Force force : {Force::kNo, Force::kYes}) {
    AddForecast("resync", force,
                ForecastResync(environment_, opened, &view, rescue, force));
  }
  for (const Force force : {Force::kNo, Force::kYes}) {
    AddForecast(
        "disable", force,
        ForecastDisable(environment_, opened, view, rescue, image_, force));
  }
}

void Explaining::AddUnseenImage(const OpenedVolume& opened,
                                const absl::Status& look) {
  const absl::Status status =
      absl::IsNotFound(look) ? ImageMissing(opened.volume) : look;
  Unseen("the image", status);
  AddForecasts(NotSeen(status));
  if (!absl::IsNotFound(status)) return;
  // To make it anew is what a resync is for.
  for (VerbForecast& verb : explained_.forecasts) {
    if (verb.verb != "resync") continue;
    verb.forecast =
        ForecastResync(environment_, opened, nullptr, std::nullopt, verb.force);
  }
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
                     ReadFacts(*opened));
  if (SaysBlocklisted(view.status())) return view.status();
  if (!view.ok()) {
    AddUnseenImage(*opened, view.status());
    return std::move(explained_.forecasts);
  }
  const auto rescue =
      ReadRescueRecord(*opened->reads, opened->volume.image_name(), &*view);
  AddOtherVerbs(*opened, *view, rescue);
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
                     ReadFacts(*opened));
  if (SaysBlocklisted(view.status())) return view.status();
  if (!view.ok()) {
    AddUnseenImage(*opened, view.status());
    AddLease(*opened);
    return std::move(explained_);
  }
  AddImage(*opened, *view);
  if (const absl::Status read = AddProof(*opened->reads, &*view); !read.ok()) {
    Unseen("what comparisons with points have found", read);
  }
  AddMirroringFacts(environment_, *opened, *view, &explained_.facts);
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
  } else {
    AddForecast("promote", Force::kNo, NotSeen(rescue.status()));
    AddForecast("promote", Force::kYes, NotSeen(rescue.status()));
  }
  AddOtherVerbs(*opened, *view, rescue);
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
