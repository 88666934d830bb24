#include "inspection/audit/audit_pool.h"

#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/shell_command.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "inspection/audit/audited_place.h"
#include "inspection/audit/group_audit.h"
#include "inspection/audit/image_audit.h"
#include "inspection/audit/journal_audit.h"
#include "inspection/audit/rescue_audit.h"
#include "inspection/clone_audit.h"
#include "replication/look/image_directory.h"
#include "replication/schedule_store.h"
#include "replication/steps/ceph_faults/stale_schedules.h"

namespace addons {
namespace {

void AuditClones(AuditedPlace& place, const std::stop_token& stop) {
  const auto clones = AuditMirroredClones(place.pool, stop);
  if (!clones.ok()) {
    return place.NotSeen(AuditKind::kClones, place.pool.Spec(""),
                         clones.status());
  }
  for (const CloneFinding& clone : *clones) {
    // The second one is for the other site: here Ceph refuses it.
    place.Found(
        AuditKind::kClones, clone.image, clone.text,
        clone.state == CloneState::kHasParent
            ? ShellCommand({"rbd", "flatten", clone.image})
            : ShellCommand({"rbd", "mirror", "image", "resync", clone.image}));
  }
}

/// Of all schedules of a level, where none is named.
std::string RemoveCommand(const std::string& level,
                          const SnapshotSchedule& schedule, Pool& pool,
                          const std::string& image) {
  std::vector<std::string> words = {"rbd",    "mirror", "snapshot", "schedule",
                                    "remove", "--pool", pool.name()};
  const std::string& space = pool.rados_namespace();
  if (!space.empty() && absl::StrContains(level, "/")) {
    words.insert(words.end(), {"--namespace", space});
  }
  if (!image.empty()) words.insert(words.end(), {"--image", image});
  if (!schedule.interval_text.empty()) words.push_back(schedule.interval_text);
  if (!schedule.start_time.empty()) words.push_back(schedule.start_time);
  return ShellCommand(words);
}

void AuditSchedules(AuditedPlace& place, Pool& whole) {
  const auto levels = FindStaleSchedules(whole, place.pool);
  if (!levels.ok()) {
    return place.NotSeen(AuditKind::kSchedules, place.pool.Spec(""),
                         levels.status());
  }
  for (const std::string& level : *levels) {
    place.Found(
        AuditKind::kSchedules, level,
        "the manager keeps a mirror snapshot schedule of an image id "
        "that no image has any more",
        RadosCommand(whole.name(), "", {"rmomapkey", kScheduleObject, level}));
    const auto schedule = whole.ReadOmapKey(kScheduleObject, level);
    if (!schedule.ok() || schedule->value_or("").empty()) continue;
    place.MayRepair(
        "remove the schedule of this image id",
        {OmapRepair::Change::kRemove, "", kScheduleObject, level, **schedule});
  }
  const auto found = FindWrongSchedules(whole, place.pool);
  if (!found.ok()) {
    return place.NotSeen(AuditKind::kSchedules, place.pool.Spec(""),
                         found.status());
  }
  if (found->wrong.empty() && found->unreadable.empty()) return;
  const auto names = ReadImageNames(place.pool);
  if (!names.ok()) {
    return place.NotSeen(AuditKind::kSchedules, place.pool.Spec(""),
                         names.status());
  }
  for (const WrongSchedule& one : found->wrong) {
    std::string image;
    if (!one.image_id.empty()) {
      // Of an image that is gone there is a finding already.
      if (!names->contains(one.image_id)) continue;
      image = names->at(one.image_id).text();
    }
    place.Found(AuditKind::kSchedules, place.pool.Spec(image), one.seen,
                RemoveCommand(one.level, one.schedule, place.pool, image));
  }
  for (const auto& [level, image_id] : found->unreadable) {
    std::string image;
    if (!image_id.empty()) {
      if (!names->contains(image_id)) continue;
      image = names->at(image_id).text();
    }
    place.Unclear(
        AuditKind::kSchedules, place.pool.Spec(image),
        absl::StrCat("what the manager keeps as its schedule is not known to "
                     "this build. If `rbd mirror snapshot schedule ls` does "
                     "not show it, the manager cannot run it either, and `",
                     RemoveCommand(level, {}, place.pool, image),
                     "` removes it"));
  }
}

/// Fills in the images. False: said why not, and the audits that compare with
/// them would take all of them for gone.
bool ReadImages(AuditedPlace& place, AuditKind kind) {
  const auto names = ReadImageNames(place.pool);
  const auto mirrored = ReadMirroredImageIds(place.pool);
  for (const absl::Status& status : {names.status(), mirrored.status()}) {
    if (status.ok()) continue;
    place.NotSeen(kind, place.pool.Spec(""), status);
    return false;
  }
  for (const auto& [id, name] : *names) {
    if (name.empty()) {
      place.unnamed_images = true;
      place.Unclear(kind, place.pool.Spec(id),
                    "what the image with this id is called cannot be read");
      continue;
    }
    place.images.emplace(id, name);
  }
  for (const std::string& id : *mirrored) {
    const auto name = place.images.find(id);
    // One that is gone, in the trash, or not readable.
    if (name != place.images.end()) place.mirrored.insert(*name);
  }
  return true;
}

absl::Status Stopped(const std::stop_token& stop) {
  return stop.stop_requested()
             ? absl::CancelledError("nobody waits for the audit any more")
             : absl::OkStatus();
}

absl::Status AuditPlace(AuditedPlace& place, Pool& whole, Cluster& cluster,
                        const std::set<AuditKind>& kinds,
                        const AuditRequest& request,
                        const std::stop_token& stop) {
  if (kinds.contains(AuditKind::kClones)) AuditClones(place, stop);
  ADDONS_RETURN_IF_ERROR(Stopped(stop));
  if (kinds.contains(AuditKind::kSchedules)) AuditSchedules(place, whole);
  bool read = false;
  for (const auto& [kind, audit] :
       {std::pair{AuditKind::kJournal, &AuditJournal},
        std::pair{AuditKind::kGroups, &AuditGroups},
        std::pair{AuditKind::kRescues, &AuditRescues}}) {
    if (!kinds.contains(kind)) continue;
    ADDONS_RETURN_IF_ERROR(Stopped(stop));
    read = read || ReadImages(place, kind);
    if (read) audit(place);
  }
  if (kinds.contains(AuditKind::kImages)) {
    read = read || ReadImages(place, AuditKind::kImages);
    if (read) ADDONS_RETURN_IF_ERROR(AuditImages(place, whole, stop));
  }
  ADDONS_RETURN_IF_ERROR(Stopped(stop));
  if (!kinds.contains(AuditKind::kCopies)) return absl::OkStatus();
  return AuditCopies(place, cluster, request.copies, stop);
}

}  // namespace

absl::StatusOr<AuditFindings> AuditPool(BoundedThreads& threads,
                                        const ResolvedPlace& place,
                                        const AuditRequest& request,
                                        const std::stop_token& stop) {
  AuditFindings all;
  const auto add = [&all](AuditFindings findings) {
    std::move(findings.begin(), findings.end(), std::back_inserter(all));
  };
  std::set<AuditKind> kinds = request.kinds;
  const bool fences = kinds.erase(AuditKind::kFences) > 0;
  std::vector<std::string> namespaces;
  if (!kinds.empty()) namespaces.push_back(place.rados_namespace);
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> whole,
      place.cluster->OpenPool(place.pool_id, "", Access::kRead));
  if (!kinds.empty() && place.rados_namespace.empty()) {
    const auto more = whole->Namespaces();
    if (more.ok()) {
      namespaces.insert(namespaces.end(), more->begin(), more->end());
    } else {
      all.push_back({*kinds.begin(), whole->name(),
                     absl::StrCat("its RADOS namespaces could not be listed, "
                                  "so only the default one was looked at: ",
                                  more.status().message()),
                     "", true});
    }
  }
  for (const std::string& name : namespaces) {
    ADDONS_RETURN_IF_ERROR(Stopped(stop));
    ADDONS_ASSIGN_OR_RETURN(
        const std::unique_ptr<Pool> pool,
        place.cluster->OpenPool(place.pool_id, name, Access::kRead));
    AuditedPlace audited{*pool, request.instance_id};
    if (name != place.rados_namespace) {
      const auto mode = pool->MirrorMode();
      if (absl::IsNotFound(mode.status())) continue;  // removed meanwhile
      if (mode.ok() && *mode == PoolMirrorMode::kDisabled) continue;
      if (!mode.ok()) {
        audited.NotSeen(*kinds.begin(), pool->Spec(""), mode.status());
      }
    }
    ADDONS_RETURN_IF_ERROR(
        AuditPlace(audited, *whole, *place.cluster, kinds, request, stop));
    add(std::move(audited.findings));
  }
  if (fences) {
    add(AuditFences(threads, place.cluster, place.cluster_id, request.fences));
  }
  return all;
}

}  // namespace addons
