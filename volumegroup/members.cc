#include "volumegroup/members.h"

#include <functional>
#include <tuple>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/image_header.h"
#include "ceph/pool.h"
#include "ceph/retry_when_blocklisted.h"
#include "volume/group_images.h"
#include "volume/group_journal.h"
#include "volume/missing_image.h"

namespace addons {
namespace {

constexpr size_t kUuidLength = 36;

/// What a look at the image of a volume that was found learns. Called from
/// several threads at a time.
using LookAtImage = absl::FunctionRef<absl::Status(MemberView& view)>;

/// The names of rbd groups, each of which is read once in a look at many
/// images. Thread-safe.
class GroupNames {
 public:
  /// Of `group`, that the image of `volume` is in. NOT_FOUND: there is none.
  /// INTERNAL: it is written otherwise than by librbd up to Ceph 20.
  absl::StatusOr<GroupSpec> Find(const ResolvedVolume& volume,
                                 const ImageGroup& group)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    std::string& name = names_[{volume.cluster->fsid(), volume.rados_namespace,
                                group.pool_id, group.id}];
    if (name.empty()) {
      ADDONS_ASSIGN_OR_RETURN(
          const auto pool,
          volume.cluster->OpenPool(group.pool_id, volume.rados_namespace,
                                   Access::kRead));
      ADDONS_ASSIGN_OR_RETURN(name, FindGroupName(*pool, group.id));
    }
    return GroupSpec{group.pool_id, name};
  }

 private:
  using Key = std::tuple<std::string, std::string, int64_t, std::string>;

  Mutex mutex_;
  std::map<Key, std::string> names_ ABSL_GUARDED_BY(mutex_);
};

absl::Status OpenImage(MemberView& view) {
  const ResolvedVolume& volume = *view.volume;
  ADDONS_ASSIGN_OR_RETURN(const auto pool, volume.OpenPool(Access::kRead));
  auto opened = pool->OpenImageReadOnly(volume.image_name());
  if (absl::IsNotFound(opened.status())) return ImageMissing(volume);
  ADDONS_ASSIGN_OR_RETURN(const auto image, std::move(opened));
  ADDONS_ASSIGN_OR_RETURN(view.image_id, image->Id());
  ADDONS_ASSIGN_OR_RETURN(const ImageSize size, image->Size());
  view.size_bytes = size.bytes;
  ADDONS_ASSIGN_OR_RETURN(view.group, image->Group());
  ADDONS_ASSIGN_OR_RETURN(view.secondary, image->MarkedNonPrimary());
  ADDONS_ASSIGN_OR_RETURN(view.mirror, image->MirrorInfo());
  return image->Close();
}

/// The same from what librbd notes of the image; not OK also where only an open
/// image tells it.
absl::Status ReadImage(GroupNames& names, MemberView& view) {
  const ResolvedVolume& volume = *view.volume;
  ADDONS_ASSIGN_OR_RETURN(const auto pool, volume.OpenPool(Access::kRead));
  ADDONS_ASSIGN_OR_RETURN(NotedImage noted,
                          ReadNotedImage(*pool, volume.image_name()));
  const ImageHeader& header = noted.header;
  view.image_id = std::move(noted.id);
  view.mirror = std::move(noted.mirror);
  view.size_bytes = header.size.bytes;
  view.secondary = header.marked_non_primary;
  view.group.reset();
  if (header.group.has_value()) {
    ADDONS_ASSIGN_OR_RETURN(view.group, names.Find(volume, *header.group));
  }
  return absl::OkStatus();
}

absl::Status LookAtOne(GroupNames& names, MemberView& view) {
  absl::Status read = ReadImage(names, view);
  return OpenImageMayTell(read) ? OpenImage(view) : read;
}

absl::Status MeasureImage(MemberView& view) {
  const ResolvedVolume& volume = *view.volume;
  ADDONS_ASSIGN_OR_RETURN(const auto pool, volume.OpenPool(Access::kRead));
  const auto size = ReadImageSize(*pool, volume.image_name());
  // That it is gone is said by librbd alone, which reads other notes.
  if (absl::IsNotFound(size.status()) || absl::IsInternal(size.status())) {
    return OpenImage(view);
  }
  ADDONS_ASSIGN_OR_RETURN(view.size_bytes, size);
  return absl::OkStatus();
}

absl::Status LookOnce(const VolumeGroupEnvironment& environment,
                      const CephUserRef& user, Access access,
                      SteadyTime deadline, LookAtImage look, MemberView& view) {
  view.volume.reset();
  ADDONS_ASSIGN_OR_RETURN(
      view.volume,
      environment.resolver.Resolve(view.volume_id, user, access, deadline));
  const absl::Status status = look(view);
  // ENOENT of another call: the image vanished while it was looked at.
  return CephErrno(status) != 0 && absl::IsNotFound(status)
             ? absl::UnavailableError(status.message())
             : status;
}

std::vector<MemberView> LookAtEach(const VolumeGroupEnvironment& environment,
                                   const CephUserRef& user,
                                   const std::vector<VolumeHandle>& volumes,
                                   Access access, SteadyTime deadline,
                                   LookAtImage look) {
  std::vector<MemberView> views(volumes.size());
  RunParallel(volumes.size(), environment.options.concurrency, [&](size_t i) {
    MemberView& view = views[i];
    view.volume_id = volumes[i];
    view.problem = RetryWhenBlocklisted([&] {
      return LookOnce(environment, user, access, deadline, look, view);
    });
  });
  return views;
}

/// Whether another group's journal says that `view` is no member of it: then it
/// was left in the rbd group by a call that was interrupted. Groups that were
/// not made by CSI have no journal, and their members are theirs.
absl::StatusOr<bool> LeftBehind(const MemberView& view) {
  const std::string& name = view.group->name;
  if (name.size() < kUuidLength) return false;
  const ResolvedVolume& volume = *view.volume;
  ADDONS_ASSIGN_OR_RETURN(
      const auto pool,
      volume.cluster->OpenPool(view.group->pool_id, volume.rados_namespace,
                               Access::kRead));
  const auto other =
      GroupJournal(*pool).Read(name.substr(name.size() - kUuidLength));
  if (absl::IsNotFound(other.status()) ||
      absl::IsInvalidArgument(other.status())) {
    return false;
  }
  if (!other.ok()) return other.status();
  if (other->group_name != name) return false;
  for (const VolumeHandle& member : other->members) {
    if (absl::EndsWith(member.text(), volume.uuid)) return false;
  }
  return true;
}

absl::Status AttachOne(const ResolvedGroup& group, const MemberView& view) {
  if (view.secondary) return absl::OkStatus();
  const GroupImages images(group);
  const ResolvedVolume& volume = *view.volume;
  if (view.group.has_value() && !images.NamedBy(view.group)) {
    ADDONS_ASSIGN_OR_RETURN(
        const auto other,
        volume.cluster->OpenPool(view.group->pool_id, volume.rados_namespace,
                                 Access::kMutate));
    ADDONS_RETURN_IF_ERROR(other->RemoveGroupImage(
        view.group->name, volume.pool_id, view.image_id));
  }
  // Also when the image says that it is in the group: it may be incomplete.
  return images.Add(volume);
}

absl::Status DetachOne(const ResolvedGroup& group, const MemberView& view) {
  if (!view.volume.has_value()) return absl::OkStatus();
  const GroupImages images(group);
  const ResolvedVolume& volume = *view.volume;
  // Also when the image names no group: a call that died may have left it in
  // this one. One that is in another group by now is none of ours.
  if (view.problem.ok() &&
      (!view.group.has_value() || images.NamedBy(view.group))) {
    ADDONS_RETURN_IF_ERROR(images.Remove(volume, view.image_id));
  }
  // An image that is gone, or was replaced by a resync, may have left itself in
  // the group.
  const std::string& recorded = volume.attributes.image_id;
  if (!recorded.empty() && recorded != view.image_id) {
    const absl::Status status = images.Remove(volume, recorded);
    if (!status.ok()) {
      Log().warn("what is left of volume {} stays in rbd group {}: {}",
                 Quoted(view.volume_id.text()),
                 Quoted(group.attributes.group_name),
                 std::string(status.message()));
    }
  }
  return absl::OkStatus();
}

std::vector<absl::Status> ForEach(
    const VolumeGroupEnvironment& environment,
    const std::vector<MemberView>& views,
    const std::function<absl::Status(const MemberView&)>& work) {
  std::vector<absl::Status> results(views.size());
  RunParallel(views.size(), environment.options.concurrency,
              [&](size_t i) { results[i] = DuringChange(work(views[i])); });
  return results;
}

}  // namespace

std::string Identity(Resolver& resolver, const VolumeHandle& volume_id) {
  const auto key = resolver.KeyOfVolume(volume_id);
  return key.ok() ? key->ToString() : volume_id.text();
}

std::map<std::string, VolumeHandle> ByIdentity(
    Resolver& resolver, const std::vector<VolumeHandle>& volumes) {
  std::map<std::string, VolumeHandle> found;
  for (const VolumeHandle& id : volumes) {
    found.try_emplace(Identity(resolver, id), id);
  }
  return found;
}

std::vector<MemberView> LookAtMembers(const VolumeGroupEnvironment& environment,
                                      const CephUserRef& user,
                                      const std::vector<VolumeHandle>& volumes,
                                      SteadyTime deadline) {
  GroupNames names;
  return LookAtEach(
      environment, user, volumes, Access::kMutate, deadline,
      [&names](MemberView& view) { return LookAtOne(names, view); });
}

std::vector<MemberView> MeasureMembers(
    const VolumeGroupEnvironment& environment, const CephUserRef& user,
    const std::vector<VolumeHandle>& volumes, Access access,
    SteadyTime deadline) {
  return LookAtEach(environment, user, volumes, access, deadline,
                    &MeasureImage);
}

void NoteSeen(const std::vector<MemberView>& views, SeenMirroring* seen) {
  for (const MemberView& view : views) {
    if (view.problem.ok())
      seen->insert_or_assign(view.volume_id.text(), view.mirror);
  }
}

absl::Status CheckMayJoin(const ResolvedGroup& group, const MemberView& view,
                          absl::StatusCode unfit) {
  ADDONS_RETURN_IF_ERROR(view.problem);
  const ResolvedVolume& volume = *view.volume;
  if (volume.cluster->fsid() != group.cluster->fsid() ||
      volume.rados_namespace != group.rados_namespace) {
    return absl::Status(
        unfit, absl::StrCat("volume '", view.volume_id.text(),
                            "' cannot be in this group: it is in cluster '",
                            volume.cluster_id.text(), "' namespace '",
                            volume.rados_namespace, "', the group in cluster '",
                            group.cluster_id.text(), "' namespace '",
                            group.rados_namespace, "'"));
  }
  if (!view.group.has_value() || GroupImages(group).NamedBy(view.group)) {
    return absl::OkStatus();
  }
  ADDONS_ASSIGN_OR_RETURN(const bool left_behind, LeftBehind(view));
  if (left_behind) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      volume.Describe(), " is in rbd group '", view.group->name, "' of pool ",
      view.group->pool_id,
      " already, and a volume can be in one group only: take it out of that "
      "group first (a group that CSI does not know: rbd group image remove)"));
}

std::vector<absl::Status> Attach(const VolumeGroupEnvironment& environment,
                                 const ResolvedGroup& group,
                                 const std::vector<MemberView>& views) {
  return ForEach(environment, views, [&](const MemberView& view) {
    return AttachOne(group, view);
  });
}

std::vector<absl::Status> Detach(const VolumeGroupEnvironment& environment,
                                 const ResolvedGroup& group,
                                 const std::vector<MemberView>& views) {
  return ForEach(environment, views, [&](const MemberView& view) {
    return DetachOne(group, view);
  });
}

absl::Status FirstProblem(const std::vector<MemberView>& views,
                          const std::vector<absl::Status>& results) {
  absl::Status first;
  size_t failed = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].ok()) continue;
    if (failed++ == 0) {
      first = Annotate(
          results[i], absl::StrCat("volume '", views[i].volume_id.text(), "'"));
    }
  }
  if (failed < 2) return first;
  return absl::Status(first.code(), absl::StrCat(first.message(), " (and ",
                                                 failed - 1, " more volumes)"));
}

GroupAnswer::Volume ToAnswer(const MemberView& view) {
  GroupAnswer::Volume answer;
  answer.volume_id = view.volume_id.text();
  if (!view.problem.ok()) {
    answer.context["problem"] = std::string(view.problem.message());
    return answer;
  }
  answer.capacity_bytes = view.size_bytes;
  answer.context = {{"pool", view.volume->pool_name},
                    {"journalPool", view.volume->pool_name},
                    {"imageName", view.volume->image_name().text()}};
  if (!view.volume->rados_namespace.empty()) {
    answer.context["radosNamespace"] = view.volume->rados_namespace;
  }
  return answer;
}

absl::Status DuringChange(const absl::Status& status) {
  if (!absl::IsNotFound(status) && !absl::IsAlreadyExists(status)) {
    return status;
  }
  return absl::AbortedError(absl::StrCat(
      status.message(),
      " (somebody else changes the same things; the same call finishes it)"));
}

}  // namespace addons
