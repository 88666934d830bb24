#include "node/kernel_clients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/linux_tree.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(KernelClientsTest, EachDeviceTellsItsImageClusterAndAddress) {
  LinuxTree tree;
  tree.SetKrbd(7, {"pool", "2", "tenant", "disk", "fsid-a", "10.0.0.7:0/41"});
  tree.SetKrbd(0, {"pool", "2", "", "old", "", ""});
  const auto clients = ListKernelClients(tree.roots());
  ASSERT_OK(clients);
  ASSERT_THAT(*clients, SizeIs(2));
  EXPECT_EQ((*clients)[0].device, "rbd0");
  EXPECT_EQ((*clients)[0].pool, "pool");
  EXPECT_EQ((*clients)[0].rados_namespace, "");
  EXPECT_EQ((*clients)[0].image, "old");
  EXPECT_EQ((*clients)[0].fsid, "");
  EXPECT_EQ((*clients)[0].address, "");
  EXPECT_EQ((*clients)[1].device, "rbd7");
  EXPECT_EQ((*clients)[1].pool, "pool");
  EXPECT_EQ((*clients)[1].rados_namespace, "tenant");
  EXPECT_EQ((*clients)[1].image, "disk");
  EXPECT_EQ((*clients)[1].fsid, "fsid-a");
  EXPECT_EQ((*clients)[1].address, "10.0.0.7:0/41");
}

TEST(KernelClientsTest, AKernelWithoutTheModuleHasNone) {
  LinuxTree tree;
  tree.AddOtherBus();
  const auto clients = ListKernelClients(tree.roots());
  ASSERT_OK(clients);
  EXPECT_THAT(*clients, IsEmpty());
}

TEST(KernelClientsTest, WithoutSysItIsNotKnown) {
  const LinuxTree tree;
  EXPECT_THAT(
      ListKernelClients(tree.roots()),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/sys must be seen")));
}

}  // namespace
}  // namespace addons::testing
