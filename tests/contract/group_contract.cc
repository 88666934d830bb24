// rbd groups.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "ceph/image_header.h"
#include "ceph/pool.h"
#include "tests/contract/contract_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

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
  ASSERT_OK(pool->AddGroupImage("group-first", bed().PoolId(kA),
                                ImageName("group-member")));
  EXPECT_OK(pool->AddGroupImage("group-first", bed().PoolId(kA),
                                ImageName("group-member")));
  EXPECT_THAT(pool->AddGroupImage("group-second", bed().PoolId(kA),
                                  ImageName("group-member")),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_EQ(*Look(kA, "group-member")->Group(),
            (GroupSpec{bed().PoolId(kA), "group-first"}));
}

TEST_P(ContractTest, TheRbdGroupOfAnImageIsKnownWithoutOpeningIt) {
  MakeImage(kA, "group-noted");
  const std::string id = IdOf(kA, "group-noted");
  const auto pool = OpenPool(kA, Access::kMutate);
  const auto noted = [&]() -> std::optional<GroupSpec> {
    const auto header = pool->Header(id);
    EXPECT_OK(header);
    if (!header->group.has_value()) return std::nullopt;
    const auto name = FindGroupName(*pool, header->group->id);
    EXPECT_OK(name);
    return GroupSpec{header->group->pool_id, *name};
  };
  ASSERT_OK(pool->CreateGroup("group-noting"));
  EXPECT_EQ(noted(), std::nullopt);
  ASSERT_OK(pool->AddGroupImage("group-noting", bed().PoolId(kA),
                                ImageName("group-noted")));
  EXPECT_EQ(noted(), (GroupSpec{bed().PoolId(kA), "group-noting"}));
  EXPECT_EQ(noted(), Look(kA, "group-noted")->Group().value());
  ASSERT_OK(pool->RemoveGroupImage("group-noting", bed().PoolId(kA), id));
  EXPECT_EQ(noted(), std::nullopt);
  EXPECT_THAT(FindGroupName(*pool, "absent"),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_P(ContractTest, AGroupShowsItsImages) {
  MakeImage(kA, "group-shown");
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateGroup("group-showing"));
  const auto reads = OpenPool(kA, Access::kRead);
  EXPECT_THAT(*reads->GroupImages("group-showing"), IsEmpty());
  ASSERT_OK(pool->AddGroupImage("group-showing", bed().PoolId(kA),
                                ImageName("group-shown")));
  EXPECT_THAT(*reads->GroupImages("group-showing"),
              ElementsAre(GroupImage{bed().PoolId(kA), ImageName("group-shown"),
                                     true}));
  EXPECT_THAT(*reads->GroupImages("group-absent"), IsEmpty());
}

// Also when its images have been taken out of it, and the removal of the group
// takes them along.
TEST_P(ContractTest, AGroupShowsItsSnapshots) {
  MakeImage(kA, "group-restorable");
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateGroup("group-restoring"));
  ASSERT_OK(pool->AddGroupImage("group-restoring", bed().PoolId(kA),
                                ImageName("group-restorable")));
  const auto reads = OpenPool(kA, Access::kRead);
  EXPECT_THAT(*reads->GroupSnapshots("group-restoring"), IsEmpty());
  ASSERT_OK(bed().CreateGroupSnapshot(kA, "group-restoring", "monday"));
  ASSERT_OK(bed().CreateGroupSnapshot(kA, "group-restoring", "tuesday"));
  EXPECT_THAT(*reads->GroupSnapshots("group-restoring"),
              UnorderedElementsAre("monday", "tuesday"));
  ASSERT_OK(pool->RemoveGroupImage("group-restoring", bed().PoolId(kA),
                                   IdOf(kA, "group-restorable")));
  EXPECT_THAT(*reads->GroupSnapshots("group-restoring"),
              UnorderedElementsAre("monday", "tuesday"));
  EXPECT_OK(pool->RemoveGroup("group-restoring"));
  EXPECT_THAT(*reads->GroupSnapshots("group-restoring"), IsEmpty());
}

TEST_P(ContractTest, AnImageThatIsNotCompleteInItsGroupIsCompletedByAddingIt) {
  MakeImage(kA, "group-half");
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateGroup("group-incomplete"));
  ASSERT_OK(pool->AddGroupImage("group-incomplete", bed().PoolId(kA),
                                ImageName("group-half")));
  ASSERT_OK(bed().LeaveGroupImageIncomplete(kA, "group-incomplete",
                                            IdOf(kA, "group-half")));
  EXPECT_THAT(*pool->GroupImages("group-incomplete"),
              ElementsAre(GroupImage{bed().PoolId(kA), ImageName("group-half"),
                                     false}));
  ASSERT_OK(pool->AddGroupImage("group-incomplete", bed().PoolId(kA),
                                ImageName("group-half")));
  EXPECT_THAT(
      *pool->GroupImages("group-incomplete"),
      ElementsAre(GroupImage{bed().PoolId(kA), ImageName("group-half"), true}));
}

TEST_P(ContractTest, AnImageThatIsHalfTakenOutOfItsGroupIsTakenOut) {
  MakeImage(kA, "group-half-out");
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateGroup("group-half-left"));
  const std::string id = IdOf(kA, "group-half-out");
  ASSERT_OK(bed().LeaveGroupImageIncomplete(kA, "group-half-left", id));
  EXPECT_EQ(*Look(kA, "group-half-out")->Group(), std::nullopt);
  EXPECT_THAT(*pool->GroupImages("group-half-left"),
              ElementsAre(GroupImage{bed().PoolId(kA),
                                     ImageName("group-half-out"), false}));
  EXPECT_OK(pool->RemoveGroupImage("group-half-left", bed().PoolId(kA), id));
  EXPECT_THAT(*pool->GroupImages("group-half-left"), IsEmpty());
}

TEST_P(ContractTest, AnImageOfAnotherGroupIsNotTakenOut) {
  MakeImage(kA, "group-elsewhere");
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateGroup("group-of-it"));
  ASSERT_OK(pool->CreateGroup("group-not-of-it"));
  ASSERT_OK(pool->AddGroupImage("group-of-it", bed().PoolId(kA),
                                ImageName("group-elsewhere")));
  EXPECT_THAT(pool->RemoveGroupImage("group-not-of-it", bed().PoolId(kA),
                                     IdOf(kA, "group-elsewhere")),
              HasErrno(EBADF));
  EXPECT_EQ(*Look(kA, "group-elsewhere")->Group(),
            (GroupSpec{bed().PoolId(kA), "group-of-it"}));
  EXPECT_THAT(*pool->GroupImages("group-not-of-it"),
              ElementsAre(GroupImage{bed().PoolId(kA),
                                     ImageName("group-elsewhere"), false}));
}

TEST_P(ContractTest, AGroupShowsNoImageWhenOneIsGone) {
  MakeImage(kA, "group-hidden");
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateGroup("group-torn"));
  ASSERT_OK(pool->AddGroupImage("group-torn", bed().PoolId(kA),
                                ImageName("group-hidden")));
  ASSERT_OK(bed().LeaveGroupImageIncomplete(kA, "group-torn", "ffffff"));
  EXPECT_THAT(*pool->GroupImages("group-torn"), IsEmpty());
}

TEST_P(ContractTest, AnImageIsTakenOutOfItsGroupHoweverOften) {
  MakeImage(kA, "group-leaver");
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateGroup("group-left"));
  ASSERT_OK(pool->AddGroupImage("group-left", bed().PoolId(kA),
                                ImageName("group-leaver")));
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
  ASSERT_OK(pool->AddGroupImage("group-removed", bed().PoolId(kA),
                                ImageName("group-freed")));
  ASSERT_OK(pool->RemoveGroup("group-removed"));
  EXPECT_EQ(*Look(kA, "group-freed")->Group(), std::nullopt);
}

TEST_P(ContractTest, AGroupOrImageThatIsAbsentIsNotFound) {
  MakeImage(kA, "group-stranger");
  const auto pool = OpenPool(kA, Access::kMutate);
  ASSERT_OK(pool->CreateGroup("group-present"));
  EXPECT_THAT(pool->AddGroupImage("group-absent", bed().PoolId(kA),
                                  ImageName("group-stranger")),
              HasErrno(ENOENT));
  EXPECT_THAT(pool->AddGroupImage("group-present", bed().PoolId(kA),
                                  ImageName("no-such-image")),
              HasErrno(ENOENT));
  EXPECT_THAT(
      pool->RemoveGroupImage("group-absent", bed().PoolId(kA), "ffffff"),
      HasErrno(ENOENT));
}

}  // namespace
}  // namespace addons
