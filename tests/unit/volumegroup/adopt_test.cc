// A group under the id that it has on this site after a failover, when the
// journal of this site does not have it.

#include <gmock/gmock.h>

#include <utility>

#include "lease/keeper.h"
#include "replication/group/members.h"
#include "replication/group/promote.h"
#include "tests/unit/volumegroup/groups_fixture.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kGroup[] = "1603eb04-e188-4ec4-a750-bec38d49ac0a";

class AdoptGroupTest : public GroupTest {
 protected:
  /// Volumes that are primary on a and mirrored to b; their ids on a.
  std::vector<std::string> AddMirrored(int count) {
    std::vector<std::string> ids;
    for (int i = 1; i <= count; ++i) {
      ids.push_back(pair_.AddMirroredVolume(a_, Uuid(i)));
    }
    world_.ClearCalls();
    return ids;
  }
  std::string OnA(const std::string& uuid) { return pair_.VolumeId(a_, uuid); }
  std::string OnB(const std::string& uuid) { return pair_.VolumeId(b_, uuid); }
  std::vector<std::string> VolumesOnB(int count) {
    std::vector<std::string> ids;
    for (int i = 1; i <= count; ++i) ids.push_back(OnB(Uuid(i)));
    return ids;
  }
  static std::string Object() {
    return absl::StrCat("csi.volume.group.", kGroup);
  }
  static std::string RbdGroup() {
    return absl::StrCat("csi-vol-group-", kGroup);
  }
  OmapValues JournalOn(FakeSite& site) {
    return site.Omap(kPool, "", Object());
  }
  OmapValues DirectoryOn(FakeSite& site) {
    return site.HasOmap(kPool, "", "csi.groups.default")
               ? site.Omap(kPool, "", "csi.groups.default")
               : OmapValues();
  }
  absl::StatusOr<JournalMembers> MembersFor(GroupDaemon& daemon,
                                            const std::string& group_id) {
    return ReadGroupMembers(daemon.mirroring().resolver, GroupHandle(group_id),
                            daemon.site().user(),
                            RealClock().Now() + std::chrono::minutes(1));
  }
  GroupTarget Target(GroupDaemon& daemon, const std::string& group_id) {
    auto members = MembersFor(daemon, group_id);
    EXPECT_OK(members.status());
    JournalMembers found = members.value_or(JournalMembers());
    return {GroupHandle(group_id), daemon.site().user(),
            std::move(found.volumes), std::move(found.place)};
  }
  /// Nothing of the group is on b, and nothing was changed.
  void ExpectUntouched(FakeSite& site) {
    EXPECT_EQ(world_.CountMutations(), 0);
    EXPECT_FALSE(site.HasOmap(kPool, "", Object()));
    EXPECT_THAT(DirectoryOn(site), IsEmpty());
    EXPECT_THAT(site.Groups(kPool, ""), IsEmpty());
  }
};

TEST_F(AdoptGroupTest, IsWrittenAsCreateWritesIt) {
  AddMirrored(2);
  const auto volumes = VolumesOnB(2);
  const auto group = Modify(on_b_, OnB(kGroup), volumes);
  ASSERT_OK(group);
  EXPECT_EQ(group->group_id, OnB(kGroup));
  EXPECT_EQ(Ids(*group), volumes);
  const OmapValues journal = JournalOn(b_);
  EXPECT_THAT(
      journal,
      UnorderedElementsAre(
          Pair("csi.volname", RbdGroup()), Pair("csi.groupname", RbdGroup()),
          Pair("csi.creationtime",
               ::testing::MatchesRegex(
                   "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}[.0-9]*Z")),
          Pair(volumes[0], ""), Pair(volumes[1], "")));
  EXPECT_THAT(DirectoryOn(b_),
              ElementsAre(Pair("csi.volume.group." + RbdGroup(), kGroup)));
  // Secondary images stay out of it.
  EXPECT_THAT(b_.Groups(kPool, ""), ElementsAre(Pair(RbdGroup(), IsEmpty())));
  EXPECT_THAT(on_b_.replication().calls, IsEmpty());
  const auto page = ListGroups(on_b_.environment(), {0, "", b_.user()});
  ASSERT_OK(page);
  ASSERT_EQ(page->groups.size(), 1U);
  EXPECT_EQ(page->groups[0].group_id, OnB(kGroup));

  // Create makes the same of the same volumes, but for the name.
  const auto made =
      Create(on_b_, "vg", volumes, {{"clusterID", "site-b"}, {"pool", kPool}});
  ASSERT_OK(made);
  OmapValues created = b_.Omap(kPool, "", ObjectOf(made->group_id));
  created["csi.creationtime"] = journal.at("csi.creationtime");
  created["csi.volname"] = RbdGroup();
  created["csi.groupname"] = RbdGroup();
  EXPECT_EQ(created, journal);
}

TEST_F(AdoptGroupTest, IsPromotedAfterwardsAndNotBefore) {
  AddMirrored(2);
  const auto before = MembersFor(on_b_, OnB(kGroup));
  EXPECT_THAT(before.status(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("ModifyVolumeGroupMembership there has named "
                                 "all of its volumes")));
  ASSERT_OK(Modify(on_b_, OnB(kGroup), VolumesOnB(2)));
  a_.Demote(Image(1));
  a_.Demote(Image(2));
  world_.Advance(std::chrono::minutes(2));
  TestOperationContext promote(world_);
  promote.SetClock(clock_);
  ASSERT_OK(PromoteGroup(promote, on_b_.mirroring(), Target(on_b_, OnB(kGroup)),
                         Force::kNo, *ReplicationParameters::Parse({})));
  EXPECT_TRUE(b_.Info(Image(1)).primary);
  EXPECT_TRUE(b_.Info(Image(2)).primary);
  EXPECT_THAT(b_.Groups(kPool, ""),
              ElementsAre(Pair(RbdGroup(), ElementsAre(Image(1), Image(2)))));
}

TEST_F(AdoptGroupTest, AlsoUnderTheIdsOfTheOtherSite) {
  const auto volumes = AddMirrored(2);
  ASSERT_OK(Modify(on_b_, OnA(kGroup), volumes));
  EXPECT_THAT(JournalOn(b_), AllOf(::testing::Contains(Key(volumes[0])),
                                   ::testing::Contains(Key(volumes[1]))));
  // It is the same group under both ids.
  world_.ClearCalls();
  ASSERT_OK(Modify(on_b_, OnB(kGroup), VolumesOnB(2)));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_EQ(CountReads(), 1);
}

TEST_F(AdoptGroupTest, AVolumeThatIsNotHereIsNamedAndNothingIsChanged) {
  AddMirrored(1);
  const std::string missing = OnB(Uuid(9));
  EXPECT_THAT(Modify(on_b_, OnB(kGroup), {OnB(Uuid(1)), missing}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(missing), HasSubstr("adopted"))));
  ExpectUntouched(b_);
  // Nor one whose image is missing.
  pair_.AddJournal(b_, Uuid(9));
  EXPECT_THAT(Modify(on_b_, OnB(kGroup), {OnB(Uuid(1)), missing}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(missing)));
  ExpectUntouched(b_);
}

TEST_F(AdoptGroupTest, WithoutVolumesNothingIsKnown) {
  EXPECT_THAT(Modify(on_b_, OnB(kGroup), {}),
              StatusIs(absl::StatusCode::kNotFound));
  ExpectUntouched(b_);
}

TEST_F(AdoptGroupTest, WhatCannotBeInItIsRefused) {
  const auto volumes = AddVolumes(2);
  ASSERT_OK(Create(on_a_, "other", {volumes[1]}));
  world_.ClearCalls();
  EXPECT_THAT(Modify(on_a_, OnA(kGroup), volumes),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(Modify(on_a_, OnA(kGroup),
                     {pair_.AddVolume(a_, Uuid(8), 1 << 20, "tenant1")}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  on_a_.environment().options.max_members = 1;
  EXPECT_THAT(Modify(on_a_, OnA(kGroup), volumes),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_FALSE(a_.HasOmap(kPool, "", Object()));
}

TEST_F(AdoptGroupTest, APoolThatIsNotMappedIsNamed) {
  AddMirrored(1);
  GroupDaemon unmapped(world_, b_, kConfigB,
                       R"([{"clusterIDMapping": {"site-a": "site-b"}}])");
  EXPECT_THAT(Modify(unmapped, OnA(kGroup), {OnB(Uuid(1))}),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("does not say which pool of cluster 'site-b' "
                                 "stands for pool 2 of cluster 'site-a'")));
  ExpectUntouched(b_);
}

TEST_F(AdoptGroupTest, SilenceOfAClusterIsNoAbsence) {
  const auto volumes = AddVolumes(1);
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return absl::StartsWith(call, "rados_read") ? ETIMEDOUT : 0;
  });
  EXPECT_THAT(Modify(on_a_, OnA(kGroup), volumes).status().code(),
              ::testing::AnyOf(absl::StatusCode::kUnavailable,
                               absl::StatusCode::kDeadlineExceeded));
  world_.SetCallHook(nullptr);
  ExpectUntouched(a_);
}

TEST_F(AdoptGroupTest, TheClassNamesTheRbdGroup) {
  const auto volumes = AddVolumes(1);
  const auto group = Run([&](OperationContext& context, const KeySet& held) {
    return ModifyGroup(
        context, on_a_.environment(),
        {GroupHandle(OnA(kGroup)), Handles(volumes), {}, a_.user(), "mine-"},
        held);
  });
  ASSERT_OK(group);
  EXPECT_THAT(RbdGroups(), ElementsAre(Pair(absl::StrCat("mine-", kGroup),
                                            ElementsAre(Image(1)))));
  EXPECT_EQ(JournalOn(a_).at("csi.groupname"), absl::StrCat("mine-", kGroup));
}

// The driver's controller is known to write members to an object without
// names.
TEST_F(AdoptGroupTest, MembersThatNobodyNamesAreNoneOfIt) {
  const auto volumes = AddVolumes(2);
  a_.AddOmapValue(kPool, "", Object(), volumes[1], "");
  ASSERT_OK(Modify(on_a_, OnA(kGroup), {volumes[0]}));
  EXPECT_THAT(Members(OnA(kGroup)), ElementsAre(volumes[0]));
}

// The driver's controller writes the same group at the same moment.
TEST_F(AdoptGroupTest, WhoWritesTheGroupMeanwhileKeepsIt) {
  const auto volumes = AddVolumes(2);
  bool done = false;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    // The first volume is looked at.
    if (call == "rados_read_op_omap_get_vals_by_keys2" &&
        !std::exchange(done, true)) {
      a_.SetOmap(kPool, "", Object(),
                 {{"csi.volname", "vgrcontent-1"},
                  {"csi.groupname", "mygrp-" + std::string(kGroup)},
                  {"csi.creationtime", "2026-11-20T11:43:38.840418481Z"},
                  {volumes[0], ""}});
    }
    return 0;
  });
  EXPECT_THAT(Modify(on_a_, OnA(kGroup), volumes),
              StatusIs(absl::StatusCode::kAborted));
  EXPECT_TRUE(done);
  EXPECT_EQ(JournalOn(a_).at("csi.volname"), "vgrcontent-1");
  EXPECT_THAT(DirectoryOn(a_), IsEmpty());
  EXPECT_THAT(RbdGroups(), IsEmpty());
  ASSERT_OK(Modify(on_a_, OnA(kGroup), volumes));
  EXPECT_THAT(Members(OnA(kGroup)), ElementsAre(volumes[0], volumes[1]));
  EXPECT_EQ(JournalOn(a_).at("csi.volname"), "vgrcontent-1");
}

// ENOENT of an entry that is there is a lie of Ceph.
TEST_F(AdoptGroupTest, AGroupThatIsThereIsNotAdoptedOnceMore) {
  const auto volumes = AddVolumes(2);
  ASSERT_OK(Modify(on_a_, OnA(kGroup), volumes));
  const OmapValues journal = JournalOn(a_);
  const OmapValues directory = DirectoryOn(a_);
  bool lies = true;
  world_.SetCallHook([&](absl::string_view, absl::string_view, bool mutation) {
    lies &= !mutation;
    return lies && world_.Calls().back().object == Object() ? ENOENT : 0;
  });
  EXPECT_THAT(Modify(on_a_, OnA(kGroup), {volumes[0]}),
              StatusIs(absl::StatusCode::kAborted));
  world_.SetCallHook(nullptr);
  EXPECT_EQ(JournalOn(a_), journal);
  EXPECT_EQ(DirectoryOn(a_), directory);
}

// What the class says may change before the same call finishes an adoption.
TEST_F(AdoptGroupTest, AnAdoptionThatDiedKeepsItsName) {
  const auto volumes = AddVolumes(1);
  const auto adopt = [&](const std::string& prefix) {
    return Run([&](OperationContext& context, const KeySet& held) {
      return ModifyGroup(
          context, on_a_.environment(),
          {GroupHandle(OnA(kGroup)), Handles(volumes), {}, a_.user(), prefix},
          held);
    });
  };
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_group_image_add" ? EIO : 0;
  });
  EXPECT_FALSE(adopt("mine-").ok());
  world_.SetCallHook(nullptr);
  ASSERT_OK(adopt("yours-"));
  EXPECT_THAT(RbdGroups(), ElementsAre(Pair(absl::StrCat("mine-", kGroup),
                                            ElementsAre(Image(1)))));
  EXPECT_EQ(JournalOn(a_).at("csi.groupname"), absl::StrCat("mine-", kGroup));
}

// Another daemon is quicker: what it has made is found with the lease.
TEST_F(AdoptGroupTest, WhatAnotherDaemonHasAdoptedMeanwhileIsSeen) {
  const auto volumes = AddVolumes(2);
  bool done = false;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    if (call == "rados_lock_exclusive" && !std::exchange(done, true)) {
      EXPECT_OK(Modify(also_on_a_, OnA(kGroup), volumes));
    }
    return 0;
  });
  EXPECT_OK(Modify(on_a_, OnA(kGroup), {volumes[1]}));
  EXPECT_TRUE(done);
  EXPECT_THAT(Members(OnA(kGroup)), ElementsAre(volumes[1]));
  EXPECT_THAT(RbdGroups(),
              ElementsAre(Pair(RbdGroup(), ElementsAre(Image(2)))));
}

/// A fresh pair of sites for each point at which the adoption dies.
class DyingAdoption : public AdoptGroupTest {
 public:
  void TestBody() override {}

  DyingAdoption() {
    on_a_.environment().options.concurrency = 1;
    volumes_ = AddVolumes(2);
    world_.ClearCalls();
  }
  int CountChanges() {
    EXPECT_OK(Modify(on_a_, OnA(kGroup), volumes_));
    return world_.CountMutations();
  }
  void Die(int at, int error, bool after) {
    world_.StrikeAtMutation(at, error, after);
    try {
      (void)Modify(on_a_, OnA(kGroup), volumes_);
    } catch (const FakeCrash&) {
    }
    world_.SetCallHook(nullptr);
    // It is seen whole, or not at all.
    const auto members = MembersFor(on_a_, OnA(kGroup));
    if (members.ok()) {
      EXPECT_EQ(members->volumes, Handles(volumes_));
    } else {
      EXPECT_THAT(members.status(), StatusIs(absl::StatusCode::kNotFound));
    }
  }
  void ExpectFinished() {
    EXPECT_OK(Modify(on_a_, OnA(kGroup), volumes_));
    EXPECT_EQ(Members(OnA(kGroup)), volumes_);
    EXPECT_EQ(JournalOn(a_).size(), 5U);
    EXPECT_THAT(DirectoryOn(a_),
                ElementsAre(Pair("csi.volume.group." + RbdGroup(), kGroup)));
    EXPECT_THAT(RbdGroups(),
                ElementsAre(Pair(RbdGroup(), ElementsAre(Image(1), Image(2)))));
    EXPECT_THAT(world_.Violations(), IsEmpty());
  }
  void ExpectDeleted() {
    if (MembersFor(on_a_, OnA(kGroup)).ok()) {
      EXPECT_OK(Modify(on_a_, OnA(kGroup), {}));
    }
    EXPECT_OK(Delete(on_a_, OnA(kGroup)));
    EXPECT_THAT(RbdGroups(), IsEmpty());
    // A name alone, and an object without a name, which may be the driver's,
    // are what Create leaves, too.
    if (a_.HasOmap(kPool, "", Object())) {
      EXPECT_THAT(JournalOn(a_), IsEmpty());
    }
    const auto page = ListGroups(on_a_.environment(), {0, "", a_.user()});
    ASSERT_OK(page);
    EXPECT_THAT(page->groups, IsEmpty());
  }

 private:
  std::vector<std::string> volumes_;
};

TEST(DyingAdoptionTest, IsFinishedByTheSameCallAndRemovedByDelete) {
  const int changes = DyingAdoption().CountChanges();
  EXPECT_GE(changes, 7);
  for (int at = 1; at <= changes; ++at) {
    for (const int error : {0, EIO, EBUSY, ESHUTDOWN, ENOSPC}) {
      for (const bool after : {false, true}) {
        SCOPED_TRACE(absl::StrCat("change ", at, " errno ", error,
                                  after ? " after" : " before"));
        {
          DyingAdoption scene;
          scene.Die(at, error, after);
          scene.ExpectFinished();
        }
        {
          DyingAdoption scene;
          scene.Die(at, error, after);
          scene.ExpectDeleted();
        }
      }
    }
  }
}

}  // namespace
}  // namespace addons::testing
