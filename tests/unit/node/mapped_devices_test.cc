#include "node/mapped_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/testing/linux_tree.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class MappedDevicesTest : public ::testing::Test {
 protected:
  std::vector<MappedDevice> List(const std::string& exports = "") const {
    return ListMappedDevices(tree_.roots(), exports);
  }
  LinuxTree tree_;
};

TEST_F(MappedDevicesTest, KrbdAndRbdNbdAreFoundAndTheRestIsNot) {
  tree_.AddDisk("sda", "8:0");
  tree_.AddDisk("loop0", "7:0");
  tree_.AddDisk("nbd1", "43:1");  // nobody serves it
  tree_.AddDisk("rbd7", "252:112");
  tree_.AddPartition("rbd7", "rbd7p1", "252:113");
  tree_.SetKrbd(7, {"replicapool", "2", "", "csi-vol-x", ""});
  tree_.AddDisk("nbd0", "43:0");
  std::string command = "rbd-nbd\nmap\npool/image\n";
  std::replace(command.begin(), command.end(), '\n', '\0');
  tree_.SetNbdServer("nbd0", 77, command);
  tree_.AddDisk("dm-0", "253:0");
  tree_.Stack("dm-0", "rbd7", "CRYPT-LUKS2-1", "luks-rbd-1");
  const std::vector<MappedDevice> found = List();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].image.Describe(), "image 'pool/image' (device nbd0)");
  EXPECT_EQ(found[0].number, (DeviceNumber{43, 0}));
  EXPECT_EQ(found[1].image.Describe(),
            "image 'replicapool/csi-vol-x' (device rbd7)");
  EXPECT_EQ(found[1].number, (DeviceNumber{252, 112}));
  EXPECT_FALSE(found[1].read_only);
}

TEST_F(MappedDevicesTest, ReadOnlyOnesSaySo) {
  tree_.AddDisk("rbd0", "252:0");
  tree_.SetKrbd(0, {"replicapool", "2", "", "csi-vol-x", ""});
  tree_.SetAttribute("rbd0", "ro", "1\n");
  ASSERT_THAT(List(), SizeIs(1));
  EXPECT_TRUE(List()[0].read_only);
}

TEST_F(MappedDevicesTest, NothingIsFoundWhereNothingIs) {
  EXPECT_THAT(List(), IsEmpty());
}

TEST_F(MappedDevicesTest, ADeviceNodeIsTheDeviceOrIsRefused) {
  MappedDevice device;
  device.image.device = "null";
  device.number = {1, 3};
  LinuxRoots roots;
  EXPECT_EQ(NodePath(roots, device), "/dev/null");
  EXPECT_THAT(CheckDeviceNode(roots, device),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("/dev/null is not the block device 1:3")));
  device.image.device = "rbd-that-is-not-there";
  EXPECT_THAT(CheckDeviceNode(roots, device),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("/dev must be mounted")));
}

}  // namespace
}  // namespace addons::testing
