#include "replication/parent.h"

#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "replication/mgr_command.h"

namespace addons {
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

std::string ParentSpec(const ImageParent& parent) {
  return absl::StrCat(parent.pool_name, "/",
                      parent.rados_namespace.empty()
                          ? ""
                          : absl::StrCat(parent.rados_namespace, "/"),
                      parent.image_name);
}

absl::Status CheckParent(Session& session, const ImageParent& parent) {
  if (parent.in_trash) {
    return Refused(
        session,
        absl::StrCat("its parent image '", ParentSpec(parent),
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
      absl::StrCat("its parent image '", ParentSpec(parent),
                   "' is not mirrored; enable replication of the parent "
                   "first (rbd mirror image enable ",
                   ParentSpec(parent),
                   " snapshot), or set the parameter flattenMode: "
                   "\"force\""));
}

/// The entry of the task queue that flattens `spec`; nullopt: none.
std::optional<double> TaskProgress(const std::string& list,
                                   const std::string& spec, bool* found) {
  *found = false;
  const json tasks = json::parse(list, nullptr, false);
  if (!tasks.is_array()) return std::nullopt;
  for (const json& task : tasks) {
    const json refs = task.value("refs", json::object());
    if (refs.value("action", "") != "flatten") continue;
    if (!absl::EndsWith(task.value("message", ""), spec)) continue;
    *found = true;
    if (const auto it = task.find("progress");
        it != task.end() && it->is_number()) {
      return it->get<double>();
    }
  }
  return std::nullopt;
}

bool TaskQueueMissing(const absl::Status& status) {
  return CephErrno(status) == EACCES || CephErrno(status) == EPERM ||
         (CephErrno(status) == EINVAL &&
          absl::StrContains(status.message(), "No handler"));
}

absl::Status FlattenHere(OperationContext& context, Session& session) {
  return ChangeImage(session.volume, [&](Image& image) {
    return image.Flatten([&](uint64_t done, uint64_t total) {
      context.Progress(done, total);
      return !context.stop_token().stop_requested();
    });
  });
}

absl::Status Flatten(OperationContext& context,
                     const ReplicationEnvironment& environment,
                     Session& session) {
  const std::string spec =
      session.reads->ImageSpec(session.volume.image_name());
  const std::string add =
      json{{"prefix", "rbd task add flatten"}, {"image_spec", spec}}.dump();
  const std::string list =
      json{{"prefix", "rbd task list"}, {"format", "json"}}.dump();
  const ReplicationOptions& options = environment.options;

  for (int tries = 0; tries < kTaskTries; ++tries) {
    const auto queued = RunMgrCommand(context, options, session.cluster(), add);
    if (TaskQueueMissing(queued.status())) return FlattenHere(context, session);
    // ENOENT: it has no parent any more; the look below decides.
    if (!queued.ok() && CephErrno(queued.status()) != ENOENT) {
      return queued.status();
    }
    bool running = true;
    while (running) {
      ADDONS_ASSIGN_OR_RETURN(const auto parent, ReadParent(session));
      if (!parent.has_value()) return absl::OkStatus();
      const auto tasks =
          RunMgrCommand(context, options, session.cluster(), list);
      ADDONS_RETURN_IF_ERROR(tasks.status());
      if (const auto progress = TaskProgress(*tasks, spec, &running)) {
        context.Progress(static_cast<uint64_t>(*progress * 100), 100);
      }
      ADDONS_RETURN_IF_ERROR(context.SleepFor(options.poll_interval));
    }
  }
  return FailedTo(
      "flatten", session.volume, absl::StatusCode::kUnavailable,
      "the manager's task ends without success; `ceph rbd task list` and the "
      "manager's log tell why");
}

}  // namespace

absl::Status PrepareParent(OperationContext& context,
                           const ReplicationEnvironment& environment,
                           Session& session, FlattenMode mode) {
  ADDONS_ASSIGN_OR_RETURN(const auto parent, ReadParent(session));
  if (!parent.has_value()) return absl::OkStatus();
  if (mode == FlattenMode::kNever) return CheckParent(session, *parent);
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  context.Step("flattening the image");
  return Flatten(context, environment, session);
}

}  // namespace addons
