#include "server/systemd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
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

std::string Receive(const UniqueFd& fd, int flags) {
  std::array<char, 64> received{};
  const ssize_t size = recv(fd.get(), received.data(), received.size(), flags);
  return std::string(received.data(),
                     static_cast<size_t>(std::max<ssize_t>(size, 0)));
}

TEST(NotifySystemdTest, SendsTheState) {
  const TempDir dir;
  const UniqueFd fd = ListenForDatagrams(dir.File("notify"));
  ASSERT_OK(NotifySystemd(dir.File("notify"), "READY=1"));
  EXPECT_EQ(Receive(fd, MSG_DONTWAIT), "READY=1");
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

TEST(WatchdogIntervalTest, IsWhatSystemdAsksThisProcessFor) {
  const std::string own = std::to_string(getpid());
  EXPECT_EQ(WatchdogInterval("30000000", own), std::chrono::seconds(30));
  EXPECT_EQ(WatchdogInterval("30000000", ""), std::chrono::seconds(30));
  EXPECT_EQ(WatchdogInterval("30000000", "1"), std::nullopt);
  EXPECT_EQ(WatchdogInterval("30000000", "x"), std::nullopt);
  for (const char* usec : {"", "0", "-1", "30s"}) {
    EXPECT_EQ(WatchdogInterval(usec, ""), std::nullopt) << usec;
  }
}

TEST(SystemdWatchdogTest, TellsAgainAndAgain) {
  const TempDir dir;
  const UniqueFd fd = ListenForDatagrams(dir.File("notify"));
  const SystemdWatchdog watchdog(dir.File("notify"),
                                 std::chrono::milliseconds(2), [] {});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Receive(fd, 0), "WATCHDOG=1");
}

TEST(SystemdWatchdogTest, SaysNothingWhileTheDaemonHangs) {
  const TempDir dir;
  const UniqueFd fd = ListenForDatagrams(dir.File("notify"));
  std::promise<void> asked;
  std::promise<void> answer;
  std::atomic<int> calls{0};
  const SystemdWatchdog watchdog(dir.File("notify"),
                                 std::chrono::milliseconds(1), [&] {
                                   if (++calls != 1) return;
                                   asked.set_value();
                                   answer.get_future().wait();
                                 });
  asked.get_future().wait();
  EXPECT_EQ(Receive(fd, MSG_DONTWAIT), "");
  answer.set_value();
  EXPECT_EQ(Receive(fd, 0), "WATCHDOG=1");
}

TEST(SystemdWatchdogTest, EndsAtOnce) {
  const TempDir dir;
  const UniqueFd fd = ListenForDatagrams(dir.File("notify"));
  std::optional<SystemdWatchdog> watchdog;
  watchdog.emplace(dir.File("notify"), std::chrono::hours(1), [] {});
  EXPECT_EQ(Receive(fd, 0), "WATCHDOG=1");
  watchdog.reset();  // the test's own deadline would end it otherwise
}

}  // namespace
}  // namespace addons
