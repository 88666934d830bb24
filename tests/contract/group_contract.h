#ifndef ADDONS_TESTS_CONTRACT_GROUP_CONTRACT_H_
#define ADDONS_TESTS_CONTRACT_GROUP_CONTRACT_H_

#include "tests/contract/contract_suite.h"

// The contract suite's part about objects with omap and rbd groups.

namespace addons::contract {

// --- objects with omap
// ------------------------------------------------------------------------

TEST_P(ContractTest, AnObjectIsCreatedOnce) {
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateObject("object-once"));
  EXPECT_THAT(pool->CreateObject("object-once"),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(*pool->ReadOmap("object-once", ""), IsEmpty());
}

TEST_P(ContractTest, AnObjectIsRemovedHoweverOften) {
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateObject("object-gone"));
  EXPECT_OK(pool->RemoveObject("object-gone"));
  EXPECT_OK(pool->RemoveObject("object-gone"));
  EXPECT_THAT(pool->ReadOmap("object-gone", ""),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(ContractTest, OmapValuesAreSetAndRemoved) {
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateObject("omap-keys"));
  ASSERT_OK(
      pool->SetOmapValues("omap-keys", {{"a", "1"}, {"b", ""}, {"c", "3"}}));
  ASSERT_OK(pool->SetOmapValues("omap-keys", {{"a", "2"}}));
  ASSERT_OK(pool->RemoveOmapKeys("omap-keys", {"c", "absent"}));
  EXPECT_THAT(*pool->ReadOmap("omap-keys", ""),
              UnorderedElementsAre(Pair("a", "2"), Pair("b", "")));
}

TEST_P(ContractTest, SettingAndRemovingValuesNeverCreatesTheObject) {
  const auto pool = OpenPool(kA, Access::kMutate);
  EXPECT_THAT(pool->SetOmapValues("omap-nowhere", {{"a", "1"}}),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(pool->RemoveOmapKeys("omap-nowhere", {"a"}),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(pool->RemoveOmapValue("omap-nowhere", "a", "1"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(pool->ReadOmap("omap-nowhere", ""),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(ContractTest, AValueIsRemovedOnlyWhenItIsTheExpectedOne) {
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateObject("omap-compare"));
  ASSERT_OK(pool->SetOmapValues("omap-compare", {{"a", "mine"}}));
  EXPECT_FALSE(*pool->RemoveOmapValue("omap-compare", "a", "theirs"));
  EXPECT_FALSE(*pool->RemoveOmapValue("omap-compare", "absent", "mine"));
  EXPECT_EQ(*pool->ReadOmapKey("omap-compare", "a"), "mine");
  EXPECT_TRUE(*pool->RemoveOmapValue("omap-compare", "a", "mine"));
  EXPECT_EQ(*pool->ReadOmapKey("omap-compare", "a"), std::nullopt);
}

TEST_P(ContractTest, OneKeyIsRead) {
  ASSERT_OK(bed().CreateOmap(kA, "omap-key", {{"a", "1"}, {"empty", ""}}));
  const auto pool = OpenPool(kA, Access::kRead);
  EXPECT_EQ(*pool->ReadOmapKey("omap-key", "a"), "1");
  EXPECT_EQ(*pool->ReadOmapKey("omap-key", "empty"), "");
  EXPECT_EQ(*pool->ReadOmapKey("omap-key", "b"), std::nullopt);
  EXPECT_THAT(pool->ReadOmapKey("omap-no-such", "a"),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(ContractTest, AnOmapIsReadPageByPage) {
  ASSERT_OK(bed().CreateOmap(
      kA, "omap-pages",
      {{"k.a", "1"}, {"k.b", "2"}, {"k.c", "3"}, {"l", "4"}, {"a", "0"}}));
  const auto pool = OpenPool(kA, Access::kRead);
  const auto first = pool->ReadOmapPage("omap-pages", "k.", "", 2);
  ASSERT_OK(first);
  EXPECT_THAT(first->values, ElementsAre(Pair("k.a", "1"), Pair("k.b", "2")));
  EXPECT_TRUE(first->more);
  const auto second = pool->ReadOmapPage("omap-pages", "k.", "k.b", 2);
  ASSERT_OK(second);
  EXPECT_THAT(second->values, ElementsAre(Pair("k.c", "3")));
  EXPECT_FALSE(second->more);
  // A key that is gone, or never was, is as good a place to go on from.
  const auto between = pool->ReadOmapPage("omap-pages", "k.", "k.aa", 9);
  ASSERT_OK(between);
  EXPECT_THAT(between->values, ElementsAre(Pair("k.b", "2"), Pair("k.c", "3")));
  const auto end = pool->ReadOmapPage("omap-pages", "k.", "k.c", 9);
  ASSERT_OK(end);
  EXPECT_THAT(end->values, IsEmpty());
  EXPECT_FALSE(end->more);
  EXPECT_THAT(pool->ReadOmapPage("omap-no-such", "k.", "", 2),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(ContractTest, TheMonitorListsThePools) {
  const auto text = bed().ClusterFor(kA).MonCommand(
      R"({"prefix": "osd lspools", "format": "json"})");
  ASSERT_OK(text);
  bool found = false;
  for (const auto& pool : nlohmann::json::parse(*text)) {
    found |= pool.at("poolnum") == bed().PoolId(kA) &&
             pool.at("poolname") == bed().PoolName();
  }
  EXPECT_TRUE(found) << *text;
}

// --- rbd groups
// ------------------------------------------------------------------------

TEST_P(ContractTest, AGroupIsCreatedOnceAndRemovedHoweverOften) {
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateGroup("group-once"));
  EXPECT_THAT(pool->CreateGroup("group-once"),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_OK(pool->RemoveGroup("group-once"));
  EXPECT_OK(pool->RemoveGroup("group-once"));
  EXPECT_OK(pool->CreateGroup("group-once"));
}

TEST_P(ContractTest, AnImageIsInOneGroupAtMost) {
  MakeImage(kA, "group-member");
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateGroup("group-first"));
  ASSERT_OK(pool->CreateGroup("group-second"));
  EXPECT_EQ(*Look(kA, "group-member")->Group(), std::nullopt);
  ASSERT_OK(
      pool->AddGroupImage("group-first", bed().PoolId(kA), "group-member"));
  EXPECT_OK(
      pool->AddGroupImage("group-first", bed().PoolId(kA), "group-member"));
  EXPECT_THAT(
      pool->AddGroupImage("group-second", bed().PoolId(kA), "group-member"),
      StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_EQ(*Look(kA, "group-member")->Group(),
            (ImageGroup{bed().PoolId(kA), "group-first"}));
}

TEST_P(ContractTest, AGroupShowsItsImages) {
  MakeImage(kA, "group-shown");
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateGroup("group-showing"));
  const auto reads = OpenPool(kA, Access::kRead);
  EXPECT_THAT(*reads->GroupImages("group-showing"), IsEmpty());
  ASSERT_OK(
      pool->AddGroupImage("group-showing", bed().PoolId(kA), "group-shown"));
  EXPECT_THAT(*reads->GroupImages("group-showing"),
              ElementsAre(GroupImage{bed().PoolId(kA), "group-shown", true}));
  EXPECT_THAT(*reads->GroupImages("group-absent"), IsEmpty());
}

TEST_P(ContractTest, AnImageThatIsNotCompleteInItsGroupIsCompletedByAddingIt) {
  MakeImage(kA, "group-half");
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateGroup("group-incomplete"));
  ASSERT_OK(
      pool->AddGroupImage("group-incomplete", bed().PoolId(kA), "group-half"));
  ASSERT_OK(bed().LeaveGroupImageIncomplete(kA, "group-incomplete",
                                            IdOf(kA, "group-half")));
  EXPECT_THAT(*pool->GroupImages("group-incomplete"),
              ElementsAre(GroupImage{bed().PoolId(kA), "group-half", false}));
  ASSERT_OK(
      pool->AddGroupImage("group-incomplete", bed().PoolId(kA), "group-half"));
  EXPECT_THAT(*pool->GroupImages("group-incomplete"),
              ElementsAre(GroupImage{bed().PoolId(kA), "group-half", true}));
}

TEST_P(ContractTest, AGroupShowsNoImageWhenOneIsGone) {
  MakeImage(kA, "group-hidden");
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateGroup("group-torn"));
  ASSERT_OK(
      pool->AddGroupImage("group-torn", bed().PoolId(kA), "group-hidden"));
  ASSERT_OK(bed().LeaveGroupImageIncomplete(kA, "group-torn", "ffffff"));
  EXPECT_THAT(*pool->GroupImages("group-torn"), IsEmpty());
}

TEST_P(ContractTest, AnImageIsTakenOutOfItsGroupHoweverOften) {
  MakeImage(kA, "group-leaver");
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateGroup("group-left"));
  ASSERT_OK(
      pool->AddGroupImage("group-left", bed().PoolId(kA), "group-leaver"));
  const std::string id = IdOf(kA, "group-leaver");
  EXPECT_OK(pool->RemoveGroupImage("group-left", bed().PoolId(kA), id));
  EXPECT_EQ(*Look(kA, "group-leaver")->Group(), std::nullopt);
  EXPECT_OK(pool->RemoveGroupImage("group-left", bed().PoolId(kA), id));
  // As for an image that is gone.
  EXPECT_OK(pool->RemoveGroupImage("group-left", bed().PoolId(kA), "ffffff"));
}

TEST_P(ContractTest, AGroupThatIsRemovedLetsItsImagesGo) {
  MakeImage(kA, "group-freed");
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateGroup("group-removed"));
  ASSERT_OK(
      pool->AddGroupImage("group-removed", bed().PoolId(kA), "group-freed"));
  ASSERT_OK(pool->RemoveGroup("group-removed"));
  EXPECT_EQ(*Look(kA, "group-freed")->Group(), std::nullopt);
}

TEST_P(ContractTest, AGroupOrImageThatIsAbsentIsNotFound) {
  MakeImage(kA, "group-stranger");
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateGroup("group-present"));
  EXPECT_THAT(
      pool->AddGroupImage("group-absent", bed().PoolId(kA), "group-stranger"),
      HasErrno(ENOENT));
  EXPECT_THAT(
      pool->AddGroupImage("group-present", bed().PoolId(kA), "no-such-image"),
      HasErrno(ENOENT));
  EXPECT_THAT(
      pool->RemoveGroupImage("group-absent", bed().PoolId(kA), "ffffff"),
      HasErrno(ENOENT));
}

}  // namespace addons::contract

#endif  // ADDONS_TESTS_CONTRACT_GROUP_CONTRACT_H_
