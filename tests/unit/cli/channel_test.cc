// Whether a daemon listens, and what is said where none does.

#include "cli/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"
#include "cli/commands.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr uid_t kNobody = 65534;
constexpr int kUnavailable = 14;
constexpr char kAdvice[] =
    "; is rbd-addonsd running, and is this its socket (--endpoint, "
    "--admin-endpoint)?";

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

class ChannelTest : public ::testing::Test {
 protected:
  /// A socket at path() that `waiting` callers may wait for.
  UniqueFd Listen(int waiting) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = AddressOf(path());
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                     sizeof(address)),
              0);
    EXPECT_EQ(::listen(socket.get(), waiting), 0);
    return socket;
  }
  /// A file that nobody listens at.
  void LeaveSocket() { Listen(1).Reset(); }
  std::string path() const { return dir_.File("socket"); }

  /// What a verb says, which is one line.
  std::string Said(const std::vector<std::string>& verb) {
    std::vector<std::string> arguments = {"rbd-addons"};
    arguments.insert(arguments.end(), verb.begin(), verb.end());
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(RunCli(arguments, in, out, err), kUnavailable);
    EXPECT_EQ(out.str(), "");
    const std::string said = err.str();
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    return said;
  }

  const TempDir dir_;
};

TEST_F(ChannelTest, NobodyListensWhereThereIsNoSocket) {
  EXPECT_EQ(CheckListener(path()).message(),
            absl::StrCat("nobody listens at ", path(),
                         ": No such file or directory", kAdvice));
  EXPECT_TRUE(absl::IsUnavailable(CheckListener(path())));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckListener("tcp://x")));
}

TEST_F(ChannelTest, NobodyListensWhereADaemonHasDied) {
  LeaveSocket();
  EXPECT_EQ(CheckListener(path()).message(),
            absl::StrCat("nobody listens at ", path(), ": Connection refused",
                         kAdvice));
}

TEST_F(ChannelTest, WhoMayNotConnectIsToldSo) {
  const UniqueFd listener = Listen(1);
  EXPECT_TRUE(CheckListener(path()).ok());
  ASSERT_EQ(chmod(path().c_str(), 0), 0);
  // Of this thread alone. Does nothing where it is not root's.
  const int before = setfsuid(kNobody);
  const absl::Status status = CheckListener(path());
  setfsuid(static_cast<uid_t>(before));
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_EQ(status.message(),
            absl::StrCat("this user may not connect to ", path(),
                         ": Permission denied; run it as root, or as the user "
                         "that rbd-addonsd runs as"));
}

TEST_F(ChannelTest, WhoHasNoPlaceLeftListens) {
  const UniqueFd listener = Listen(0);
  const sockaddr_un address = AddressOf(path());
  std::vector<UniqueFd> callers;
  int result = 0;
  for (int i = 0; i < 16 && result == 0; ++i) {
    callers.emplace_back(
        ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    result =
        ::connect(callers.back().get(),
                  reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  ASSERT_NE(result, 0);
  EXPECT_TRUE(CheckListener(path()).ok()) << CheckListener(path()).message();
}

TEST_F(ChannelTest, EachVerbSaysItInOneLine) {
  LeaveSocket();
  dir_.Write("s.json", R"({"userID": "u", "userKey": "k"})");
  const std::string secrets = dir_.File("s.json");
  const auto says = [this] {
    return AllOf(StartsWith(absl::StrCat("UNAVAILABLE: nobody listens at ",
                                         path(), ": Connection refused; ")),
                 EndsWith(absl::StrCat(kAdvice, "\n")));
  };
  EXPECT_THAT(Said({"operations", "--admin-endpoint", path()}), says());
  EXPECT_THAT(Said({"probe", "--endpoint", path()}), says());
  EXPECT_THAT(
      Said({"gather", "--admin-endpoint", path(), "--secrets-file", secrets}),
      says());
  EXPECT_THAT(
      Said({"demote", "0001-0001-a-0000000000000001-b", "--endpoint", path(),
            "--admin-endpoint", path(), "--secrets-file", secrets}),
      says());
  EXPECT_THAT(Said({"site", "failover", "p", "--endpoint", path(),
                    "--admin-endpoint", path(), "--secrets-file", secrets}),
              says());
  EXPECT_THAT(
      Said({"conformance", "--endpoint", path(), "--secrets-file", secrets}),
      says());
}

TEST_F(ChannelTest, WhatTheDaemonAnsweredStays) {
  const absl::Status answered =
      absl::UnavailableError("shutting down (request 0-1)");
  EXPECT_EQ(NamingListener(answered, path()), answered);
  const UniqueFd listener = Listen(1);
  const absl::Status lost = absl::UnavailableError("Socket closed");
  EXPECT_EQ(NamingListener(lost, path()), lost);
  const absl::Status late = absl::DeadlineExceededError("Deadline Exceeded");
  EXPECT_EQ(NamingListener(late, "unix:///nowhere"), late);
}

}  // namespace
}  // namespace addons::testing
