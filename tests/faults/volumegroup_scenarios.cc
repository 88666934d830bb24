// The verbs that make and change volume groups.

#include <cerrno>
#include <chrono>
#include <utility>

#include "tests/faults/scenario.h"

namespace addons::testing {
namespace {

Scenario Make(std::string name, std::string rpc,
              std::function<void(Rig&)> prepare,
              std::function<absl::Status(Rig&)> call) {
  return {std::move(name),    "volumegroup.Controller", std::move(rpc), "a",
          std::move(prepare), std::move(call)};
}

using Ids = std::vector<std::string>;

void Volumes(Rig& rig) {
  for (int i = 0; i < 3; ++i) {
    rig.ids_.push_back(rig.pair_.AddVolume(rig.a_, Rig::MemberUuid(i)));
  }
}
Ids First(Rig& rig) { return {rig.ids_[0], rig.ids_[1]}; }
Ids Second(Rig& rig) { return {rig.ids_[1], rig.ids_[2]}; }

absl::Status Create(Rig& rig) { return rig.CreateGroup(rig.a_, First(rig)); }
absl::Status Modify(Rig& rig) { return rig.ModifyGroup(rig.a_, Second(rig)); }
absl::Status Delete(Rig& rig) { return rig.DeleteGroup(rig.a_); }

/// The uuid of a group that the journal does not have.
constexpr char kAdopted[] = "1603eb04-e188-4ec4-a750-bec38d49ac0a";

void Created(Rig& rig) {
  Volumes(rig);
  rig.CreateGroupOf(First(rig));
}
void Emptied(Rig& rig) {
  Created(rig);
  ASSERT_OK(rig.ModifyGroup(rig.a_, {}));
}
/// Members 0 and 1 are mirrored for the group, 2 is a volume that is not.
void CreatedAndMirrored(Rig& rig) {
  Created(rig);
  ASSERT_OK(rig.EnableMembers(rig.a_));
  rig.world_.Advance(std::chrono::minutes(2));
  for (int i = 0; i < 2; ++i) {
    rig.pair_.AddJournal(rig.b_, Rig::MemberUuid(i));
  }
}

}  // namespace

std::vector<Scenario> VolumeGroupScenarios() {
  std::vector<Scenario> all;
  all.push_back(Make("CreateGroupFresh", "CreateVolumeGroup", Volumes, Create));
  all.push_back(
      Make("CreateGroupRepeated", "CreateVolumeGroup", Created, Create));
  all.push_back(Make(
      "CreateGroupHalfDone", "CreateVolumeGroup",
      [](Rig& rig) {
        Created(rig);
        const auto groups = rig.a_.Groups(MirroredPair::kPool, "");
        rig.a_.LeaveGroupImageIncomplete(MirroredPair::kPool, "",
                                         groups.begin()->first,
                                         rig.a_.ImageId(Rig::MemberImage(2)));
      },
      [](Rig& rig) { return rig.CreateGroup(rig.a_, rig.ids_); }));
  all.push_back(
      Make("ModifyGroupFresh", "ModifyVolumeGroupMembership", Created, Modify));
  all.push_back(Make(
      "ModifyGroupRepeated", "ModifyVolumeGroupMembership",
      [](Rig& rig) {
        Created(rig);
        ASSERT_OK(Modify(rig));
      },
      Modify));
  all.push_back(Make(
      "ModifyGroupHalfDone", "ModifyVolumeGroupMembership",
      [](Rig& rig) {
        Created(rig);
        rig.DieIn(rig.a_, "rbd_group_image_add", Modify);
      },
      Modify));
  all.push_back(Make("ModifyMirroredGroup", "ModifyVolumeGroupMembership",
                     CreatedAndMirrored, Modify));
  all.push_back(Make(
      "AdoptGroup", "ModifyVolumeGroupMembership",
      [](Rig& rig) {
        Volumes(rig);
        rig.group_id_ = rig.pair_.VolumeId(rig.a_, kAdopted);
      },
      [](Rig& rig) { return rig.ModifyGroup(rig.a_, First(rig)); }));
  // A volume without journal entry is broken, and leaves without more ado.
  for (Scenario& scenario : all) {
    if (scenario.rpc == "ModifyVolumeGroupMembership") {
      scenario.believes = {{ENOENT}};
    }
  }
  all.push_back(Make("DeleteGroupFresh", "DeleteVolumeGroup", Emptied, Delete));
  all.push_back(Make(
      "DeleteGroupRepeated", "DeleteVolumeGroup",
      [](Rig& rig) {
        Emptied(rig);
        ASSERT_OK(Delete(rig));
      },
      Delete));
  // The rbd group is gone; the journal and the name are there.
  all.push_back(Make(
      "DeleteGroupHalfDone", "DeleteVolumeGroup",
      [](Rig& rig) {
        Emptied(rig);
        rig.DieIn(rig.a_, "rbd_group_remove", Delete);
      },
      Delete));
  all.push_back(Make("GetGroup", "ControllerGetVolumeGroup", Created,
                     [](Rig& rig) { return rig.GetGroup(rig.a_); }));
  all.push_back(Make("ListGroups", "ListVolumeGroups", Created,
                     [](Rig& rig) { return rig.ListGroups(rig.a_); }));
  // What the user may not read is not listed.
  all.back().believes = {{EPERM}, {EACCES}, {ENOENT}};
  return all;
}

}  // namespace addons::testing
