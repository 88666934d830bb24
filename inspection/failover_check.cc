#include "inspection/failover_check.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/image_name.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "ceph/retry_when_blocklisted.h"
#include "replication/group/members.h"
#include "replication/look/peers.h"
#include "replication/look/role_log.h"
#include "replication/session.h"
#include "replication/steps/health.h"
#include "replication/verb_scope.h"
#include "volume/missing_image.h"
#include "volume/told_entry.h"
#include "volume/volume_directory.h"
#include "volume/volume_id.h"

namespace addons {
namespace {

constexpr size_t kLooksAtOnce = 16;

/// Of a pool.
using KnownProofs = absl::StatusOr<std::map<std::string, KnownProof>>;

/// What one look must bring.
struct Looked {
  MirrorView view;
  std::optional<RescueRecord> rescue;
  absl::Status proof;  // whether it could be read what comparisons have found
};

absl::StatusOr<Looked> LookAtVolume(const OpenedVolume& opened,
                                    Timeline& timeline) {
  auto view = LookAt(opened.volume, *opened.reads, timeline);
  if (absl::IsNotFound(view.status())) return ImageMissing(opened.volume);
  ADDONS_RETURN_IF_ERROR(view.status());
  ADDONS_ASSIGN_OR_RETURN(
      auto rescue,
      ReadRescueRecord(*opened.reads, opened.volume.image_name(), &*view));
  const absl::Status proof = AddProof(*opened.reads, &*view);
  return Looked{*std::move(view), std::move(rescue), proof};
}

/// An image of the pool's listing, whose name only opening it tells. NOT_FOUND:
/// it is gone meanwhile.
absl::StatusOr<Looked> LookAtListed(const ImageStatuses& listed,
                                    OpenedVolume& opened, Timeline& timeline,
                                    const KnownProofs& proofs) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                          opened.reads->OpenImageByIdReadOnly(listed.image_id));
  opened.volume.attributes.image_name = image->name();
  ADDONS_ASSIGN_OR_RETURN(
      MirrorView view,
      LookAt(opened.volume, *opened.reads, *image, &listed.sites, timeline));
  ADDONS_RETURN_IF_ERROR(image->Close());
  ADDONS_ASSIGN_OR_RETURN(
      auto rescue,
      ReadRescueRecord(*opened.reads, opened.volume.image_name(), &view));
  if (proofs.ok()) AddProof(*proofs, &view);
  return Looked{std::move(view), std::move(rescue), proofs.status()};
}

/// What people call the volume; empty: its name says no more than the image's.
std::string NameIn(const VolumeAttributes& entry) {
  return entry.request_name == GeneratedRequestName(entry.image_name)
             ? ""
             : entry.request_name;
}

/// What calls for a volume are answered that has no entry.
absl::Status WithoutEntry() {
  return absl::NotFoundError(
      "ceph-csi's journal on this site has no entry of the image, so calls for "
      "its volume are answered with NOT_FOUND: restore its PersistentVolume "
      "and claim on this site first, or write the entry with `rbd-addons "
      "adopt`");
}

/// The findings of one call, made by several threads, each its own.
class Check {
 public:
  Check(OperationContext& context, ReplicationEnvironment& environment,
        std::optional<std::chrono::minutes> interval)
      : context_(context), environment_(environment), interval_(interval) {}

  absl::StatusOr<std::vector<FailoverFinding>> OfVolumes(
      const std::vector<VolumeTarget>& volumes, VerbScope scope);
  absl::StatusOr<FailoverFindings> OfGroups(
      const std::vector<GroupHandle>& groups, const CephUserRef& user);
  absl::StatusOr<std::vector<FailoverFinding>> OfPool(
      const ResolvedPlace& place);
  absl::StatusOr<FailoverFindings> OfPools(
      const std::vector<ResolvedPlace>& places);

 private:
  PromotePreview& PreviewOf(const ResolvedVolume& volume) {
    return *previews_.at(WholePoolKey(volume));
  }
  void List(const OpenedVolume& opened);
  void Fill(const OpenedVolume& opened, const absl::StatusOr<Looked>& looked,
            VerbScope scope, FailoverFinding* finding);
  static void NameVolume(const OpenedVolume& opened, FailoverFinding* finding);
  absl::StatusOr<std::vector<FailoverFinding>> Result(
      const std::vector<absl::Status>& looks,
      std::vector<FailoverFinding> findings) const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const std::optional<std::chrono::minutes> interval_;
  std::map<std::string, std::unique_ptr<PromotePreview>> previews_;  // of pools
  std::set<std::string> listed_;  // pools and namespaces
};

void SetBoth(const absl::Status& status, PromoteForecast* forecast) {
  forecast->planned = NotSeen(status);
  forecast->forced = forecast->planned;
}

/// What a primary writes is not copied meanwhile: the other site would return
/// to what it has.
void NotePause(const MirrorView& view, PromoteForecast* forecast) {
  if (!view.enabled() || !view.info.primary || !view.own.pause.has_value()) {
    return;
  }
  for (Forecast* const each : {&forecast->planned, &forecast->forced}) {
    absl::StrAppend(&each->reason, each->reason.empty() ? "" : "; ",
                    DescribePause(*view.own.pause));
  }
}

void Check::List(const OpenedVolume& opened) {
  auto& preview = previews_[WholePoolKey(opened.volume)];
  if (preview == nullptr) {
    preview = std::make_unique<PromotePreview>(environment_,
                                               WholePoolKey(opened.volume));
  }
  if (!listed_.insert(PoolKey(opened.volume)).second) return;
  preview->List(opened.cluster(), *opened.reads);
}

void Check::Fill(const OpenedVolume& opened,
                 const absl::StatusOr<Looked>& looked, VerbScope scope,
                 FailoverFinding* finding) {
  finding->image = opened.volume.ImageSpec();
  finding->cluster_id = opened.volume.cluster_id;
  finding->volume_name = NameIn(opened.volume.attributes);
  if (!looked.ok()) {
    SetBoth(looked.status(), &finding->forecast);
    return;
  }
  finding->role = std::string(RoleName(looked->view));
  finding->claim = looked->view.claim;
  finding->proof =
      looked->proof.ok()
          ? DescribeProof(looked->view.proof)
          : absl::StrCat("what comparisons have found cannot be read: ",
                         looked->proof.message());
  finding->forecast =
      PreviewOf(opened.volume)
          .Of(looked->view, looked->rescue, opened.cluster().fsid(),
              opened.volume.rados_namespace, interval_, scope);
  ForecastRoom(opened, looked->view, &finding->forecast);
  NotePause(looked->view, &finding->forecast);
  const SteadyDuration settle = environment_.options.settle_time;
  const SiteView* primary =
      FindPeer(looked->view, Says::kPrimary, Word::kBefore, settle);
  if (primary != nullptr) {
    finding->primary_elsewhere =
        PreviewOf(opened.volume).SiteNameOf(primary->status.mirror_uuid);
  }
  finding->others_report = looked->view.AnyFreshPeer(settle);
  finding->split_brain = looked->view.SplitBrain();
}

/// No verb finds a volume that the journal does not have, whatever its image
/// looks like.
void Check::NameVolume(const OpenedVolume& opened, FailoverFinding* finding) {
  const auto entry =
      FindEntryOfImage(*opened.reads, opened.volume.image_name());
  auto id = entry.ok() ? VolumeId{.cluster_id = opened.volume.cluster_id,
                                  .pool_id = opened.volume.pool_id,
                                  .uuid = entry->uuid}
                             .ToString()
                       : entry.status();
  if (id.ok()) {
    finding->volume_id = *std::move(id);
    finding->volume_name = NameIn(entry->attributes);
    return;
  }
  finding->without_entry = absl::IsNotFound(id.status());
  finding->forecast = PromoteForecast();
  SetBoth(finding->without_entry ? WithoutEntry() : id.status(),
          &finding->forecast);
}

/// What cannot be seen is a finding, but for this: the next look can.
absl::StatusOr<std::vector<FailoverFinding>> Check::Result(
    const std::vector<absl::Status>& looks,
    std::vector<FailoverFinding> findings) const {
  if (context_.stop_token().stop_requested()) {
    return absl::CancelledError("nobody waits for the check any more");
  }
  for (const absl::Status& look : looks) {
    if (SaysBlocklisted(look)) return look;
  }
  return findings;
}

absl::StatusOr<std::vector<FailoverFinding>> Check::OfVolumes(
    const std::vector<VolumeTarget>& volumes, VerbScope scope) {
  std::vector<FailoverFinding> findings(volumes.size());
  std::vector<absl::StatusOr<OpenedVolume>> opened;
  for (size_t i = 0; i < volumes.size(); ++i) {
    findings[i].volume_id = volumes[i].volume_id.text();
    opened.emplace_back(absl::CancelledError("not looked for"));
  }
  const std::stop_token stop = context_.stop_token();
  context_.Step("finding the volumes");
  const SteadyTime deadline = ResolveDeadline(context_);
  RunParallel(volumes.size(), kLooksAtOnce, [&](size_t i) {
    if (stop.stop_requested()) return;
    // On the cluster where a promotion would look for it.
    opened[i] = OpenVolume(environment_, volumes[i], Access::kMutate, deadline);
  });
  context_.Step("reading the statuses of the pools");
  for (const auto& volume : opened) {
    if (volume.ok()) List(*volume);
  }
  context_.Step("looking at the images");
  std::vector<absl::Status> looks(volumes.size());
  RunParallel(volumes.size(), kLooksAtOnce, [&](size_t i) {
    if (stop.stop_requested()) return;
    if (!opened[i].ok()) {
      looks[i] = opened[i].status();
      SetBoth(looks[i], &findings[i].forecast);
      return;
    }
    const auto looked = LookAtVolume(*opened[i], environment_.timeline);
    looks[i] = looked.status();
    Fill(*opened[i], looked, scope, &findings[i]);
  });
  return Result(looks, std::move(findings));
}

absl::StatusOr<FailoverFindings> Check::OfGroups(
    const std::vector<GroupHandle>& groups, const CephUserRef& user) {
  std::vector<absl::StatusOr<JournalMembers>> read(
      groups.size(), absl::CancelledError("not read"));
  const std::stop_token stop = context_.stop_token();
  context_.Step("reading the groups");
  const SteadyTime deadline = ResolveDeadline(context_);
  RunParallel(groups.size(), kLooksAtOnce, [&](size_t i) {
    if (stop.stop_requested()) return;
    read[i] =
        ReadGroupMembers(environment_.resolver, groups[i], user, deadline);
  });
  std::vector<VolumeTarget> targets;
  for (const auto& members : read) {
    if (SaysBlocklisted(members.status())) return members.status();
    if (!members.ok()) continue;
    for (const VolumeHandle& volume : members->volumes) {
      targets.push_back({volume, user, members->fsid()});
    }
  }
  FailoverFindings found;
  ADDONS_ASSIGN_OR_RETURN(found.volumes,
                          OfVolumes(targets, VerbScope::kGroupMember));
  size_t next = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (!read[i].ok()) {
      found.groups.push_back(UnseenGroup(groups[i], read[i].status()));
      continue;
    }
    std::vector<MemberForecast> members;
    for (const VolumeHandle& volume : read[i]->volumes) {
      FailoverFinding& finding = found.volumes[next++];
      finding.group_id = groups[i].text();
      members.push_back(
          {volume, finding.role == kRolePrimary, finding.forecast});
    }
    found.groups.push_back(ForecastGroup(groups[i], members));
    found.groups.back().name = read[i]->name;
  }
  return found;
}

absl::StatusOr<FailoverFindings> Check::OfPools(
    const std::vector<ResolvedPlace>& places) {
  FailoverFindings found;
  for (const ResolvedPlace& place : places) {
    auto findings = OfPool(place);
    if (absl::IsCancelled(findings.status()) ||
        SaysBlocklisted(findings.status())) {
      return findings.status();
    }
    if (!findings.ok()) {
      found.unseen.push_back(absl::StrCat(
          "pool '", place.pool_name, place.rados_namespace.empty() ? "" : "/",
          place.rados_namespace, "' of cluster '", place.cluster_id.text(),
          "': ", findings.status().message()));
      continue;
    }
    std::move(findings->begin(), findings->end(),
              std::back_inserter(found.volumes));
  }
  return found;
}

absl::StatusOr<std::vector<FailoverFinding>> Check::OfPool(
    const ResolvedPlace& place) {
  context_.Step("reading the statuses of the pool");
  OpenedVolume whole;
  static_cast<ResolvedPlace&>(whole.volume) = place;
  ADDONS_ASSIGN_OR_RETURN(whole.reads, place.OpenPool(Access::kRead));
  ADDONS_ASSIGN_OR_RETURN(const std::vector<ImageStatuses> images,
                          whole.reads->MirrorStatuses());
  List(whole);
  const KnownProofs proofs = ReadProofs(*whole.reads);
  context_.Step("looking at the images");
  const std::stop_token stop = context_.stop_token();
  std::vector<FailoverFinding> findings(images.size());
  std::vector<absl::Status> looks(images.size());
  RunParallel(images.size(), kLooksAtOnce, [&](size_t i) {
    if (stop.stop_requested()) return;
    OpenedVolume opened;
    opened.volume = whole.volume;
    // Until its name is known.
    opened.volume.attributes.image_name =
        ImageName(absl::StrCat("id ", images[i].image_id));
    absl::StatusOr<Looked> looked = absl::UnknownError("not looked at");
    if (auto pool = place.OpenPool(Access::kRead); pool.ok()) {
      opened.reads = *std::move(pool);
      looked = LookAtListed(images[i], opened, environment_.timeline, proofs);
    } else {
      looked = pool.status();
    }
    looks[i] = looked.status();
    Fill(opened, looked, VerbScope::kVolume, &findings[i]);
    if (looked.ok()) NameVolume(opened, &findings[i]);
  });
  std::sort(findings.begin(), findings.end(),
            [](const FailoverFinding& a, const FailoverFinding& b) {
              return a.image < b.image;
            });
  return Result(looks, std::move(findings));
}

}  // namespace

absl::StatusOr<std::vector<FailoverFinding>> CheckFailover(
    OperationContext& context, ReplicationEnvironment& environment,
    const std::vector<VolumeTarget>& volumes,
    std::optional<std::chrono::minutes> interval) {
  return RetryWhenBlocklisted([&] {
    return Check(context, environment, interval)
        .OfVolumes(volumes, VerbScope::kVolume);
  });
}

absl::StatusOr<FailoverFindings> CheckFailoverOfGroups(
    OperationContext& context, ReplicationEnvironment& environment,
    const std::vector<GroupHandle>& groups, const CephUserRef& user,
    std::optional<std::chrono::minutes> interval) {
  return RetryWhenBlocklisted([&] {
    return Check(context, environment, interval).OfGroups(groups, user);
  });
}

absl::StatusOr<std::vector<FailoverFinding>> CheckFailoverOfPool(
    OperationContext& context, ReplicationEnvironment& environment,
    const ResolvedPlace& place, std::optional<std::chrono::minutes> interval) {
  return RetryWhenBlocklisted(
      [&] { return Check(context, environment, interval).OfPool(place); });
}

absl::StatusOr<FailoverFindings> CheckFailoverOfPools(
    OperationContext& context, ReplicationEnvironment& environment,
    const std::vector<ResolvedPlace>& places,
    std::optional<std::chrono::minutes> interval) {
  return RetryWhenBlocklisted(
      [&] { return Check(context, environment, interval).OfPools(places); });
}

}  // namespace addons
