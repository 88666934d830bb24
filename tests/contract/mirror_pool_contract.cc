// What a mirrored pool and its namespaces tell.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "tests/contract/contract_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_P(ContractTest, PoolIsMirroredImageByImage) {
  EXPECT_EQ(*OpenPool(kA, Access::kRead)->MirrorMode(), PoolMirrorMode::kImage);
}

TEST_P(ContractTest, EachSiteKnowsTheOther) {
  for (const auto& sites : {std::pair(kA, kB), std::pair(kB, kA)}) {
    const auto here = sites.first;
    const auto there = sites.second;
    const auto peers = OpenPool(here, Access::kRead)->MirrorPeers();
    ASSERT_OK(peers);
    ASSERT_THAT(*peers, SizeIs(1));
    EXPECT_FALSE(peers->front().uuid.empty());
    EXPECT_TRUE(peers->front().receives);
    // Known from the first call of the peer's daemon on.
    EXPECT_TRUE(bed().WaitFor(
        [&] {
          return OpenPool(here, Access::kRead)
                     ->MirrorPeers()
                     ->front()
                     .mirror_uuid == MirrorUuid(there);
        },
        kCopyLimit));
  }
}

TEST_P(ContractTest, BothDaemonsWatchTheMirroringObject) {
  EXPECT_TRUE(
      bed().WaitFor([] { return MirrorClients(kA).size() == 2; }, kCopyLimit));
  EXPECT_TRUE(
      bed().WaitFor([] { return MirrorClients(kB).size() == 2; }, kCopyLimit));
}

TEST_P(ContractTest, NamespacesOfAPoolAreListedFromAnyOfThem) {
  const auto names = OpenPool(kB, Access::kRead)->Namespaces();
  ASSERT_OK(names);
  EXPECT_THAT(*names, ElementsAre(kNamespace));
  const auto pool = bed().ClusterFor(kB).OpenPool(bed().PoolId(kB), kNamespace,
                                                  Access::kRead);
  ASSERT_OK(pool);
  const auto same = (*pool)->Namespaces();
  ASSERT_OK(same);
  EXPECT_EQ(*same, *names);
}

TEST_P(ContractTest, TheListingOfANamespaceHasItsOwnImagesOnly) {
  ASSERT_NO_FATAL_FAILURE(NeedMirrored(kStanding));
  const auto pool = bed().ClusterFor(kB).OpenPool(bed().PoolId(kB), kNamespace,
                                                  Access::kRead);
  ASSERT_OK(pool);
  const auto mode = (*pool)->MirrorMode();
  ASSERT_OK(mode);
  EXPECT_EQ(*mode, PoolMirrorMode::kImage);
  const auto statuses = (*pool)->MirrorStatuses();
  ASSERT_OK(statuses);
  EXPECT_THAT(*statuses, IsEmpty());
}

}  // namespace
}  // namespace addons
