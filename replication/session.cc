#include "replication/session.h"

#include <cerrno>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/errors.h"

namespace addons {
namespace {

/// Finding a volume takes milliseconds; this bounds it when clusters are ill.
constexpr std::chrono::seconds kResolvePatience{30};

absl::StatusOr<std::unique_ptr<Image>> OpenForChange(
    const ResolvedVolume& volume) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          volume.OpenPool(Access::kMutate));
  return pool->OpenImage(volume.image_name());
}

absl::Status RunOnce(OperationContext& context,
                     ReplicationEnvironment& environment,
                     const VolumeTarget& target,
                     const std::function<absl::Status(Session&)>& body) {
  context.Step("finding the volume");
  ADDONS_ASSIGN_OR_RETURN(
      Session session,
      OpenSession(environment, target, ResolveDeadline(context)));
  const absl::Status status = body(session);
  // ENOENT of a single call is not about the volume, which was found.
  return CephErrno(status) == ENOENT ? AfterResolve(status, session.volume)
                                     : status;
}

}  // namespace

SteadyTime ResolveDeadline(OperationContext& context) {
  return context.DeadlineWithin(kResolvePatience);
}

absl::StatusOr<Session> OpenSession(ReplicationEnvironment& environment,
                                    const VolumeTarget& target,
                                    SteadyTime deadline) {
  Session session;
  ADDONS_ASSIGN_OR_RETURN(
      session.volume,
      environment.resolver.Resolve(target.volume_id, target.user, deadline));
  auto pool = session.volume.OpenPool(Access::kRead);
  if (!pool.ok()) return AfterResolve(pool.status(), session.volume);
  session.reads = *std::move(pool);
  return session;
}

absl::Status RunWithSession(OperationContext& context,
                            ReplicationEnvironment& environment,
                            const VolumeTarget& target,
                            const std::function<absl::Status(Session&)>& body) {
  absl::Status status = RunOnce(context, environment, target, body);
  if (CephErrno(status) != kBlocklistedErrno || context.mutating()) {
    return status;
  }
  return RunOnce(context, environment, target, body);
}

absl::Status ChangeImage(const ResolvedVolume& volume,
                         const std::function<absl::Status(Image&)>& change) {
  const auto run = [&]() -> absl::Status {
    auto opened = OpenForChange(volume);
    if (CephErrno(opened.status()) == kBlocklistedErrno) {
      // Nothing was changed yet; the connection has been replaced.
      opened = OpenForChange(volume);
    }
    ADDONS_RETURN_IF_ERROR(opened.status());
    const std::unique_ptr<Image> image = *std::move(opened);
    const absl::Status changed = change(*image);
    const absl::Status closed = image->Close();
    return changed.ok() ? closed : changed;
  };
  return AfterResolve(run(), volume);
}

absl::StatusOr<MirrorView> Look(const OperationContext& context,
                                ReplicationEnvironment& environment,
                                const Session& session) {
  auto view = LookAt(session.volume, *session.reads, environment.tracker);
  if (!absl::IsNotFound(view.status())) return view;
  if (context.mutating()) return AfterResolve(view.status(), session.volume);
  return ImageMissing(session.volume);
}

absl::Status FailedTo(absl::string_view action, const ResolvedVolume& volume,
                      absl::StatusCode code, absl::string_view reason) {
  return absl::Status(code, absl::StrCat("Failed to ", action, " ",
                                         volume.Describe(), ": ", reason));
}

absl::Status WaitToLookAgain(OperationContext& context,
                             const ReplicationEnvironment& environment,
                             absl::string_view reason,
                             const absl::Status& pending) {
  context.Step(absl::StrCat("waiting: ", reason));
  context.SetPending(pending);
  if (context.mutating() && !context.LatestDeadline().has_value()) {
    return pending;
  }
  return context.SleepFor(environment.options.poll_interval);
}

absl::Status ImageMissing(const ResolvedVolume& volume) {
  return absl::NotFoundError(
      absl::StrCat(volume.Describe(),
                   " does not exist: the journal names it, but the pool has no "
                   "such image (deleted, or not mirrored to this site yet)"));
}

}  // namespace addons
