#include "server/unix_listener.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <filesystem>
#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::addons::testing::TempDir;
using ::testing::HasSubstr;

constexpr auto kTaken = absl::StatusCode::kFailedPrecondition;

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

UniqueFd NewSocket() {
  return UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

bool Connect(const UniqueFd& fd, const std::string& path) {
  const sockaddr_un address = AddressOf(path);
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                 sizeof(address)) == 0;
}

UniqueFd Bound(const std::string& path) {
  UniqueFd fd = NewSocket();
  const sockaddr_un address = AddressOf(path);
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                 sizeof(address)),
            0);
  return fd;
}

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(lstat(path.c_str(), &info), 0);
  return info.st_mode & mode_t{07777};
}

class UnixListenerTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<UnixListener>> Open(
      SocketOptions options = {}) {
    options.path = path_;
    return UnixListener::Open(options);
  }
  bool Exists(const std::string& name) const {
    return std::filesystem::exists(
        std::filesystem::symlink_status(dir_.File(name)));
  }

  const TempDir dir_;
  const std::string path_ = dir_.File("s");
};

TEST_F(UnixListenerTest, HandsOverConnections) {
  auto listener = Open();
  ASSERT_OK(listener);
  std::promise<UniqueFd> accepted;
  (*listener)->Start([&](UniqueFd fd) { accepted.set_value(std::move(fd)); });
  const UniqueFd client = NewSocket();
  ASSERT_TRUE(Connect(client, path_));
  const UniqueFd served = accepted.get_future().get();
  ASSERT_EQ(write(served.get(), "x", 1), 1);
  char received = 0;
  ASSERT_EQ(read(client.get(), &received, 1), 1);
  EXPECT_EQ(received, 'x');
}

TEST_F(UnixListenerTest, HandsOverNonBlockingConnections) {
  auto listener = Open();
  ASSERT_OK(listener);
  std::promise<UniqueFd> accepted;
  (*listener)->Start([&](UniqueFd fd) { accepted.set_value(std::move(fd)); });
  const UniqueFd client = NewSocket();
  ASSERT_TRUE(Connect(client, path_));
  const UniqueFd served = accepted.get_future().get();
  EXPECT_NE(fcntl(served.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(UnixListenerTest, ConnectionsWaitUntilStart) {
  auto listener = Open();
  ASSERT_OK(listener);
  const UniqueFd client = NewSocket();
  ASSERT_TRUE(Connect(client, path_));
  std::promise<void> accepted;
  (*listener)->Start([&](const UniqueFd&) { accepted.set_value(); });
  accepted.get_future().wait();
}

TEST_F(UnixListenerTest, TheSocketHasTheModeAskedForWhateverTheUmask) {
  const mode_t before = umask(0077);
  auto listener = Open({.mode = 0660});
  umask(before);
  ASSERT_OK(listener);
  EXPECT_EQ(ModeOf(path_), 0660U);
}

TEST_F(UnixListenerTest, TheSocketIsPrivateByDefault) {
  const mode_t before = umask(0);
  auto listener = Open();
  umask(before);
  ASSERT_OK(listener);
  EXPECT_EQ(ModeOf(path_), 0600U);
}

TEST_F(UnixListenerTest, TheSocketGetsItsGroup) {
  auto listener = Open({.group = absl::StrCat(getgid())});
  ASSERT_OK(listener);
  struct stat info {};
  ASSERT_EQ(lstat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_gid, getgid());
}

TEST_F(UnixListenerTest, RefusesAnUnknownGroupAndLeavesNothingBehind) {
  EXPECT_THAT(Open({.group = "no-such-group-here"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no-such-group-here")));
  EXPECT_FALSE(Exists("s"));
  EXPECT_FALSE(Exists("s.lock"));
}

TEST_F(UnixListenerTest, RefusesASecondListener) {
  auto first = Open();
  ASSERT_OK(first);
  EXPECT_THAT(Open(),
              StatusIs(kTaken, HasSubstr(absl::StrCat("process ", getpid()))));
  EXPECT_TRUE(Connect(NewSocket(), path_));
}

TEST_F(UnixListenerTest, RefusesTheSocketOfAnotherProgram) {
  const UniqueFd other = Bound(path_);
  ASSERT_EQ(listen(other.get(), 1), 0);
  EXPECT_THAT(Open(), StatusIs(kTaken, HasSubstr("another program")));
  EXPECT_TRUE(Connect(NewSocket(), path_));
}

TEST_F(UnixListenerTest, RefusesTheSocketOfABusyProgram) {
  const UniqueFd other = Bound(path_);
  ASSERT_EQ(listen(other.get(), 0), 0);
  const UniqueFd waiting = NewSocket();
  ASSERT_TRUE(Connect(waiting, path_));  // fills the queue of one
  EXPECT_THAT(Open(), StatusIs(kTaken, HasSubstr("another program")));
}

TEST_F(UnixListenerTest, ReplacesADeadSocket) {
  Bound(path_).Reset();
  ASSERT_TRUE(Exists("s"));
  auto listener = Open();
  ASSERT_OK(listener);
  EXPECT_TRUE(Connect(NewSocket(), path_));
}

TEST_F(UnixListenerTest, IgnoresTheLockFileOfADeadProcess) {
  dir_.Write("s.lock", "12345\n");
  EXPECT_OK(Open());
}

TEST_F(UnixListenerTest, LeavesARegularFileAlone) {
  dir_.Write("s", "precious");
  EXPECT_THAT(Open(), StatusIs(kTaken, HasSubstr("not a socket")));
  EXPECT_EQ(dir_.Read("s"), "precious");
}

TEST_F(UnixListenerTest, DoesNotFollowALink) {
  dir_.Write("target", "precious");
  std::filesystem::create_symlink(dir_.File("target"), path_);
  EXPECT_THAT(Open(), StatusIs(kTaken, HasSubstr("not a socket")));
  EXPECT_EQ(dir_.Read("target"), "precious");
}

TEST_F(UnixListenerTest, NamesTheMissingFolder) {
  EXPECT_THAT(UnixListener::Open({.path = dir_.File("none/s")}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("none/s")));
}

TEST_F(UnixListenerTest, CloseRemovesSocketAndLock) {
  auto listener = Open();
  ASSERT_OK(listener);
  (*listener)->Close();
  EXPECT_FALSE(Exists("s"));
  EXPECT_FALSE(Exists("s.lock"));
}

TEST_F(UnixListenerTest, CloseLeavesTheSocketOfAnotherProgramAlone) {
  auto listener = Open();
  ASSERT_OK(listener);
  ASSERT_EQ(unlink(path_.c_str()), 0);
  const UniqueFd other = Bound(path_);
  ASSERT_EQ(listen(other.get(), 1), 0);
  (*listener)->Close();
  EXPECT_TRUE(Connect(NewSocket(), path_));
}

TEST_F(UnixListenerTest, StopAcceptingRefusesNewConnections) {
  auto listener = Open();
  ASSERT_OK(listener);
  (*listener)->Start([](const UniqueFd&) {});
  (*listener)->StopAccepting();
  EXPECT_FALSE(Connect(NewSocket(), path_));
  EXPECT_TRUE(Exists("s.lock"));
}

TEST_F(UnixListenerTest, ThePathCanBeUsedAgain) {
  ASSERT_OK(Open());  // opened and closed
  auto again = Open();
  ASSERT_OK(again);
  EXPECT_TRUE(Connect(NewSocket(), path_));
}

}  // namespace
}  // namespace addons
