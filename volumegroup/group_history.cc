#include "volumegroup/group_history.h"

#include "absl/strings/str_cat.h"

namespace addons {

void LocateGroup(const VolumeGroupEnvironment& environment,
                 const std::string& object, const ResolvedPlace& place) {
  if (environment.history == nullptr) return;
  environment.history->Locate(object, place, "");
}

void NoteMembers(const VolumeGroupEnvironment& environment,
                 const ResolvedGroup& group, const CephUserRef& user,
                 Membership what, const std::vector<VolumeHandle>& changed,
                 const std::vector<MemberView>& views) {
  if (environment.history == nullptr) return;
  EventLog& history = *environment.history;
  for (const MemberView& view : views) {
    if (!view.volume.has_value()) continue;
    history.Locate(view.volume_id.text(), *view.volume,
                   view.volume->ImageSpec());
  }
  const bool joined = what == Membership::kJoined;
  LocateGroup(environment, group.group_id.text(), group);
  for (const VolumeHandle& id : changed) {
    HistoryEvent of_group;
    of_group.object = group.group_id.text();
    of_group.verb =
        absl::StrCat(joined ? "add" : "remove", " volume ", id.text());
    of_group.user = user->id;
    of_group.code = "OK";
    history.Add(std::move(of_group));

    HistoryEvent of_volume;
    of_volume.object = id.text();
    of_volume.from = joined ? "in no group" : "member of a group";
    of_volume.to = joined ? "member of a group" : "in no group";
    of_volume.text = absl::StrCat("volume group ", group.group_id.text());
    history.Add(std::move(of_volume));
  }
}

}  // namespace addons
