// The archive that gather writes. That others can read it, and how it gets its
// name, is in tests/deploy/gather.py.

#include "cli/tar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

size_t FilesIn(const TempDir& dir) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  return files;
}

TEST(TarTest, AnEntryIsAHeaderAndWholeBlocks) {
  const std::string tar = TarOf({{"a/b", std::string(513, 'x')}, {"c", ""}}, 0);
  EXPECT_EQ(tar.size(), 512U * (1 + 2 + 1 + 2));
  EXPECT_EQ(tar.substr(0, 4), std::string("a/b\0", 4));
  EXPECT_EQ(tar.substr(124, 12), std::string("00000001001\0", 12));
  EXPECT_EQ(tar.substr(257, 8), std::string("ustar\0"
                                            "00",
                                            8));
  EXPECT_EQ(tar.substr(512U * 3, 2), std::string("c\0", 2));
  EXPECT_EQ(tar.substr(512U * 4), std::string(1024, '\0'));
}

TEST(TarTest, WhatIsInTheWayIsNamedBefore) {
  const TempDir dir;
  EXPECT_OK(CheckWritable(dir.File("new.tar"), false));
  EXPECT_THAT(CheckWritable(dir.File("none/new.tar"), true).message(),
              AllOf(HasSubstr(dir.File("none")),
                    HasSubstr("No such file or directory")));
  dir.Write("old.tar", "old");
  EXPECT_THAT(CheckWritable(dir.File("old.tar"), false).message(),
              AllOf(HasSubstr("is there already"), HasSubstr("--force")));
  EXPECT_OK(CheckWritable(dir.File("old.tar"), true));
  EXPECT_THAT(CheckWritable(dir.path(), true).message(),
              HasSubstr("is a folder"));
}

TEST(TarTest, AFileThatCameMeanwhileStaysAsItIs) {
  const TempDir dir;
  dir.Write("tar", "old");
  const absl::Status refused = WriteWhole(dir.File("tar"), "new", false);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_EQ(dir.Read("tar"), "old");
  EXPECT_EQ(FilesIn(dir), 1U);
  EXPECT_OK(WriteWhole(dir.File("tar"), "new", true));
  EXPECT_EQ(dir.Read("tar"), "new");
  EXPECT_EQ(FilesIn(dir), 1U);
  struct stat written {};
  ASSERT_EQ(stat(dir.File("tar").c_str(), &written), 0);
  EXPECT_EQ(written.st_mode & 0777U, 0600U);
}

TEST(TarTest, WhatCannotBeWrittenLeavesNothing) {
  const TempDir dir;
  std::filesystem::create_directory(dir.File("tar"));
  EXPECT_TRUE(absl::IsInternal(WriteWhole(dir.File("tar"), "new", true)));
  EXPECT_EQ(FilesIn(dir), 0U);
}

}  // namespace
}  // namespace addons::testing
