#include "node/mapped_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/linux_tree.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;

constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

class MappedImageTest : public ::testing::Test {
 protected:
  absl::StatusOr<MappedImage> Identify(const std::string& name,
                                       const std::string& exports = "") {
    BlockLayer layer;
    layer.name = name;
    layer.directory = tree_.roots().sys + "/devices/virtual/block/" + name;
    return IdentifyImage(tree_.roots(), exports, layer);
  }
  void SetLoop(const std::string& backing_file) {
    tree_.SetAttribute("loop3", "loop/backing_file", backing_file + "\n");
  }
  void MountAt(const std::string& place, const std::string& type) {
    tree_.SetMountInfo(
        absl::StrCat("1 2 0:40 / ", place, " rw - ", type, " x rw\n"));
  }
  LinuxTree tree_;
};

TEST_F(MappedImageTest, AsksTheKernelForKrbd) {
  tree_.SetKrbd(12, {"pool", "7", "tenant1", "csi-vol-x", "fsid-a"});
  const auto image = Identify("rbd12");
  ASSERT_OK(image);
  EXPECT_EQ(image->pool, "pool");
  EXPECT_EQ(image->pool_id, 7);
  EXPECT_EQ(image->rados_namespace, "tenant1");
  EXPECT_EQ(image->image.text(), "csi-vol-x");
  EXPECT_EQ(image->fsid, "fsid-a");
  EXPECT_EQ(image->Describe(), "image 'pool/tenant1/csi-vol-x' (device rbd12)");
}

TEST_F(MappedImageTest, RefusesKrbdThatNamesNoImage) {
  EXPECT_THAT(Identify("rbd0"), StatusIs(kRefused, HasSubstr("rbd0")));
  tree_.SetKrbd(0, {"pool", "7", "", "", ""});
  EXPECT_THAT(Identify("rbd0"), StatusIs(kRefused));
}

TEST_F(MappedImageTest, AsksTheProcessBehindNbd) {
  tree_.AddDisk("nbd0", "43:0");
  tree_.SetNbdServer("nbd0", 77, std::string("rbd-nbd\0map\0pool/img\0", 21));
  const auto image = Identify("nbd0");
  ASSERT_OK(image);
  EXPECT_EQ(image->pool, "pool");
  EXPECT_EQ(image->image.text(), "img");
  EXPECT_EQ(image->pool_id, std::nullopt);
}

TEST_F(MappedImageTest, TakesTheTagOfNbd) {
  tree_.AddDisk("nbd0", "43:0");
  tree_.SetAttribute("nbd0", "backend", "volume-1\n");
  const auto image = Identify("nbd0");
  ASSERT_OK(image);
  EXPECT_EQ(image->tag, "volume-1");
  EXPECT_EQ(image->pool, "");
}

TEST_F(MappedImageTest, RefusesNbdOfAnotherProgram) {
  tree_.AddDisk("nbd0", "43:0");
  EXPECT_THAT(Identify("nbd0"), StatusIs(kRefused, HasSubstr("hostPID")));
  tree_.SetNbdServer("nbd0", 77, std::string("qemu-nbd\0map\0pool/img\0", 22));
  EXPECT_THAT(Identify("nbd0"), StatusIs(kRefused));
}

TEST_F(MappedImageTest, RefusesOtherDevices) {
  for (const char* name : {"sda", "vda", "nvme0n1", "rbd", "rbdx", "dm-0"}) {
    EXPECT_THAT(Identify(name), StatusIs(kRefused, HasSubstr(name)));
  }
}

TEST_F(MappedImageTest, LoopIsNoImageByDefault) {
  SetLoop("/exports/pool/image");
  MountAt("/exports/pool/image", "fuse");
  EXPECT_THAT(Identify("loop3"), StatusIs(kRefused, HasSubstr("loop3")));
}

TEST_F(MappedImageTest, TakesAnImageExportedThroughFuse) {
  SetLoop("/exports/pool/image");
  MountAt("/exports/pool/image", "fuse");
  const auto image = Identify("loop3", "/exports");
  ASSERT_OK(image);
  EXPECT_EQ(image->Describe(), "image 'pool/image' (device loop3)");
  SetLoop("/exports/pool/ns/image");
  MountAt("/exports/pool/ns/image", "fuse");
  const auto in_namespace = Identify("loop3", "/exports");
  ASSERT_OK(in_namespace);
  EXPECT_EQ(in_namespace->rados_namespace, "ns");
}

TEST_F(MappedImageTest, RefusesOrdinaryFilesWhereImagesAreExported) {
  SetLoop("/exports/pool/image");
  MountAt("/exports", "ext4");
  EXPECT_THAT(Identify("loop3", "/exports"),
              StatusIs(kRefused, HasSubstr("ordinary file")));
  MountAt("/exports/pool/image", "ext4");
  EXPECT_THAT(Identify("loop3", "/exports"), StatusIs(kRefused));
}

TEST_F(MappedImageTest, RefusesLoopsOverFilesElsewhere) {
  for (const char* file : {"/elsewhere/pool/image", "/exports2/pool/image",
                           "/exports/image", "/exports/a/b/c/image"}) {
    SetLoop(file);
    MountAt(file, "fuse");
    EXPECT_THAT(Identify("loop3", "/exports"), StatusIs(kRefused)) << file;
  }
}

}  // namespace
}  // namespace addons::testing
