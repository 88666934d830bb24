#include "server/systemd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <string>

#include "base/unique_fd.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::addons::testing::TempDir;

UniqueFd ListenForDatagrams(const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                 sizeof(address)),
            0);
  return fd;
}

TEST(NotifySystemdTest, SendsTheState) {
  const TempDir dir;
  const UniqueFd fd = ListenForDatagrams(dir.File("notify"));
  ASSERT_OK(NotifySystemd(dir.File("notify"), "READY=1"));
  std::array<char, 64> received{};
  const ssize_t size =
      recv(fd.get(), received.data(), received.size(), MSG_DONTWAIT);
  ASSERT_GT(size, 0);
  EXPECT_EQ(std::string(received.data(), static_cast<size_t>(size)), "READY=1");
}

TEST(NotifySystemdTest, DoesNothingWithoutASocket) {
  EXPECT_OK(NotifySystemd("", "READY=1"));
}

TEST(NotifySystemdTest, ReportsADeadSocket) {
  const TempDir dir;
  EXPECT_THAT(NotifySystemd(dir.File("none"), "READY=1"),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST(NotifySystemdTest, RefusesAStrangeName) {
  EXPECT_THAT(NotifySystemd("vsock:2:1", "READY=1"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace addons
