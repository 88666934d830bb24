#include "volumegroup/list.h"

#include "tests/unit/volumegroup/groups_fixture.h"

namespace addons::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ListGroupsTest : public GroupTest {
 protected:
  /// As the driver writes it.
  std::string PutGroup(const std::string& name, int number,
                       const std::string& rados_namespace = "",
                       const std::string& pool = "replicapool") {
    const std::string uuid = Uuid(number);
    a_.AddOmapValue(pool, rados_namespace, "csi.groups.default",
                    "csi.volume.group." + name, uuid);
    a_.SetOmap(pool, rados_namespace, "csi.volume.group." + uuid,
               {{"csi.volname", name},
                {"csi.groupname", "csi-vol-group-" + uuid},
                {pair_.VolumeId(a_, Uuid(number)), ""}});
    return uuid;
  }
  absl::StatusOr<GroupPage> List(size_t max_entries,
                                 const std::string& token = "") {
    return ListGroups(on_a_.environment(), {max_entries, token, a_.user()});
  }
  static std::vector<std::string> Uuids(const GroupPage& page) {
    std::vector<std::string> uuids;
    for (const GroupAnswer& group : page.groups) {
      uuids.push_back(UuidOf(group.group_id));
    }
    return uuids;
  }
  std::vector<std::string> AllUuids(size_t page_size) {
    std::vector<std::string> uuids;
    std::string token;
    do {
      const auto page = List(page_size, token);
      EXPECT_OK(page);
      if (!page.ok()) return uuids;
      EXPECT_LE(page->groups.size(), page_size);
      for (std::string& uuid : Uuids(*page)) uuids.push_back(std::move(uuid));
      token = page->next_token;
    } while (!token.empty());
    return uuids;
  }
};

TEST_F(ListGroupsTest, IsEmptyWhereThereAreNone) {
  const auto page = List(0);
  ASSERT_OK(page);
  EXPECT_THAT(page->groups, IsEmpty());
  EXPECT_EQ(page->next_token, "");
}

TEST_F(ListGroupsTest, GoesThroughAllPoolsAndNamespacesInOrder) {
  a_.AddPool(1, "first");
  a_.AddPool(9, "last");
  const std::string b = PutGroup("b", 1);
  const std::string a = PutGroup("a", 2);
  const std::string in_namespace = PutGroup("c", 3, "tenant1");
  const std::string in_last = PutGroup("a", 4, "", "last");
  const std::string in_first = PutGroup("z", 5, "", "first");
  for (const size_t page_size : {size_t{1}, size_t{2}, size_t{50}}) {
    EXPECT_THAT(AllUuids(page_size),
                ElementsAre(in_first, a, b, in_last, in_namespace));
  }
  const auto page = List(0);
  EXPECT_EQ(page->groups[4].group_id,
            "0001-0009-site-a-ns-0000000000000002-" + in_namespace);
  EXPECT_THAT(Ids(page->groups[1]), ElementsAre(pair_.VolumeId(a_, Uuid(2))));
}

TEST_F(ListGroupsTest, ClustersOfOtherSitesAreNotListed) {
  const std::string here = PutGroup("a", 1);
  PutGroup("b", 2, "tenant1");
  on_a_.environment().options.home = {ClusterId("site-a")};
  world_.ClearCalls();
  EXPECT_THAT(AllUuids(50), ElementsAre(here));
  on_a_.environment().options.home = {ClusterId("site-c")};
  world_.ClearCalls();
  EXPECT_THAT(AllUuids(50), IsEmpty());
  EXPECT_THAT(world_.Calls(), IsEmpty());
}

TEST_F(ListGroupsTest, LeavesOutWhatIsNoGroup) {
  const std::string group = PutGroup("b", 1);
  // A group snapshot, a name without object, an object without names, no uuid.
  a_.AddOmapValue(kPool, "", "csi.groups.default", "csi.volume.group.a",
                  Uuid(2));
  a_.SetOmap(kPool, "", "csi.volume.group." + Uuid(2),
             {{"csi.groupname", "g"}, {"0001-volume", "0001-snapshot"}});
  a_.AddOmapValue(kPool, "", "csi.groups.default", "csi.volume.group.aa",
                  Uuid(3));
  a_.AddOmapValue(kPool, "", "csi.groups.default", "csi.volume.group.c",
                  Uuid(4));
  a_.SetOmap(kPool, "", "csi.volume.group." + Uuid(4), {});
  a_.AddOmapValue(kPool, "", "csi.groups.default", "csi.volume.group.d", "?");
  a_.SetOmap(kPool, "", "csi.volume.group.?", {{"csi.groupname", "g"}});
  EXPECT_THAT(AllUuids(1), ElementsAre(group));
}

TEST_F(ListGroupsTest, AThousandGroupsCostAsMuchPerPageAsTen) {
  for (int i = 1; i <= 10; ++i) PutGroup(absl::StrFormat("vg-%04d", i), i);
  const auto cost = [&](const std::string& token) {
    world_.ClearCalls();
    EXPECT_OK(List(5, token));
    return world_.Calls().size();
  };
  const std::string token = List(5)->next_token;
  const size_t first = cost("");
  const size_t second = cost(token);
  for (int i = 11; i <= 1000; ++i) PutGroup(absl::StrFormat("vg-%04d", i), i);
  // The last page of ten looks into the pools that follow; that of a thousand
  // does not.
  EXPECT_EQ(cost(""), first);
  EXPECT_LE(cost(token), second + 1);
  EXPECT_THAT(AllUuids(7), SizeIs(1000));
  const auto all = List(0);
  EXPECT_THAT(all->groups, SizeIs(500));
  EXPECT_NE(all->next_token, "");
}

TEST_F(ListGroupsTest, TokensSurviveInsertsAndDeletes) {
  for (int i = 10; i <= 50; i += 10) {
    PutGroup(absl::StrFormat("vg-%02d", i), i);
  }
  const auto first = List(2);
  EXPECT_THAT(Uuids(*first), ElementsAre(Uuid(10), Uuid(20)));
  // The entry that the page ended with goes, others come before and after it.
  a_.SetOmap(kPool, "", "csi.groups.default",
             {{"csi.volume.group.vg-05", Uuid(5)},
              {"csi.volume.group.vg-30", Uuid(30)},
              {"csi.volume.group.vg-50", Uuid(50)}});
  PutGroup("vg-25", 25);
  const auto rest = List(10, first->next_token);
  ASSERT_OK(rest);
  EXPECT_THAT(Uuids(*rest), ElementsAre(Uuid(25), Uuid(30), Uuid(50)));
  EXPECT_EQ(rest->next_token, "");
}

TEST_F(ListGroupsTest, ATokenThatIsNoneIsAborted) {
  for (const char* token : {"x", "!!", "WzEsMiwzXQ", "e30"}) {
    EXPECT_THAT(List(1, token), StatusIs(absl::StatusCode::kAborted,
                                         HasSubstr("starting_token")));
  }
}

TEST_F(ListGroupsTest, ListsTheClustersThatTakeTheUser) {
  PutGroup("vg", 1);
  on_a_.Configure(R"([{"clusterID": "site-a", "monitors": ["site-a:6789"]},
                      {"clusterID": "site-b", "monitors": ["site-b:6789"]}])");
  b_.SetKey("AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==");
  EXPECT_THAT(AllUuids(10), ElementsAre(Uuid(1)));
  a_.SetKey("AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==");
  b_.SetKey("BQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==");
  CephUserRef nobody = MakeCephUser(
      a_.user()->id, Secret("CQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg=="));
  EXPECT_THAT(ListGroups(on_a_.environment(), {0, "", std::move(nobody)}),
              StatusIs(absl::StatusCode::kUnauthenticated));
}

TEST_F(ListGroupsTest, SkipsAPoolThatTheUserMayNotRead) {
  PutGroup("vg", 1);
  PutGroup("vg", 2, "tenant1");
  int reads = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rados_read_op_omap_get_vals2" && ++reads == 1 ? EPERM : 0;
  });
  const auto page = List(0);
  ASSERT_OK(page);
  EXPECT_THAT(Uuids(*page), ElementsAre(Uuid(2)));
}

TEST_F(ListGroupsTest, PartOfAListIsNoList) {
  PutGroup("vg", 1);
  on_a_.Configure(R"([{"clusterID": "site-a", "monitors": ["site-a:6789"]},
                      {"clusterID": "site-b", "monitors": ["site-b:6789"]}])");
  b_.SetClusterUp(false);
  EXPECT_THAT(List(0),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("site-b")));
}

TEST_F(ListGroupsTest, ListsAPlaceThatIsConfiguredTwiceOnce) {
  PutGroup("vg", 1);
  on_a_.Configure(R"([{"clusterID": "site-a", "monitors": ["site-a:6789"]},
                      {"clusterID": "alias", "monitors": ["site-a:6789"]}])");
  EXPECT_THAT(AllUuids(10), ElementsAre(Uuid(1)));
}

}  // namespace
}  // namespace addons::testing
