// Groups that a ceph-csi provisioner wrote are served, changed and deleted.

#include <gmock/gmock.h>

#include "tests/unit/volume/journal_fixtures.h"
#include "tests/unit/volumegroup/groups_fixture.h"

namespace addons::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kGroup1[] =
    "0001-0006-peer-a-0000000000000002-1603eb04-e188-4ec4-a750-bec38d49ac0a";
constexpr char kGroup2[] =
    "0001-0006-peer-a-0000000000000002-ef99f915-2181-4dff-a96e-bb1ee41d9f46";
constexpr char kVolume000[] =
    "0001-0006-peer-a-0000000000000002-b891b493-7754-470d-b2a0-4ca18f698b29";
constexpr char kVolumeBlock[] =
    "0001-0006-peer-a-0000000000000002-bb8d184b-cbf9-4985-a719-66ab3e4a6aac";
constexpr char kVolumePrefix[] =
    "0001-0006-peer-a-0000000000000002-892ea53a-f435-4550-b697-2182e85e71c5";

class DriverGroupsTest : public GroupTest {
 protected:
  DriverGroupsTest() {
    on_a_.Configure(
        R"([{"clusterID": "peer-a", "monitors": ["site-a:6789"]}])");
    for (const FixtureEntry& entry : kFixtureEntries) {
      if (entry.pool_id != 2) continue;
      a_.AddOmapValue(kPool, entry.rados_namespace, entry.object, entry.key,
                      entry.value);
      if (std::string(entry.key) == "csi.imagename" &&
          absl::StartsWith(entry.object, "csi.volume.")) {
        a_.AddImage(kPool, entry.rados_namespace, entry.value);
      }
    }
    const auto pool =
        pair_.cluster(a_)->OpenPool(2, "", Access::kMutate).value();
    for (const char* group :
         {"csi-vol-group-1603eb04-e188-4ec4-a750-bec38d49ac0a",
          "mygrp-ef99f915-2181-4dff-a96e-bb1ee41d9f46"}) {
      EXPECT_OK(pool->CreateGroup(group));
    }
    for (const char* image : {"csi-vol-b891b493-7754-470d-b2a0-4ca18f698b29",
                              "csi-vol-bb8d184b-cbf9-4985-a719-66ab3e4a6aac"}) {
      EXPECT_OK(pool->AddGroupImage(
          "csi-vol-group-1603eb04-e188-4ec4-a750-bec38d49ac0a", 2, image));
    }
    world_.ClearCalls();
  }

  GroupParameterMap Parameters() const {
    return {{"clusterID", "peer-a"}, {"pool", kPool}};
  }
};

TEST_F(DriverGroupsTest, AreGot) {
  const auto group = Get(on_a_, kGroup1);
  ASSERT_OK(group);
  EXPECT_THAT(Ids(*group), ElementsAre(kVolume000, kVolumeBlock));
  EXPECT_THAT(group->context, IsEmpty());
  ASSERT_OK(Get(on_a_, kGroup2));
}

TEST_F(DriverGroupsTest, AreListed) {
  const auto page =
      ListGroups(on_a_.environment(), {0, "", on_a_.site().user()});
  ASSERT_OK(page);
  ASSERT_THAT(page->groups, SizeIs(2));
  EXPECT_EQ(page->groups[0].group_id, kGroup1);
  EXPECT_EQ(page->groups[1].group_id, kGroup2);
}

TEST_F(DriverGroupsTest, AreWhatTheSameCreateMeans) {
  const OmapValues journal = Journal(kGroup1);
  const auto group =
      Create(on_a_, "vg-fix-1", {kVolume000, kVolumeBlock}, Parameters());
  ASSERT_OK(group);
  EXPECT_EQ(group->group_id, kGroup1);
  EXPECT_EQ(Journal(kGroup1), journal);
  // Its driver of 2024 took the prefix from volumeNamePrefix.
  GroupParameterMap parameters = Parameters();
  parameters["volumeNamePrefix"] = "mygrp-";
  const auto prefixed = Create(on_a_, "vg-fix-2", {}, parameters);
  ASSERT_OK(prefixed);
  EXPECT_EQ(prefixed->group_id, kGroup2);
}

TEST_F(DriverGroupsTest, AreModified) {
  ASSERT_OK(Modify(on_a_, kGroup1, {kVolumeBlock, kVolumePrefix}));
  OmapValues expected = {
      {kVolumeBlock, ""},
      {kVolumePrefix, ""},
      {"csi.creationtime", "2026-11-20T11:43:38.840418481Z"},
      {"csi.groupname", "csi-vol-group-1603eb04-e188-4ec4-a750-bec38d49ac0a"},
      {"csi.volname", "vg-fix-1"}};
  EXPECT_EQ(Journal(kGroup1), expected);
}

TEST_F(DriverGroupsTest, AreDeleted) {
  ASSERT_OK(Modify(on_a_, kGroup1, {}));
  ASSERT_OK(Delete(on_a_, kGroup1));
  ASSERT_OK(Delete(on_a_, kGroup2));
  EXPECT_THAT(RbdGroups(), IsEmpty());
  EXPECT_THAT(Directory(), IsEmpty());
  EXPECT_FALSE(HasJournal(kGroup1));
}

// What the driver left behind in the field: names without object, objects
// without members, and a group without a name.
TEST_F(DriverGroupsTest, StaleReservationsAreNoHindrance) {
  const std::string uuid_gone = "cf49dc4f-28e1-4fa9-9fc1-c3d27fff08c4";
  const std::string uuid_half = "d6c80d7b-687e-4421-b0cd-6069adfda115";
  const std::string uuid_nameless = "7ac17fa4-d541-411d-ae92-e347c575ad5f";
  const auto put = [&](const std::string& name, const std::string& uuid) {
    a_.AddOmapValue(kPool, "", "csi.groups.default", "csi.volume.group." + name,
                    uuid);
  };
  put("vgb1", uuid_gone);
  put("vgb2", uuid_half);
  put("", uuid_nameless);
  for (const auto& [name, uuid] :
       {std::pair<std::string, std::string>("vgb2", uuid_half),
        std::pair<std::string, std::string>("", uuid_nameless)}) {
    a_.SetOmap(kPool, "", "csi.volume.group." + uuid,
               {{"csi.creationtime", "2026-11-20T12:05:49.955974479Z"},
                {"csi.groupname", "csi-vol-group-" + uuid},
                {"csi.volname", name}});
  }
  const auto half = Create(on_a_, "vgb2", {kVolumePrefix}, Parameters());
  ASSERT_OK(half);
  EXPECT_EQ(UuidOf(half->group_id), uuid_half);
  ASSERT_OK(Create(on_a_, "vgb1", {}, Parameters()));
  const auto page =
      ListGroups(on_a_.environment(), {0, "", on_a_.site().user()});
  ASSERT_OK(page);
  EXPECT_THAT(page->groups, SizeIs(5));
  EXPECT_OK(
      Delete(on_a_, "0001-0006-peer-a-0000000000000002-" + uuid_nameless));
  EXPECT_THAT(Directory(),
              Not(Contains(Pair("csi.volume.group.", ::testing::_))));
}

}  // namespace
}  // namespace addons::testing
