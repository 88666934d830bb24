#include "replication/group/rbd_group.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/parallel.h"
#include "base/status_macros.h"
#include "lease/leased_context.h"
#include "replication/session.h"
#include "volume/group_images.h"

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

/// A group and those of its members whose images could be looked at.
struct GroupedImages {
  ResolvedGroup group;
  std::vector<GroupedImage> images;
};

/// Of `target` only what the journal lists now: a member may have left since
/// the caller has read it. nullopt: the group cannot be found, which is logged.
std::optional<GroupedImages> LookAtGroup(OperationContext& context,
                                         ReplicationEnvironment& environment,
                                         const GroupTarget& target) {
  const SteadyTime deadline = ResolveDeadline(context);
  auto group = environment.resolver.ResolveGroup(target.group_id, target.user,
                                                 Access::kMutate, deadline);
  Warn(group.status(), "cannot look for the rbd group of volume group",
       target.group_id.text());
  if (!group.ok()) return std::nullopt;
  GroupedImages found{*std::move(group), {}};
  std::vector<VolumeHandle> members;
  for (const VolumeHandle& id : found.group.members()) {
    if (std::find(target.members.begin(), target.members.end(), id) !=
        target.members.end()) {
      members.push_back(id);
    }
  }
  std::vector<absl::StatusOr<GroupedImage>> images(members.size());
  RunParallel(
      images.size(), environment.options.group_members_at_once, [&](size_t i) {
        images[i] =
            LookAtImage(environment, {members[i], target.user}, deadline);
      });
  for (size_t i = 0; i < images.size(); ++i) {
    Warn(images[i].status(), "cannot look for the rbd group of volume",
         members[i].text());
    if (images[i].ok()) found.images.push_back(*std::move(images[i]));
  }
  return found;
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

absl::Status LeaveOnce(LeasedContext& context,
                       ReplicationEnvironment& environment,
                       const GroupTarget& target) {
  const auto found = LookAtGroup(context, environment, target);
  if (!found.has_value()) return absl::OkStatus();
  context.Aim(LeaseOf(found->group));
  const GroupImages rbd_group(found->group);
  const auto listed = rbd_group.All();
  Warn(listed.status(), "cannot list the rbd group of volume group",
       target.group_id.text());
  std::vector<const GroupedImage*> leaving;
  for (const GroupedImage& image : found->images) {
    const bool left_behind =
        !image.group.has_value() && listed.ok() &&
        listed->contains({image.volume.pool_id, image.volume.image_name()});
    if (image.secondary && (rbd_group.NamedBy(image.group) || left_behind)) {
      leaving.push_back(&image);
    }
  }
  if (leaving.empty()) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  context.Step("taking the members out of their rbd group");
  RunParallel(leaving.size(), environment.options.group_members_at_once,
              [&](size_t i) {
                Warn(rbd_group.Remove(leaving[i]->volume, leaving[i]->image_id),
                     "a copy stays in its rbd group, where rbd-mirror cannot "
                     "delete it: volume",
                     leaving[i]->volume.volume_id.text());
              });
  return absl::OkStatus();
}

absl::Status JoinOnce(LeasedContext& context,
                      ReplicationEnvironment& environment,
                      const GroupTarget& target) {
  const auto found = LookAtGroup(context, environment, target);
  if (!found.has_value()) return absl::OkStatus();
  context.Aim(LeaseOf(found->group));
  const GroupImages rbd_group(found->group);
  std::vector<const GroupedImage*> missing;
  std::vector<const GroupedImage*> present;
  for (const GroupedImage& image : found->images) {
    if (image.secondary) continue;
    if (!image.group.has_value()) {
      missing.push_back(&image);
    } else if (rbd_group.NamedBy(image.group)) {
      present.push_back(&image);
    }
  }
  for (const GroupedImage* image : Incomplete(found->group, present)) {
    missing.push_back(image);
  }
  if (missing.empty()) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  context.Step("putting the members into their rbd group");
  if (const absl::Status made = found->group.MakeRbdGroup(); !made.ok()) {
    Warn(made, "cannot make the rbd group of volume group",
         target.group_id.text());
    return absl::OkStatus();
  }
  RunParallel(missing.size(), environment.options.group_members_at_once,
              [&](size_t i) {
                Warn(rbd_group.Add(missing[i]->volume),
                     "cannot put into its rbd group: volume",
                     missing[i]->volume.volume_id.text());
              });
  return absl::OkStatus();
}

}  // namespace

absl::Status LeaveRbdGroup(OperationContext& context,
                           ReplicationEnvironment& environment,
                           const GroupTarget& target) {
  return RunLeased(
      context, environment.leases, "take members out of",
      [&](LeasedContext& leased) {
        return LeaveOnce(leased, environment, target);
      },
      LeaseWaits::kInPlace);
}

absl::Status JoinRbdGroup(OperationContext& context,
                          ReplicationEnvironment& environment,
                          const GroupTarget& target) {
  return RunLeased(
      context, environment.leases, "put members into",
      [&](LeasedContext& leased) {
        return JoinOnce(leased, environment, target);
      },
      LeaseWaits::kInPlace);
}

}  // namespace addons
