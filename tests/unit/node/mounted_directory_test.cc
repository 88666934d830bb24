#include "node/mounted_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;

constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

absl::StatusOr<MountedDirectory> Open(const std::string& path) {
  return OpenMountedDirectory(LinuxRoots(), path);
}

TEST(MountedDirectoryTest, OpensTheRootOfAMount) {
  const auto directory = Open("/proc");
  ASSERT_OK(directory);
  EXPECT_EQ(directory->mount.filesystem, "proc");
  EXPECT_EQ(directory->mount.mount_point, "/proc");
  EXPECT_GE(directory->mounts, 1U);
  struct stat info {};
  ASSERT_EQ(fstat(directory->fd.get(), &info), 0);
  EXPECT_EQ(DeviceNumber::Of(info.st_dev), directory->mount.device);
}

TEST(MountedDirectoryTest, ToleratesSlashesAtTheEnd) {
  EXPECT_OK(Open("/proc///"));
}

TEST(MountedDirectoryTest, RefusesADirectoryInsideAMount) {
  EXPECT_THAT(Open("/proc/self"), StatusIs(kRefused));
  const TempDir dir;
  EXPECT_THAT(Open(dir.path()),
              StatusIs(kRefused, HasSubstr("mountPropagation")));
}

TEST(MountedDirectoryTest, RefusesWhatIsMissing) {
  EXPECT_THAT(Open("/no/such/directory"),
              StatusIs(kRefused, HasSubstr("/no/such/directory")));
  EXPECT_THAT(Open("/proc/no-such"), StatusIs(kRefused));
}

TEST(MountedDirectoryTest, RefusesTheRootDirectory) {
  EXPECT_THAT(Open("/"), StatusIs(kRefused, HasSubstr("root directory")));
  EXPECT_THAT(Open("//"), StatusIs(kRefused));
}

TEST(MountedDirectoryTest, RefusesALinkToAMount) {
  const TempDir dir;
  std::filesystem::create_directory_symlink("/proc", dir.File("link"));
  EXPECT_THAT(Open(dir.File("link")),
              StatusIs(kRefused, HasSubstr("symbolic link")));
  EXPECT_THAT(Open(dir.File("link/")), StatusIs(kRefused));
}

TEST(MountedDirectoryTest, FollowsLinksBeforeTheLastComponent) {
  const TempDir dir;
  std::filesystem::create_directory_symlink("/", dir.File("link"));
  EXPECT_OK(Open(dir.File("link/proc")));
}

TEST(MountedDirectoryTest, DoesNotTakeTheMountAboveForTheDirectory) {
  const TempDir dir;
  std::filesystem::create_directory_symlink("/proc", dir.File("link"));
  EXPECT_THAT(Open(dir.File("link/self")), StatusIs(kRefused));
  EXPECT_THAT(Open("/proc/sys/.."), StatusIs(kRefused));
}

TEST(MountedDirectoryTest, RefusesFiles) {
  const TempDir dir;
  dir.Write("file", "x");
  EXPECT_THAT(Open(dir.File("file")),
              StatusIs(kRefused, HasSubstr("no directory")));
}

TEST(MountedDirectoryTest, NamesBlockDevices) {
  const TempDir dir;
  if (mknod(dir.File("disk").c_str(), S_IFBLK | 0600, makedev(7, 200)) != 0) {
    GTEST_SKIP() << "only root makes block devices";
  }
  EXPECT_THAT(Open(dir.File("disk")), StatusIs(absl::StatusCode::kUnimplemented,
                                               HasSubstr("block device")));
}

TEST(MountedDirectoryTest, TakesPathsOfFourThousandBytes) {
  const TempDir dir;
  std::string deep = dir.path();
  while (deep.size() < 3900) deep += "/" + std::string(90, 'd');
  std::filesystem::create_directories(deep);
  std::filesystem::create_directory_symlink("/", deep + "/link");
  EXPECT_THAT(Open(deep), StatusIs(kRefused, HasSubstr("no filesystem")));
  EXPECT_OK(Open(deep + "/link/proc"));
  EXPECT_THAT(Open("/" + std::string(4094, 'd')),
              StatusIs(kRefused, HasSubstr("File name too long")));
}

}  // namespace
}  // namespace addons::testing
