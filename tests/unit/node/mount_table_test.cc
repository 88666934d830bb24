#include "node/mount_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/linux_tree.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kLine[] =
    "36 25 252:0 / /var/lib/kubelet/globalmount/id rw,relatime shared:5 - ext4 "
    "/dev/rbd0 rw,stripe=16";

MountEntry One(const std::string& line) {
  const MountTable table = MountTable::Parse(line);
  EXPECT_THAT(table.entries(), SizeIs(1)) << line;
  return table.entries().empty() ? MountEntry() : table.entries().front();
}

TEST(MountTableTest, ReadsALine) {
  const MountEntry entry = One(kLine);
  EXPECT_EQ(entry.id, 36U);
  EXPECT_EQ(entry.device, (DeviceNumber{252, 0}));
  EXPECT_EQ(entry.mount_point, "/var/lib/kubelet/globalmount/id");
  EXPECT_EQ(entry.filesystem, "ext4");
  EXPECT_EQ(entry.source, "/dev/rbd0");
  EXPECT_FALSE(entry.filesystem_read_only);
}

TEST(MountTableTest, ReadsLinesWithAnyNumberOfTags) {
  EXPECT_EQ(One("1 2 8:1 / /a rw - xfs /dev/sda1 rw").filesystem, "xfs");
  EXPECT_EQ(One("1 2 8:1 / /a rw shared:1 master:2 propagate_from:3 unbindable "
                "- xfs /dev/sda1 rw")
                .filesystem,
            "xfs");
}

TEST(MountTableTest, UnescapesWhatTheKernelEscapes) {
  EXPECT_EQ(One(R"(1 2 8:1 / /a\040b\011c\012d\134e rw - ext4 /dev/x rw)")
                .mount_point,
            "/a b\tc\nd\\e");
  // An escaped backslash does not begin another escape.
  EXPECT_EQ(One(R"(1 2 8:1 / /a\134040 rw - ext4 /dev/x rw)").mount_point,
            R"(/a\040)");
  EXPECT_EQ(One(R"(1 2 8:1 / /a\04 rw - ext4 /dev/x rw)").mount_point,
            R"(/a\04)");
}

TEST(MountTableTest, TakesALinePartThatLooksLikeTheEndOfTheTags) {
  // The mount point is "-", and so is the source.
  const MountEntry entry = One("1 2 8:1 / - rw - ext4 - rw");
  EXPECT_EQ(entry.mount_point, "-");
  EXPECT_EQ(entry.filesystem, "ext4");
}

TEST(MountTableTest, ReadsAnEmptySource) {
  EXPECT_EQ(One("1 2 0:44 / /a rw - tmpfs  rw").source, "");
}

TEST(MountTableTest, ReadsVeryLongLines) {
  std::string path;
  for (int i = 0; i < 4095; ++i) path += R"(\040)";
  EXPECT_EQ(One("1 2 8:1 / /" + path + " rw - ext4 /dev/x rw").mount_point,
            "/" + std::string(4095, ' '));
}

TEST(MountTableTest, TellsAReadOnlyFilesystemFromAReadOnlyMount) {
  EXPECT_FALSE(One("1 2 8:1 / /a ro - ext4 /dev/x rw").filesystem_read_only);
  EXPECT_TRUE(
      One("1 2 8:1 / /a rw - ext4 /dev/x noatime,ro").filesystem_read_only);
  EXPECT_FALSE(One("1 2 8:1 / /a rw - ext4 /dev/x rw,errors=remount-ro")
                   .filesystem_read_only);
}

TEST(MountTableTest, LeavesOutLinesThatMakeNoSense) {
  for (const char* line :
       {"", " ", "x", "1 2 8:1 / /a rw", "1 2 8:1 / /a rw -",
        "1 2 8:1 / /a rw - ext4 /dev/x", "x 2 8:1 / /a rw - ext4 /dev/x rw",
        "1 2 8 / /a rw - ext4 /dev/x rw", "1 2 8:x / /a rw - ext4 /dev/x rw",
        "-1 2 8:1 / /a rw - ext4 /dev/x rw",
        "99999999999999999999999 2 8:1 / /a rw - ext4 /dev/x rw",
        "1 2 8:1 / /a rw ext4 /dev/x rw more"}) {
    EXPECT_THAT(MountTable::Parse(line).entries(), IsEmpty()) << line;
  }
}

TEST(MountTableTest, OneBadLineDoesNotHideTheOthers) {
  const MountTable table =
      MountTable::Parse(std::string("nonsense\n") + kLine + "\n\n");
  EXPECT_NE(table.FindById(36), nullptr);
  EXPECT_EQ(table.FindById(37), nullptr);
}

TEST(MountTableTest, FindsTheUppermostMountAtAPlace) {
  const MountTable table = MountTable::Parse(
      "1 0 8:1 / /a rw - ext4 /dev/x rw\n"
      "2 1 8:2 / /a rw - xfs /dev/y rw\n"
      "3 1 8:3 / /a/b rw - xfs /dev/z rw\n");
  ASSERT_NE(table.FindByMountPoint("/a"), nullptr);
  EXPECT_EQ(table.FindByMountPoint("/a")->id, 2U);
  EXPECT_EQ(table.FindByMountPoint("/a/"), nullptr);
}

TEST(MountTableTest, CountsTheMountsOfADevice) {
  const MountTable table = MountTable::Parse(
      "1 0 252:0 / /staging rw - ext4 /dev/rbd0 rw\n"
      "2 1 252:0 / /pod rw - ext4 /dev/rbd0 rw\n"
      "3 1 252:16 / /other rw - ext4 /dev/rbd1 rw\n");
  EXPECT_EQ(table.CountOf({252, 0}), 2U);
  EXPECT_EQ(table.CountOf({252, 32}), 0U);
}

TEST(MountTableTest, ReadsTheFile) {
  LinuxTree tree;
  EXPECT_THAT(MountTable::Read(tree.roots()),
              StatusIs(absl::StatusCode::kInternal));
  tree.SetMountInfo(kLine);
  const auto table = MountTable::Read(tree.roots());
  ASSERT_OK(table);
  EXPECT_THAT(table->entries(), SizeIs(1));
}

TEST(MountTableTest, ReadsTheRealFile) {
  const auto table = MountTable::Read(LinuxRoots());
  ASSERT_OK(table);
  EXPECT_NE(table->FindByMountPoint("/proc"), nullptr);
}

}  // namespace
}  // namespace addons::testing
