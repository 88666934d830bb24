#include "watch/pool_look.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "replication/look/evictions.h"
#include "replication/look/image_directory.h"
#include "replication/look/peers.h"
#include "replication/look/report.h"
#include "volume/told_entry.h"
#include "volume/volume_directory.h"
#include "watch/judge_image.h"
#include "watch/turned_image.h"

namespace addons {
namespace {

void Empty(WatchedPool* seen) {
  seen->by_role = {};
  seen->by_health = {};
  seen->broken = {};
  seen->by_copy = {};
  seen->peers.clear();
  seen->images.clear();
  seen->local_mirror_up.reset();
  seen->peer_mirror_up.reset();
  seen->peer_heard_at.reset();
}

/// By what was asked of the image, which `view` is told, else by the reports.
WatchedRole JudgeRole(const std::optional<MirrorImageInfo>& asked,
                      SteadyDuration settle, MirrorView* view) {
  WatchedRole role = RoleByReports(*view, settle);
  if (asked.has_value()) {
    view->info = *asked;
    if (view->enabled()) {
      role = asked->primary ? WatchedRole::kPrimary : WatchedRole::kSecondary;
    }
  }
  view->info.primary = role == WatchedRole::kPrimary;
  return role;
}

/// Whose rbd-mirror has reported on the image of late.
void NoteMirrors(const MirrorView& view, SteadyDuration settle, SteadyTime now,
                 WatchedPool* seen) {
  const auto reports = [settle](const SiteView& site, std::optional<bool>* up) {
    *up = up->value_or(false) || Lives(site, settle);
  };
  if (view.local.has_value()) reports(*view.local, &seen->local_mirror_up);
  for (const SiteView& peer : view.peers) {
    reports(peer, &seen->peer_mirror_up);
    // Nothing is before the first one.
    seen->peer_heard_at =
        std::max(seen->peer_heard_at, std::optional(now - peer.age));
  }
}

/// Those that apply to the image; nullopt: not known.
std::optional<std::vector<SnapshotSchedule>> SchedulesOf(
    const std::optional<PoolSchedules>& schedules,
    const std::string& image_id) {
  if (!schedules.has_value()) return std::nullopt;
  const auto own = schedules->own.find(image_id);
  return own == schedules->own.end() ? schedules->inherited : own->second;
}

void Count(WatchedImage image, WatchedPool* seen) {
  for (size_t i = 0; i < kBrokenCopies; ++i) {
    if (image.Is(static_cast<BrokenCopy>(i))) ++seen->broken.at(i);
  }
  ++seen->by_role.at(static_cast<size_t>(image.role));
  ++seen->by_health.at(static_cast<size_t>(image.health));
  ++seen->by_copy.at(static_cast<size_t>(image.copy));
  seen->images.push_back(std::move(image));
}

/// Where an rbd-mirror of this site is down: that it was sent away; else empty.
std::string WhySilent(Cluster& cluster, Pool& pool,
                      const std::vector<ImageStatuses>& listed,
                      const std::vector<MirrorView>& views, WallTime now) {
  if (std::all_of(views.begin(), views.end(), [](const MirrorView& view) {
        return !view.local.has_value() || view.LocalDaemonUp();
      })) {
    return "";
  }
  return WhySilentHere(cluster, pool, NewestLocalReport(listed), now);
}

}  // namespace

void PoolLook::ReadNames(Pool& pool, const std::vector<ImageStatuses>& listed,
                         const NameOf& name_of) {
  std::map<std::string, Remembered> kept;
  bool unknown = false;
  for (const ImageStatuses& image : listed) {
    Remembered& now = kept[image.image_id];
    const auto before = images_.find(image.image_id);
    if (before != images_.end()) now = std::move(before->second);
    if (now.image.empty()) {
      if (auto named = name_of(image.image_id); named.has_value()) {
        now.image = std::move(named->image);
      }
    }
    unknown |= now.image.empty();
  }
  images_ = std::move(kept);
  const SteadyTime now = clock_.Now();
  if (!unknown ||
      (names_read_at_.has_value() && now - *names_read_at_ < kNamesAgain)) {
    return;
  }
  names_read_at_ = now;
  const auto directory = ReadImageNames(pool);
  if (!directory.ok()) return;  // the id stands for the name
  for (auto& [id, image] : images_) {
    const auto found = directory->find(id);
    if (found != directory->end()) image.image = found->second.text();
  }
}

void PoolLook::AskRoles(OperationContext& context, Pool& pool,
                        const std::vector<MirrorView>& views) {
  // Those after the last one that was asked about come first.
  std::vector<std::string> ids;
  ids.reserve(views.size());
  for (const MirrorView& view : views) ids.push_back(view.image_id);
  std::sort(ids.begin(), ids.end());
  std::rotate(ids.begin(),
              std::upper_bound(ids.begin(), ids.end(), asked_last_), ids.end());
  if (ids.size() > kMostAsked) ids.resize(kMostAsked);
  for (const std::string& id : ids) {
    if (context.stop_token().stop_requested()) return;
    const SteadyTime asked_at = clock_.Now();
    auto info = pool.MirrorInfoById(id);
    if (!info.ok()) return;  // the next look asks again
    images_[id].info = *std::move(info);
    images_[id].asked_at = asked_at;
    asked_last_ = id;
  }
}

void PoolLook::ReadTold(OperationContext& context, Pool& pool,
                        const std::vector<MirrorView>& views,
                        SteadyDuration settle, const NameOf& name_of) {
  const SteadyTime now = clock_.Now();
  size_t again = 0;
  for (const MirrorView& view : views) {
    if (context.stop_token().stop_requested()) return;
    Remembered& image = images_[view.image_id];
    if (RoleByReports(view, settle) == WatchedRole::kPrimary &&
        name_of(view.image_id).has_value()) {
      continue;
    }
    if (image.told_at.has_value() &&
        (now - *image.told_at < kToldAgain || ++again > kMostAsked)) {
      continue;
    }
    const auto header = pool.Header(view.image_id);
    // What is not read now is left as it was, and so is what is silent.
    if (absl::IsUnavailable(header.status())) return;
    image.told_at = now;
    if (!header.ok()) continue;
    image.told.claim = ReadToldClaim(header->metadata);
    image.told.volume_name =
        ReadToldEntry(header->metadata, UuidIn(ImageName(image.image)))
            .request_name;
    if (!header->metadata.contains(kScheduleMark)) {
      image.told.schedule.reset();
      continue;
    }
    const auto record = pool.MirrorRecord(view.image_id);
    if (!record.ok() || !record->has_value()) continue;
    image.told.schedule =
        ReadScheduleMark(header->metadata, (*record)->global_id);
  }
}

std::map<std::string, PoolLook::Turned> PoolLook::TakeTurns(
    const NameOf& name_of, std::vector<MirrorView>* views) {
  const SteadyTime now = clock_.Now();
  std::map<std::string, Turned> turns;
  awaits_reports_ = false;
  for (MirrorView& view : *views) {
    const auto named = name_of(view.image_id);
    if (!named.has_value() || !named->turn.has_value()) continue;
    Turned turned{*named->turn};
    Remembered& known = images_[view.image_id];
    if (turned.turn.at > known.asked_at) known.info.reset();
    if (view.local.has_value() &&
        TellsOfBefore(*view.local, turned.turn, now)) {
      turned.awaits_report = true;
      awaits_reports_ |= now - turned.turn.at < kReportsAwaited;
      LeaveOutWords(&*view.local);
      timeline_.ForgetNumbers(view.timeline_key,
                              view.local->status.mirror_uuid);
    }
    turns.emplace(view.image_id, turned);
  }
  return turns;
}

void PoolLook::ReadSchedules(Cluster& cluster, Pool& pool, WatchedPool* seen) {
  const SteadyTime asked_at = clock_.Now();
  auto read = ReadPoolSchedules(cluster, pool.Spec(""));
  if (read.ok()) {
    manager_answered_ = asked_at;
    schedules_ = *std::move(read);
    seen->schedules_unseen.clear();
  } else {
    seen->schedules_unseen = std::string(read.status().message());
  }
}

/// Of those that are primary and have none.
void PoolLook::LookForPauses(OperationContext& context, Pool& pool,
                             SteadyDuration settle,
                             std::vector<MirrorView>* views) {
  std::vector<std::string> without;
  for (MirrorView& view : *views) {
    const auto schedules = SchedulesOf(schedules_, view.image_id);
    const bool none = schedules.has_value() && schedules->empty();
    if (none && JudgeRole(images_[view.image_id].info, settle, &view) ==
                    WatchedRole::kPrimary) {
      without.push_back(view.image_id);
    }
  }
  pauses_.Look(context, pool, std::move(without));
}

void PoolLook::LookForEntries(OperationContext& context, Pool& pool,
                              const std::string& instance_id,
                              WatchedPool* seen) {
  if (instance_id.empty()) return;
  std::vector<std::string> secondaries;
  for (const WatchedImage& image : seen->images) {
    if (image.role == WatchedRole::kSecondary) {
      secondaries.push_back(image.image);
    }
  }
  entries_.Look(context, pool, instance_id, secondaries, clock_.Now());
  seen->without_entry = entries_.WithoutEntry();
}

void PoolLook::NameImage(const std::string& image_id, const Remembered& known,
                         const NameOf& name_of, WatchedImage* image) {
  image->image =
      known.image.empty() ? absl::StrCat("id ", image_id) : known.image;
  image->volume_name = known.told.volume_name;
  image->claim = known.told.claim;
  auto named = name_of(image_id);
  if (!named.has_value()) return;
  image->volume_id = std::move(named->volume_id);
  if (!named->volume_name.empty()) {
    image->volume_name = std::move(named->volume_name);
  }
  if (!named->claim.empty()) image->claim = std::move(named->claim);
  image->lacks_parent = named->lacks_parent;
  image->awaits_restore = named->awaits_restore;
  image->rolls_back = named->rolls_back;
}

absl::Status PoolLook::Look(OperationContext& context, Cluster& cluster,
                            Pool& pool, SteadyDuration settle,
                            const NameOf& name_of,
                            const std::string& instance_id, WatchedPool* seen) {
  ADDONS_ASSIGN_OR_RETURN(std::vector<ImageStatuses> listed,
                          pool.MirrorStatuses());
  ADDONS_ASSIGN_OR_RETURN(const std::vector<MirrorPeer> peers,
                          pool.MirrorPeers());
  for (ImageStatuses& image : listed) DropFormerPeers(peers, &image.sites);
  ReadNames(pool, listed, name_of);
  std::vector<MirrorView> views;
  std::vector<MirrorView> unclear;
  views.reserve(listed.size());
  for (const ImageStatuses& image : listed) {
    views.push_back(ViewOfListed(image, timeline_));
  }
  const auto turns = TakeTurns(name_of, &views);
  for (const MirrorView& view : views) {
    if (RoleByReports(view, settle) == WatchedRole::kUnclear) {
      unclear.push_back(view);
    } else {
      images_[view.image_id].info.reset();
    }
  }
  const std::string sent_away =
      WhySilent(cluster, pool, listed, views, clock_.WallNow());
  // What cannot be read is as it was known.
  if (auto proofs = ReadProofs(pool); proofs.ok()) proofs_ = *std::move(proofs);
  AskRoles(context, pool, unclear);
  ReadTold(context, pool, views, settle, name_of);
  // Last: a manager that does not answer takes long to say so.
  ReadSchedules(cluster, pool, seen);
  LookForPauses(context, pool, settle, &views);
  if (!instance_id.empty()) {
    groups_.Look(context, pool, seen->cluster_id, instance_id, clock_.Now());
  }
  if (context.stop_token().stop_requested()) {
    return absl::CancelledError("nobody waits for the look any more");
  }

  Empty(seen);
  const SteadyTime now = clock_.Now();
  for (const MirrorPeer& peer : peers) seen->peers.push_back(peer.site_name);
  for (MirrorView& view : views) {
    const Remembered& known = images_[view.image_id];
    const auto turned = turns.find(view.image_id);
    WatchedRole role = JudgeRole(known.info, settle, &view);
    if (role == WatchedRole::kUnclear && turned != turns.end()) {
      role = RoleOf(turned->second.turn);
      view.info.primary = role == WatchedRole::kPrimary;
    }
    NoteMirrors(view, settle, now, seen);
    // Who cannot be seen for a moment has not turned.
    if (role != WatchedRole::kUnclear) {
      timeline_.NoteRole(role == WatchedRole::kPrimary, &view);
    }
    WatchedImage image = JudgeImage(
        timeline_, view, role, peers, SchedulesOf(schedules_, view.image_id),
        known.told.schedule, sent_away, settle, pauses_.Of(view.image_id));
    NameImage(view.image_id, known, name_of, &image);
    const auto proof = proofs_.find(view.image_id);
    if (role == WatchedRole::kSecondary && proof != proofs_.end()) {
      image.proof = proof->second;
    }
    if (turned != turns.end() && turned->second.awaits_report) {
      AddAwaitedReport(turned->second.turn, view, now, &image);
    }
    AddDamage(&image);
    Count(std::move(image), seen);
  }
  seen->total = seen->images.size();
  seen->groups = groups_.Seen();
  LookForEntries(context, pool, instance_id, seen);
  std::sort(seen->images.begin(), seen->images.end(), TroubleFirst);
  if (seen->images.size() > kMostImages) seen->images.resize(kMostImages);
  return absl::OkStatus();
}

}  // namespace addons
