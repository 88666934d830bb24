#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/test_failover.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

::rbdaddons::admin::v1::TestFailover ReadyTest() {
  ::rbdaddons::admin::v1::TestFailover test;
  test.set_volume_id("0001-0006-site-b-0000000000000002-u");
  test.set_volume_name("test-u");
  test.set_cluster_id("site-b");
  test.set_pool("replicapool");
  test.set_bytes(uint64_t{64} << 20);
  // No label could be called so.
  test.set_point("-20261201T070300Z.");
  test.set_driver_name("rook-ceph.rbd.csi.ceph.com");
  return test;
}

TEST(TestManifestTest, AVolumeAndItsClaimAreForEachOther) {
  TestCommand command;
  command.space = "drill";
  command.secret = "rook-ceph/rook-csi-rbd-node";
  command.fs_type = "ext4";
  const std::string text = TestManifest(ReadyTest(), command);
  const size_t claim = text.find("kind: PersistentVolumeClaim");
  ASSERT_NE(claim, std::string::npos);
  EXPECT_THAT(
      text.substr(0, claim),
      AllOf(HasSubstr("  name: test-u\n"),
            HasSubstr("persistentVolumeReclaimPolicy: Retain"),
            HasSubstr("driver: rook-ceph.rbd.csi.ceph.com"),
            HasSubstr("0001-0006-site-b-0000000000000002-u"),
            HasSubstr("fsType: ext4"), HasSubstr("clusterID: site-b"),
            HasSubstr("pool: replicapool"), HasSubstr("storage: \"67108864\""),
            HasSubstr("name: rook-csi-rbd-node\n      namespace: rook-ceph"),
            HasSubstr("claimRef:\n    namespace: drill\n    name: test-u")));
  EXPECT_THAT(text.substr(claim), AllOf(HasSubstr("namespace: drill"),
                                        HasSubstr("volumeName: test-u"),
                                        HasSubstr("storage: \"67108864\"")));
  EXPECT_THAT(text, AllOf(HasSubstr("annotations:\n"),
                          HasSubstr("volumeMode: Filesystem")));
  // Not the class that happens to be the default.
  EXPECT_THAT(text.substr(claim), HasSubstr("storageClassName: \"\""));
}

TEST(TestManifestTest, ADeviceHasNoFilesystem) {
  TestCommand command;
  command.space = "drill";
  command.claim = "data";
  command.secret = "a/b";
  command.fs_type = "xfs";
  command.block = true;
  const std::string text = TestManifest(ReadyTest(), command);
  EXPECT_THAT(text,
              AllOf(HasSubstr("volumeMode: Block"), HasSubstr("  name: data\n"),
                    Not(HasSubstr("fsType"))));
}

}  // namespace
}  // namespace addons::testing
