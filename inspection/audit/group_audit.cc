#include "inspection/audit/group_audit.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/shell_command.h"
#include "ceph/image_header.h"
#include "volume/group_directory.h"
#include "volume/group_journal.h"
#include "volume/volume_journal.h"

namespace addons {
namespace {

constexpr uint64_t kPage = 512;

/// One group.
class GroupAudit {
 public:
  GroupAudit(AuditedPlace& place, const GroupAttributes& group)
      : place_(place), group_(group), spec_(place.pool.Spec(group.group_name)) {
    for (const auto& [id, name] : place_.images) ids_.emplace(name, id);
  }

  void Run() {
    const auto listed = place_.pool.GroupImages(group_.group_name);
    if (!listed.ok())
      return place_.NotSeen(AuditKind::kGroups, spec_, listed.status());
    for (const GroupImage& image : *listed) {
      if (image.pool_id != place_.pool.id()) {
        place_.Unclear(AuditKind::kGroups, spec_,
                       absl::StrCat("its image '", image.image.text(),
                                    "' is of the pool with the number ",
                                    image.pool_id, ", and was not looked at"));
        continue;
      }
      present_[image.image] = image.complete;
    }
    empty_ = listed->empty();
    for (const VolumeHandle& member : group_.members) CheckMember(member);
    if (foreign_) return;  // one of these may be any image of the group
    for (const auto& [image, complete] : present_) {
      if (members_.contains(image)) continue;
      place_.Found(AuditKind::kGroups, spec_,
                   absl::StrCat("it has the image '", image.text(),
                                "', which is no member in the journal"),
                   Change("remove", image));
    }
  }

 private:
  std::string Change(const char* how, const ImageName& image) const {
    return ShellCommand(
        {"rbd", "group", "image", how, spec_, place_.pool.Spec(image)});
  }
  void NotFollowed(const VolumeHandle& member, const std::string& why) {
    foreign_ = true;
    place_.Unclear(AuditKind::kGroups, spec_,
                   absl::StrCat("its member '", member.text(),
                                "' could not be looked at: ", why));
  }

  void CheckMember(const VolumeHandle& member) {
    if (!member.id().ok()) {
      return NotFollowed(member, std::string(member.id().status().message()));
    }
    const auto volume = VolumeJournal(place_.pool).Read(member.id()->uuid);
    if (absl::IsNotFound(volume.status())) {
      return NotFollowed(member, "this pool's journal does not have it");
    }
    if (!volume.ok()) {
      return NotFollowed(member, std::string(volume.status().message()));
    }
    const ImageName& image = volume->image_name;
    members_[image] = true;
    const auto id = ids_.find(image);
    if (id == ids_.end()) return;  // what the audit of the journal says
    const auto mirrored = place_.pool.MirrorInfoById(id->second);
    if (!mirrored.ok()) {
      return place_.NotSeen(AuditKind::kGroups, place_.pool.Spec(image),
                            mirrored.status());
    }
    const MirrorImageState state = mirrored->has_value()
                                       ? (*mirrored)->state
                                       : MirrorImageState::kDisabled;
    if (state == MirrorImageState::kDisabled) {
      CheckPresence(image, /*wanted=*/true);
    } else if (state == MirrorImageState::kEnabled) {
      CheckPresence(image, (*mirrored)->primary);
    } else {
      place_.Unclear(AuditKind::kGroups, place_.pool.Spec(image),
                     "its mirroring is being changed, so whether it is to be "
                     "in its rbd group cannot be told");
    }
  }

  void CheckPresence(const ImageName& image, bool wanted) {
    const auto found = present_.find(image);
    if (!wanted) {
      if (found == present_.end()) return;
      place_.Found(AuditKind::kGroups, spec_,
                   absl::StrCat("the secondary image '", image.text(),
                                "' is in it, so rbd-mirror cannot delete the "
                                "copy at a resync"),
                   Change("remove", image));
      return;
    }
    if (found != present_.end() && found->second) return;
    std::string remedy = Change("add", image);
    // librbd shows an rbd group that does not exist in the same way.
    if (empty_) {
      remedy = absl::StrCat(ShellCommand({"rbd", "group", "create", spec_}),
                            " || true; ", remedy);
    }
    place_.Found(
        AuditKind::kGroups, spec_,
        absl::StrCat("its member '", image.text(), "' is ",
                     found == present_.end() ? "not in the rbd group"
                                             : "incomplete in the rbd group",
                     empty_ ? ", which shows no image: it does not exist, has "
                              "none, or has one that is gone or in the trash"
                            : ""),
        std::move(remedy));
  }

  AuditedPlace& place_;
  const GroupAttributes& group_;
  const std::string spec_;
  std::map<ImageName, std::string> ids_;
  std::map<ImageName, bool> present_;  // in the rbd group; whether complete
  std::map<ImageName, bool> members_;  // in the journal
  bool empty_ = false;
  bool foreign_ = false;
};

void CheckGroup(AuditedPlace& place, const std::string& name,
                const std::string& uuid) {
  const auto group = GroupJournal(place.pool).Read(uuid);
  if (absl::IsInvalidArgument(group.status())) return;  // a group's snapshot
  const std::string object =
      place.pool.Spec(absl::StrCat("csi.volume.group.", uuid));
  if (absl::IsNotFound(group.status())) {
    place.Found(
        AuditKind::kGroups, object,
        absl::StrCat("the name '", name,
                     "' is reserved for a volume group, but ",
                     group.status().message(),
                     ". A group that is just being made looks so for a moment"),
        RadosCommand(
            place.pool.name(), place.pool.rados_namespace(),
            {"rmomapkey", absl::StrCat("csi.groups.", place.instance_id),
             absl::StrCat("csi.volume.group.", name)}));
    place.MayRepair(
        absl::StrCat("free the name '", name, "' of a volume group"),
        {OmapRepair::Change::kRemove, place.pool.rados_namespace(),
         absl::StrCat("csi.groups.", place.instance_id),
         absl::StrCat("csi.volume.group.", name), uuid});
    return;
  }
  if (!group.ok())
    return place.NotSeen(AuditKind::kGroups, object, group.status());
  GroupAudit(place, *group).Run();
}

/// Ceph's sources after release 20 mirror rbd groups as such, and note each
/// under such a key; what releases up to 20 write there never begins so.
void CheckMirroredByCeph(AuditedPlace& place) {
  constexpr absl::string_view kPrefix = "group_";
  const auto mirrored =
      place.pool.ReadOmap("rbd_mirroring", std::string(kPrefix));
  if (absl::IsNotFound(mirrored.status())) return;
  if (!mirrored.ok()) {
    return place.NotSeen(AuditKind::kGroups, place.pool.Spec(""),
                         mirrored.status());
  }
  for (const auto& [key, value] : *mirrored) {
    const std::string id = key.substr(kPrefix.size());
    const auto name = FindGroupName(place.pool, id);
    place.Found(AuditKind::kGroups, place.pool.Spec(name.value_or(id)),
                "Ceph mirrors this rbd group as a group, which this daemon "
                "does not know: it would mirror, move and disable each image "
                "alone, against what Ceph does. Ask no verb of this daemon for "
                "the group or its images",
                "");
  }
}

}  // namespace

void AuditGroups(AuditedPlace& place) {
  CheckMirroredByCeph(place);
  GroupDirectory directory(place.pool, place.instance_id);
  std::optional<std::string> after;
  for (;;) {
    const auto page = directory.List(after, kPage);
    if (absl::IsNotFound(page.status())) return;
    if (!page.ok()) {
      return place.NotSeen(
          AuditKind::kGroups,
          place.pool.Spec(absl::StrCat("csi.groups.", place.instance_id)),
          page.status());
    }
    for (const auto& [name, uuid] : page->uuids) {
      CheckGroup(place, name, uuid);
      after = name;
    }
    if (!page->more || page->uuids.empty()) return;
  }
}

}  // namespace addons
