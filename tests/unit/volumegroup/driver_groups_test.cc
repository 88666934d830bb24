// Groups that a ceph-csi provisioner wrote are served, changed and deleted.

#include <gmock/gmock.h>

#include "ceph/pool.h"
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
    const std::string group1 = "csi-vol-group-" + UuidOf(kFixtureGroup1);
    const auto pool =
        pair_.cluster(a_)->OpenPool(2, "", Access::kMutate).value();
    EXPECT_OK(pool->CreateGroup(group1));
    EXPECT_OK(pool->CreateGroup("mygrp-" + UuidOf(kFixtureGroup2)));
    for (const char* volume : {kFixtureVolume, kFixtureBlockVolume}) {
      EXPECT_OK(pool->AddGroupImage(group1, 2,
                                    ImageName("csi-vol-" + UuidOf(volume))));
    }
    world_.ClearCalls();
  }

  GroupParameterMap Parameters() const {
    return {{"clusterID", "peer-a"}, {"pool", kPool}};
  }
};

TEST_F(DriverGroupsTest, AreGot) {
  const auto group = Get(on_a_, kFixtureGroup1);
  ASSERT_OK(group);
  EXPECT_THAT(Ids(*group), ElementsAre(kFixtureVolume, kFixtureBlockVolume));
  EXPECT_THAT(group->context, IsEmpty());
  ASSERT_OK(Get(on_a_, kFixtureGroup2));
}

TEST_F(DriverGroupsTest, AreListed) {
  const auto page =
      ListGroups(on_a_.environment(), {0, "", on_a_.site().user()});
  ASSERT_OK(page);
  ASSERT_THAT(page->groups, SizeIs(2));
  EXPECT_EQ(page->groups[0].group_id, kFixtureGroup1);
  EXPECT_EQ(page->groups[1].group_id, kFixtureGroup2);
}

TEST_F(DriverGroupsTest, AreWhatTheSameCreateMeans) {
  const OmapValues journal = Journal(kFixtureGroup1);
  const auto group = Create(
      on_a_, "vg-fix-1", {kFixtureVolume, kFixtureBlockVolume}, Parameters());
  ASSERT_OK(group);
  EXPECT_EQ(group->group_id, kFixtureGroup1);
  EXPECT_EQ(Journal(kFixtureGroup1), journal);
  // Its driver of 2024 took the prefix from volumeNamePrefix.
  GroupParameterMap parameters = Parameters();
  parameters["volumeNamePrefix"] = "mygrp-";
  const auto prefixed = Create(on_a_, "vg-fix-2", {}, parameters);
  ASSERT_OK(prefixed);
  EXPECT_EQ(prefixed->group_id, kFixtureGroup2);
}

TEST_F(DriverGroupsTest, AreModified) {
  ASSERT_OK(Modify(on_a_, kFixtureGroup1,
                   {kFixtureBlockVolume, kFixturePrefixVolume}));
  OmapValues expected = {
      {kFixtureBlockVolume, ""},
      {kFixturePrefixVolume, ""},
      {"csi.creationtime", "2026-11-20T11:43:38.840418481Z"},
      {"csi.groupname", "csi-vol-group-" + UuidOf(kFixtureGroup1)},
      {"csi.volname", "vg-fix-1"}};
  EXPECT_EQ(Journal(kFixtureGroup1), expected);
}

TEST_F(DriverGroupsTest, AreDeleted) {
  ASSERT_OK(Modify(on_a_, kFixtureGroup1, {}));
  ASSERT_OK(Delete(on_a_, kFixtureGroup1));
  ASSERT_OK(Delete(on_a_, kFixtureGroup2));
  EXPECT_THAT(RbdGroups(), IsEmpty());
  EXPECT_THAT(Directory(), IsEmpty());
  EXPECT_FALSE(HasJournal(kFixtureGroup1));
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
  const auto half = Create(on_a_, "vgb2", {kFixturePrefixVolume}, Parameters());
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
