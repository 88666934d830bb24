#include "volume/group_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "ceph/errors.h"
#include "ceph/pool.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/volume/journal_fixtures.h"
#include "tests/unit/volume/memory_cluster.h"

namespace addons {
namespace {

using ::addons::testing::kFixtureBlockVolume;
using ::addons::testing::kFixtureVolume;
using ::addons::testing::MemoryCluster;
using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kUuid[] = "11111111-2222-3333-4444-555555555555";
constexpr char kObject[] =
    "csi.volume.group.11111111-2222-3333-4444-555555555555";
class GroupJournalTest : public ::testing::Test {
 protected:
  GroupJournalTest() {
    cluster_.PutFixtures();
    pool_ = *cluster_.OpenPool(2, "", Access::kRead);
  }

  absl::StatusOr<GroupAttributes> Read(const std::string& uuid) {
    return GroupJournal(*pool_).Read(uuid);
  }

  MemoryCluster cluster_;
  std::unique_ptr<Pool> pool_;
};

TEST_F(GroupJournalTest, ReadsAGroupOfARealProvisioner) {
  const auto group = Read("1603eb04-e188-4ec4-a750-bec38d49ac0a");
  ASSERT_OK(group);
  EXPECT_EQ(group->request_name, "vg-fix-1");
  EXPECT_EQ(group->group_name,
            "csi-vol-group-1603eb04-e188-4ec4-a750-bec38d49ac0a");
  EXPECT_EQ(group->creation_time, "2026-11-20T11:43:38.840418481Z");
  EXPECT_THAT(group->members, ElementsAre(kFixtureVolume, kFixtureBlockVolume));
}

TEST_F(GroupJournalTest, ReadsAnEmptyGroupWithAnotherNamePrefix) {
  const auto group = Read("ef99f915-2181-4dff-a96e-bb1ee41d9f46");
  ASSERT_OK(group);
  EXPECT_EQ(group->request_name, "vg-fix-2");
  EXPECT_EQ(group->group_name, "mygrp-ef99f915-2181-4dff-a96e-bb1ee41d9f46");
  EXPECT_THAT(group->members, IsEmpty());
}

TEST_F(GroupJournalTest, CostsOneRead) {
  ASSERT_OK(Read("1603eb04-e188-4ec4-a750-bec38d49ac0a"));
  EXPECT_THAT(cluster_.Calls(),
              ElementsAre("OpenPool 2",
                          "ReadOmap csi.volume.group."
                          "1603eb04-e188-4ec4-a750-bec38d49ac0a"));
}

TEST_F(GroupJournalTest, DoesNotFindWhatIsNoGroup) {
  // A volume, a snapshot, nothing at all.
  for (const char* uuid : {"b891b493-7754-470d-b2a0-4ca18f698b29",
                           "5ef79ce1-81e8-439b-8405-35138edf5b89", kUuid}) {
    EXPECT_THAT(Read(uuid), StatusIs(absl::StatusCode::kNotFound,
                                     AllOf(HasSubstr("'csi.volume.group."),
                                           HasSubstr("pool 'replicapool'"))));
  }
}

TEST_F(GroupJournalTest, TakesAnUnfinishedReservationForNoGroup) {
  cluster_.Put(2, "", kObject, {});
  EXPECT_THAT(Read(kUuid), StatusIs(absl::StatusCode::kNotFound,
                                    HasSubstr("unfinished reservation")));
}

TEST_F(GroupJournalTest, RecognisesAVolumeGroupSnapshot) {
  cluster_.Put(2, "", kObject,
               {{"csi.volname", "groupsnapshot-1"},
                {"csi.groupname", "csi-vol-group-x"},
                {kFixtureVolume,
                 "0001-0006-peer-a-0000000000000002-5ef79ce1-81e8-439b-8405-"
                 "35138edf5b89"}});
  EXPECT_THAT(Read(kUuid), StatusIs(absl::StatusCode::kInvalidArgument,
                                    HasSubstr("volume group snapshot")));
}

TEST_F(GroupJournalTest, ReadsAGroupWithoutCreationTime) {
  cluster_.Put(2, "", kObject,
               {{"csi.groupname", "csi-vol-group-x"}, {kFixtureVolume, ""}});
  const auto group = Read(kUuid);
  ASSERT_OK(group);
  EXPECT_EQ(group->creation_time, "");
  EXPECT_THAT(group->members, ElementsAre(kFixtureVolume));
}

TEST_F(GroupJournalTest, PassesErrorsOn) {
  cluster_.SetHook(
      [](const std::string&) { return CephError(-110, "read", "object"); });
  const auto group = Read(kUuid);
  EXPECT_THAT(group, StatusIs(absl::StatusCode::kDeadlineExceeded,
                              HasSubstr("Failed to read journal object")));
  EXPECT_EQ(CephErrno(group.status()), 110);
}

}  // namespace
}  // namespace addons
