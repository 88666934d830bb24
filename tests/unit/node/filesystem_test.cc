#include "node/filesystem.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/statvfs.h>

#include "base/unique_fd.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

UniqueFd OpenDirectory(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

TEST(FilesystemTest, SaysThatAFilesystemCannotTrim) {
  const UniqueFd fd = OpenDirectory("/proc");
  ASSERT_TRUE(fd.valid());
  EXPECT_THAT(TrimFilesystem(fd.get(), {0, 1 << 20, 0}),
              StatusIs(absl::StatusCode::kUnimplemented));
}

TEST(FilesystemTest, SaysWhatTheKernelAnsweredOtherwise) {
  EXPECT_THAT(TrimFilesystem(-1, {0, 1 << 20, 0}),
              StatusIs(absl::StatusCode::kUnknown,
                       ::testing::HasSubstr("Bad file descriptor")));
}

TEST(FilesystemTest, CountsFreeBytes) {
  const TempDir dir;
  const UniqueFd fd = OpenDirectory(dir.path());
  const auto bytes = ReadFreeBytes(fd.get());
  ASSERT_OK(bytes);
  struct statvfs info {};
  ASSERT_EQ(statvfs(dir.path().c_str(), &info), 0);
  // Others write meanwhile.
  EXPECT_NEAR(static_cast<double>(*bytes),
              static_cast<double>(info.f_bfree * info.f_frsize), 1e9);
  EXPECT_THAT(ReadFreeBytes(-1), StatusIs(absl::StatusCode::kUnknown));
}

}  // namespace
}  // namespace addons::testing
