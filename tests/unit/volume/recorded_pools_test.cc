// Pools as the monitors of every recorded release list them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ceph/pool.h"
#include "tests/testing/answering_cluster.h"
#include "tests/testing/recorded_ceph.h"
#include "tests/testing/status_matchers.h"
#include "volume/pools.h"

namespace addons::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class RecordedPoolsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(RecordedPoolsTest, AreListedByNumber) {
  AnsweringCluster cluster;
  cluster.Answer("osd lspools", Recorded(GetParam(), "osd-lspools.json"));
  const auto pools = ListPools(cluster);
  ASSERT_OK(pools);
  EXPECT_THAT(*pools, ElementsAre(Pair(1, "replicapool")));
}

INSTANTIATE_TEST_SUITE_P(Releases, RecordedPoolsTest,
                         ::testing::ValuesIn(RecordedReleases()), ReleaseName);

}  // namespace
}  // namespace addons::testing
