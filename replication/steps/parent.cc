#include "replication/steps/parent.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/image_name.h"
#include "base/json.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/pool.h"
#include "replication/look/mirrored_clone.h"
#include "replication/steps/mgr_command.h"

namespace addons {

namespace {

using nlohmann::json;

absl::Status NotUnderstood() {
  return absl::InternalError(
      "the manager's answer to 'rbd task list' is not understood");
}

/// nullopt: there is none, or it is no text.
std::optional<std::string> Text(const json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_string()) return std::nullopt;
  return it->get<std::string>();
}

}  // namespace

absl::StatusOr<std::optional<FlattenTask>> FindFlattenTask(
    const std::string& list, const std::string& spec) {
  const json tasks = ParseJson(list);
  if (!tasks.is_array()) return NotUnderstood();
  for (const json& task : tasks) {
    const auto refs = task.find("refs");
    if (refs == task.end() || !refs->is_object()) return NotUnderstood();
    const auto action = Text(*refs, "action");
    if (!action.has_value()) return NotUnderstood();
    if (*action != "flatten") continue;
    const auto pool = Text(*refs, "pool_name");
    const auto image = Text(*refs, "image_name");
    if (!pool.has_value() || !image.has_value()) return NotUnderstood();
    if (RbdSpec(*pool, Text(*refs, "pool_namespace").value_or(""), *image) !=
        spec) {
      continue;
    }
    FlattenTask found;
    if (const auto progress = task.find("progress");
        progress != task.end() && progress->is_number()) {
      found.progress = std::clamp(progress->get<double>(), 0.0, 1.0);
    }
    return found;
  }
  return std::nullopt;
}

namespace {

using nlohmann::json;

/// A task that ended without success is queued again so often.
constexpr int kTaskTries = 5;

absl::Status Refused(const Session& session, const std::string& reason) {
  return FailedTo("enable replication of", session.volume,
                  absl::StatusCode::kFailedPrecondition, reason);
}

absl::StatusOr<std::optional<ImageParent>> ReadParent(Session& session) {
  auto image = session.reads->OpenImageReadOnly(session.volume.image_name());
  if (!image.ok()) return AfterResolve(image.status(), session.volume);
  return (*image)->Parent();
}

absl::Status RefuseSnapshotMode(const Session& session,
                                const ImageParent& parent) {
  return Refused(
      session,
      absl::StrCat(
          "it is a clone of '", parent.Spec(),
          "', and mirroring by snapshots loses what a clone has from "
          "its parent: the copy on the other site would not be complete; "
          "set the parameter flattenMode: \"force\" to detach the "
          "volume from its parent first, or mirroringMode: "
          "\"journal\""));
}

absl::Status CheckParent(Session& session, const ImageParent& parent) {
  if (parent.in_trash) {
    return Refused(
        session,
        absl::StrCat("its parent image '", parent.Spec(),
                     "' is in the trash and can never be mirrored; set "
                     "the parameter flattenMode: \"force\" to detach "
                     "the volume from it"));
  }
  ADDONS_ASSIGN_OR_RETURN(
      std::unique_ptr<Pool> pool,
      session.cluster().OpenPool(parent.pool_id, parent.rados_namespace,
                                 Access::kRead));
  ADDONS_ASSIGN_OR_RETURN(const auto info,
                          pool->MirrorInfoById(parent.image_id));
  if (info.has_value() && info->state == MirrorImageState::kEnabled) {
    return absl::OkStatus();
  }
  return Refused(
      session,
      absl::StrCat("its parent image '", parent.Spec(),
                   "' is not mirrored; enable replication of the parent "
                   "first (rbd mirror image enable ",
                   parent.Spec(),
                   " snapshot), or set the parameter flattenMode: "
                   "\"force\""));
}

bool TaskQueueMissing(const absl::Status& status) {
  return CephErrno(status) == EACCES || CephErrno(status) == EPERM ||
         (CephErrno(status) == EINVAL &&
          absl::StrContains(status.message(), "No handler"));
}

absl::Status FlattenHere(Session& session) {
  return ChangeImage(session.volume, [&](Image& image) {
    return image.Flatten([&](uint64_t done, uint64_t total) {
      session.context.Progress(done, total);
      return !session.context.stop_token().stop_requested();
    });
  });
}

absl::Status Flatten(Session& session) {
  const std::string spec = session.volume.ImageSpec();
  const std::string add =
      JsonText({{"prefix", "rbd task add flatten"}, {"image_spec", spec}});
  const std::string list =
      JsonText({{"prefix", "rbd task list"}, {"format", "json"}});
  const ReplicationOptions& options = session.environment.options;

  for (int tries = 0; tries < kTaskTries; ++tries) {
    ADDONS_RETURN_IF_ERROR(ManagerCanWrite(session.volume));
    const auto queued =
        RunMgrCommand(session.context, options, session.cluster(), add);
    if (TaskQueueMissing(queued.status())) return FlattenHere(session);
    // ENOENT: it has no parent any more; the look below decides.
    if (!queued.ok() && CephErrno(queued.status()) != ENOENT) {
      return queued.status();
    }
    bool running = true;
    while (running) {
      ADDONS_ASSIGN_OR_RETURN(const auto parent, ReadParent(session));
      if (!parent.has_value()) return absl::OkStatus();
      const auto tasks =
          RunMgrCommand(session.context, options, session.cluster(), list);
      ADDONS_RETURN_IF_ERROR(tasks.status());
      ADDONS_ASSIGN_OR_RETURN(const auto task, FindFlattenTask(*tasks, spec));
      running = task.has_value();
      if (running && task->progress.has_value()) {
        session.context.Progress(static_cast<uint64_t>(*task->progress * 100),
                                 100);
      }
      ADDONS_RETURN_IF_ERROR(session.context.SleepFor(options.poll_interval));
    }
  }
  return FailedTo(
      "flatten", session.volume, absl::StatusCode::kUnavailable,
      "the manager's task ends without success; `ceph rbd task list` and the "
      "manager's log tell why");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> MirroredClones(Cluster& cluster,
                                                        Image& image) {
  ADDONS_ASSIGN_OR_RETURN(const std::vector<LinkedImage> clones,
                          image.Clones());
  std::vector<std::string> mirrored;
  for (const LinkedImage& clone : clones) {
    if (clone.in_trash) continue;
    ADDONS_ASSIGN_OR_RETURN(
        const std::unique_ptr<Pool> pool,
        cluster.OpenPool(clone.pool_id, clone.rados_namespace, Access::kRead));
    ADDONS_ASSIGN_OR_RETURN(const auto info,
                            pool->MirrorInfoById(clone.image_id));
    if (info.has_value() && info->state != MirrorImageState::kDisabled) {
      mirrored.push_back(clone.Spec());
    }
  }
  return mirrored;
}

std::string DescribeMirroredClones(const std::vector<std::string>& clones) {
  constexpr size_t kNamed = 3;
  return absl::StrCat(
      "it is the parent of ",
      absl::StrJoin(absl::MakeConstSpan(clones).subspan(0, kNamed), ", "),
      clones.size() > kNamed
          ? absl::StrCat(" and ", clones.size() - kNamed, " more")
          : "",
      clones.size() == 1 ? ", which is mirrored" : ", which are mirrored",
      ": disable the replication of ", clones.size() == 1 ? "that" : "those",
      " first");
}

absl::Status PrepareParent(Session& session, const MirrorView& view,
                           MirrorMode mirror_mode, FlattenMode mode) {
  const std::optional<ImageParent>& parent = view.parent;
  if (!parent.has_value()) return absl::OkStatus();
  if (mode == FlattenMode::kNever) {
    return mirror_mode == MirrorMode::kSnapshot
               ? RefuseSnapshotMode(session, *parent)
               : CheckParent(session, *parent);
  }
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("flattening the image");
  return Flatten(session);
}

absl::Status RememberClone(Session& session, MirrorView* view) {
  const std::string mark = CloneMarkDue(*view);
  if (mark.empty() || !view->info.primary) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("noting that the image is a clone");
  Log().warn("a mirrored image loses data volume={}: {}",
             Quoted(session.volume.volume_id.text()),
             DescribeCloneLoss(*view, session.volume.ImageSpec()));
  ADDONS_RETURN_IF_ERROR(ChangeImage(session.volume, [&](Image& image) {
    return image.ChangeMetadata({{kCloneMark, mark}});
  }));
  view->marks[kCloneMark] = mark;
  return absl::OkStatus();
}

void WarnOfCloneLoss(const Session& session, const MirrorView& view) {
  const std::string loss = DescribeCloneLoss(view, session.volume.ImageSpec());
  if (loss.empty()) return;
  Log().warn("promoted by force, and this image is not complete volume={}: {}",
             Quoted(session.volume.volume_id.text()), loss);
}

}  // namespace addons
