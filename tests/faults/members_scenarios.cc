// The verbs of replication on a volume group of two members.

#include <chrono>
#include <utility>

#include "tests/faults/scenario.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;

constexpr int kMembers = 2;

Scenario Make(std::string name, std::string rpc, std::string site,
              std::function<void(Rig&)> prepare,
              std::function<absl::Status(Rig&)> call) {
  return {std::move(name), "replication.Controller", std::move(rpc),
          std::move(site), std::move(prepare),       std::move(call)};
}

const ParameterMap& Every5Minutes() {
  static const ParameterMap* const map =
      new ParameterMap{{"schedulingInterval", "5m"}};
  return *map;
}

absl::Status DemoteA(Rig& rig) { return rig.DemoteMembers(rig.a_); }
absl::Status PromoteB(Rig& rig) {
  return rig.PromoteMembers(rig.b_, Force::kNo, Every5Minutes());
}
absl::Status ForceB(Rig& rig) {
  return rig.PromoteMembers(rig.b_, Force::kYes, Every5Minutes());
}

absl::Status EnableA(Rig& rig) { return rig.EnableMembers(rig.a_); }
absl::Status DisableA(Rig& rig) { return rig.DisableMembers(rig.a_); }
absl::Status ResyncA(Rig& rig) {
  return rig.ResyncMembers(rig.a_, Force::kYes);
}

void Plain(Rig& rig) { rig.AddPlainMembers(kMembers); }
void Mirrored(Rig& rig) { rig.AddMirroredMembers(kMembers); }
void Demoted(Rig& rig) {
  Mirrored(rig);
  for (int i = 0; i < kMembers; ++i) rig.a_.Demote(Rig::MemberImage(i));
  rig.world_.Advance(minutes(1));
}
void Lost(Rig& rig) {
  Mirrored(rig);
  rig.LoseA();
}

/// All members were promoted by force on b while a was away, and are demoted on
/// a since.
void Split(Rig& rig) {
  Lost(rig);
  for (int i = 0; i < kMembers; ++i) {
    rig.b_.Promote(Rig::MemberImage(i), Force::kYes);
  }
  rig.a_.SetClusterUp(true);
  rig.world_.Advance(minutes(1));
  ASSERT_OK(DemoteA(rig));
  rig.world_.Advance(minutes(2));
}

using Call = absl::Status (*)(Rig&);

/// The state in which it has ended in OK.
std::function<void(Rig&)> Done(void (*prepare)(Rig&), Call call) {
  return [prepare, call](Rig& rig) {
    prepare(rig);
    absl::Status status = call(rig);
    for (int i = 0; i < 40 && !status.ok(); ++i) {
      rig.world_.Advance(std::chrono::seconds(20));
      status = call(rig);
    }
    ASSERT_OK(status);
    rig.world_.Advance(minutes(1));
  };
}

void AddRepeated(std::vector<Scenario>* all) {
  const auto add = [all](const std::string& name, const std::string& rpc,
                         const std::string& site, void (*prepare)(Rig&),
                         Call call) {
    all->push_back(Make(name, rpc, site, Done(prepare, call), call));
  };
  add("GroupEnableRepeated", "EnableVolumeReplication", "a", Plain, EnableA);
  add("GroupPromoteRepeated", "PromoteVolume", "b", Demoted, PromoteB);
  add("GroupDemoteRepeated", "DemoteVolume", "a", Mirrored, DemoteA);
  add("GroupDisableRepeated", "DisableVolumeReplication", "a", Mirrored,
      DisableA);
  add("GroupResyncRepeated", "ResyncVolume", "a", Split, ResyncA);
}

void AddHalfDone(std::vector<Scenario>* all) {
  // The daemon died after the first member's change.
  const auto add = [all](const std::string& name, const std::string& rpc,
                         void (*prepare)(Rig&), const std::string& function,
                         const std::string& at, Call call) {
    all->push_back(Make(
        name, rpc, at,
        [prepare, function, at, call](Rig& rig) {
          prepare(rig);
          rig.DieIn(at == "a" ? rig.a_ : rig.b_, function, call);
        },
        call));
  };
  add("GroupEnableHalfDone", "EnableVolumeReplication", Plain,
      "rbd_mirror_image_enable2", "a", EnableA);
  add("GroupDisableHalfDone", "DisableVolumeReplication", Mirrored,
      "rbd_mirror_image_disable", "a", DisableA);
  add("GroupPromoteForcedHalfDone", "PromoteVolume", Lost,
      "rbd_mirror_image_promote", "b", ForceB);
}

}  // namespace

std::vector<Scenario> MembersScenarios() {
  // A manager that does not answer keeps no volume from being primary: the
  // schedule is written down, and the next call or the upkeep sets it.
  const Deferred schedule = {"rados_mgr_command", ": schedule "};
  const Deferred stored = {"rados_mgr_command",
                           "/rbd_mirror_snapshot_schedule"};
  // Who is a member stands in the journal: nothing of a failover depends on the
  // rbd group, and what fails there is logged (replication/group/rbd_group.h).
  const Deferred rbd_group = {"", "group"};
  std::vector<Scenario> all;
  all.push_back(
      Make("GroupEnable", "EnableVolumeReplication", "a", Plain, EnableA));
  all.push_back(
      Make("GroupPromotePlanned", "PromoteVolume", "b", Demoted, PromoteB));
  all.push_back(Make(
      "GroupPromoteHalfDone", "PromoteVolume", "b",
      [](Rig& rig) {
        Demoted(rig);
        rig.b_.Promote(Rig::MemberImage(0), Force::kNo);
      },
      PromoteB));
  all.push_back(Make("GroupPromoteForced", "PromoteVolume", "b", Lost, ForceB));
  all.push_back(Make("GroupDemote", "DemoteVolume", "a", Mirrored, DemoteA));
  all.push_back(Make(
      "GroupDemoteHalfDone", "DemoteVolume", "a",
      [](Rig& rig) {
        Mirrored(rig);
        rig.a_.Demote(Rig::MemberImage(1));
        rig.world_.Advance(minutes(1));
      },
      DemoteA));
  all.push_back(Make("GroupDisable", "DisableVolumeReplication", "a", Mirrored,
                     DisableA));
  all.push_back(Make("GroupResync", "ResyncVolume", "a", Split, ResyncA));
  AddRepeated(&all);
  AddHalfDone(&all);
  Scenario info = Make("GroupInfo", "GetVolumeReplicationInfo", "b", Mirrored,
                       [](Rig& rig) { return rig.MembersInfo(rig.b_); });
  // What could not be seen may make it worse, and never better.
  info.agrees = [](const std::string& said, const std::string& wanted) {
    return said >= wanted;
  };
  all.push_back(std::move(info));
  all.push_back(Make("GroupDestination", "GetReplicationDestinationInfo", "a",
                     Mirrored,
                     [](Rig& rig) { return rig.MembersDestination(rig.a_); }));
  for (Scenario& scenario : all) {
    scenario.deferred = {schedule, stored, rbd_group};
  }
  return all;
}

}  // namespace addons::testing
