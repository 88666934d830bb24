#include "replication/group/rbd_group.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "replication/session.h"

namespace addons {
namespace {

/// A member's image and where it stands.
struct GroupedImage {
  ResolvedVolume volume;
  std::string image_id;
  bool secondary = false;
  std::optional<GroupSpec> group;
};

absl::StatusOr<GroupedImage> LookAtImage(ReplicationEnvironment& environment,
                                         const VolumeTarget& member,
                                         SteadyTime deadline) {
  ADDONS_ASSIGN_OR_RETURN(
      OpenedVolume opened,
      OpenVolume(environment, member, Access::kMutate, deadline));
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> image,
      opened.reads->OpenImageReadOnly(opened.volume.image_name()));
  GroupedImage found;
  ADDONS_ASSIGN_OR_RETURN(found.image_id, image->Id());
  ADDONS_ASSIGN_OR_RETURN(found.secondary, image->MarkedNonPrimary());
  ADDONS_ASSIGN_OR_RETURN(found.group, image->Group());
  ADDONS_RETURN_IF_ERROR(image->Close());
  found.volume = std::move(opened.volume);
  return found;
}

void Warn(const absl::Status& status, absl::string_view what,
          const std::string& id) {
  if (status.ok()) return;
  Log().warn("{} {}: {}", std::string(what), Quoted(id),
             std::string(status.message()));
}

/// Those of `images`, which say that they are in the group, that are not
/// complete there. One call shows it of all.
std::vector<const GroupedImage*> Incomplete(
    const ResolvedGroup& group,
    const std::vector<const GroupedImage*>& images) {
  if (images.empty()) return {};
  const auto complete = GroupImages(group).Complete();
  Warn(complete.status(), "cannot list the rbd group of volume group",
       group.group_id.text());
  if (!complete.ok()) return {};
  std::vector<const GroupedImage*> incomplete;
  for (const GroupedImage* image : images) {
    const ResolvedVolume& volume = image->volume;
    if (!complete->contains({volume.pool_id, volume.image_name()})) {
      incomplete.push_back(image);
    }
  }
  return incomplete;
}

}  // namespace

absl::StatusOr<RbdGroup> FindRbdGroup(OperationContext& context,
                                      ReplicationEnvironment& environment,
                                      const GroupTarget& target) {
  RbdGroup found;
  ADDONS_ASSIGN_OR_RETURN(found.group,
                          environment.resolver.ResolveGroup(
                              target.group_id, target.user, Access::kMutate,
                              ResolveDeadline(context)));
  auto images = GroupImages(found.group).All();
  Warn(images.status(), "cannot list the rbd group of volume group",
       target.group_id.text());
  if (images.ok()) found.images = *std::move(images);
  return found;
}

absl::Status LeaveRbdGroup(OperationContext& context,
                           ReplicationEnvironment& environment,
                           const RbdGroup& group, const VolumeTarget& member) {
  const auto image = LookAtImage(environment, member, ResolveDeadline(context));
  Warn(image.status(), "cannot look for the rbd group of volume",
       member.volume_id.text());
  if (!image.ok()) return absl::OkStatus();
  const GroupImages images(group.group);
  const bool left_behind = !image->group.has_value() &&
                           group.images.contains({image->volume.pool_id,
                                                  image->volume.image_name()});
  if (!images.NamedBy(image->group) && !left_behind) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  Warn(images.Remove(image->volume, image->image_id),
       "a copy stays in its rbd group, where rbd-mirror cannot delete it: "
       "volume",
       member.volume_id.text());
  return absl::OkStatus();
}

absl::Status JoinRbdGroup(OperationContext& context,
                          ReplicationEnvironment& environment,
                          const GroupTarget& target) {
  const SteadyTime deadline = ResolveDeadline(context);
  const auto group = environment.resolver.ResolveGroup(
      target.group_id, target.user, Access::kMutate, deadline);
  Warn(group.status(), "cannot look for the rbd group of volume group",
       target.group_id.text());
  if (!group.ok()) return absl::OkStatus();
  const size_t at_once = environment.options.group_members_at_once;
  std::vector<absl::StatusOr<GroupedImage>> images(target.members.size());
  RunParallel(images.size(), at_once, [&](size_t i) {
    images[i] =
        LookAtImage(environment, {target.members[i], target.user}, deadline);
  });
  const GroupImages rbd_group(*group);
  std::vector<const GroupedImage*> missing;
  std::vector<const GroupedImage*> present;
  for (size_t i = 0; i < images.size(); ++i) {
    Warn(images[i].status(), "cannot look for the rbd group of volume",
         target.members[i].text());
    if (!images[i].ok() || images[i]->secondary) continue;
    if (!images[i]->group.has_value()) {
      missing.push_back(&*images[i]);
    } else if (rbd_group.NamedBy(images[i]->group)) {
      present.push_back(&*images[i]);
    }
  }
  for (const GroupedImage* image : Incomplete(*group, present)) {
    missing.push_back(image);
  }
  if (missing.empty()) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  context.Step("putting the members into their rbd group");
  if (const absl::Status made = group->MakeRbdGroup(); !made.ok()) {
    Warn(made, "cannot make the rbd group of volume group",
         target.group_id.text());
    return absl::OkStatus();
  }
  RunParallel(missing.size(), at_once, [&](size_t i) {
    Warn(rbd_group.Add(missing[i]->volume),
         "cannot put into its rbd group: volume",
         missing[i]->volume.volume_id.text());
  });
  return absl::OkStatus();
}

}  // namespace addons
