#ifndef ADDONS_TESTS_UNIT_REPLICATION_GROUP_GROUP_FIXTURE_H_
#define ADDONS_TESTS_UNIT_REPLICATION_GROUP_GROUP_FIXTURE_H_

#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "replication/group/demote.h"
#include "replication/group/destination.h"
#include "replication/group/disable.h"
#include "replication/group/enable.h"
#include "replication/group/info.h"
#include "replication/group/members.h"
#include "replication/group/promote.h"
#include "replication/group/resync.h"
#include "tests/fakes/paced_clock.h"
#include "tests/testing/handles.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {

inline constexpr char kGroupUuid[] = "1603eb04-e188-4ec4-a750-bec38d49ac0a";

/// A mirrored pair with a volume group, whose members are primary on a, and the
/// group verbs as an operator calls them on either site.
class GroupTest : public VerbsTest {
 protected:
  GroupTest() {
    script_ = [this](TestOperationContext& context) {
      context.SetClock(clock_);
    };
    for (Daemon* daemon : {&on_a_, &on_b_}) {
      daemon->options().group_members_at_once = 2;
    }
  }

  static std::string MemberUuid(size_t i) {
    return absl::StrFormat("5ef79ce1-81e8-439b-8405-%012d", i);
  }
  std::string Image(size_t i) const {
    return MirroredPair::ImageOf(MemberUuid(i));
  }

  /// Writes the group's journal on `site` as ceph-csi does.
  void AddGroup(FakeSite& site) {
    OmapValues values = {
        {"csi.volname", "vgrcontent-1"},
        {"csi.groupname", std::string("csi-vol-group-") + kGroupUuid},
        {"csi.creationtime", "2026-11-20T11:43:38.840418481Z"}};
    for (const std::string& id : ids_) values[id] = "";
    site.SetOmap(MirroredPair::kPool, "",
                 std::string("csi.volume.group.") + kGroupUuid, values);
  }
  void AddMirroredGroup(size_t members) {
    for (size_t i = 0; i < members; ++i) {
      ids_.push_back(
          pair_.AddMirroredVolume(a_, MemberUuid(i), 2 * kSmallImage));
    }
    AddGroup(a_);
    AddGroup(b_);
    // rbd-mirror of both sites has reported on what it has.
    world_.Advance(std::chrono::minutes(1));
  }
  /// All images of the pool are copied every hour.
  void SchedulePool(FakeSite& site) {
    EXPECT_OK(pair_.cluster(site)->MgrCommand(
        R"({"prefix":"rbd mirror snapshot schedule add",)"
        R"("level_spec":"replicapool/","interval":"1h"})"));
  }
  void AddPlainGroup(size_t members) {
    for (size_t i = 0; i < members; ++i) {
      ids_.push_back(pair_.AddVolume(a_, MemberUuid(i)));
    }
    AddGroup(a_);
  }
  /// The ids of the volumes that a test makes itself.
  void AddMember(const std::string& id) { ids_.push_back(id); }

  std::string GroupId() const { return pair_.VolumeId(a_, kGroupUuid); }
  GroupTarget Group(Daemon& daemon) const {
    auto members = ReadGroupMembers(
        daemon.environment().resolver, GroupHandle(GroupId()),
        daemon.site().user(), RealClock().Now() + std::chrono::minutes(1));
    EXPECT_OK(members.status());
    JournalMembers found = members.value_or(JournalMembers());
    return {GroupHandle(GroupId()), daemon.site().user(),
            std::move(found.volumes), std::move(found.place)};
  }

  absl::Status PromoteAll(Daemon& daemon, Force force = Force::kNo,
                          const ParameterMap& parameters = {}) {
    const GroupTarget group = Group(daemon);
    return Run([&](OperationContext& context) {
      return PromoteGroup(context, daemon.environment(), group, force,
                          *ReplicationParameters::Parse(parameters));
    });
  }
  absl::Status DemoteAll(Daemon& daemon) {
    const GroupTarget group = Group(daemon);
    return Run([&](OperationContext& context) {
      return DemoteGroup(context, daemon.environment(), group);
    });
  }
  absl::Status EnableAll(Daemon& daemon, const ParameterMap& parameters = {}) {
    const GroupTarget group = Group(daemon);
    return Run([&](OperationContext& context) {
      return EnableGroup(context, daemon.environment(), group,
                         *ReplicationParameters::Parse(parameters));
    });
  }
  absl::Status DisableAll(Daemon& daemon, const ParameterMap& parameters = {}) {
    const GroupTarget group = Group(daemon);
    return Run([&](OperationContext& context) {
      return DisableGroup(context, daemon.environment(), group,
                          *ReplicationParameters::Parse(parameters));
    });
  }
  absl::StatusOr<ResyncResult> ResyncAll(Daemon& daemon,
                                         Force force = Force::kNo) {
    const GroupTarget group = Group(daemon);
    absl::StatusOr<ResyncResult> result = absl::UnknownError("not called");
    const absl::Status status = Run([&](OperationContext& context) {
      result = ResyncGroup(context, daemon.environment(), group, force);
      return result.status();
    });
    if (!status.ok()) return status;
    return result;
  }
  absl::StatusOr<ReplicationInfo> InfoOfAll(Daemon& daemon) {
    return GetGroupReplicationInfo(daemon.environment(), Group(daemon),
                                   RealClock().Now() + std::chrono::minutes(1));
  }

  size_t PrimariesOn(FakeSite& site) const {
    size_t count = 0;
    for (size_t i = 0; i < ids_.size(); ++i) {
      if (site.HasImage(Image(i)) && site.Info(Image(i)).primary) ++count;
    }
    return count;
  }
  size_t MirroredOn(FakeSite& site) const {
    size_t count = 0;
    for (size_t i = 0; i < ids_.size(); ++i) {
      if (site.Info(Image(i)).state == MirrorImageState::kEnabled) ++count;
    }
    return count;
  }

  PacedClock clock_{world_};
  std::vector<std::string> ids_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_UNIT_REPLICATION_GROUP_GROUP_FIXTURE_H_
