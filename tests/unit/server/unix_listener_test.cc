#include "server/unix_listener.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/no_threads.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::addons::testing::TempDir;
using ::testing::AllOf;
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

/// As a client of gRPC does after connecting.
bool Speak(const UniqueFd& fd) {
  constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  constexpr ssize_t kSize = sizeof(kPreface) - 1;
  return write(fd.get(), kPreface, kSize) == kSize;
}

bool ConnectAndSpeak(const UniqueFd& fd, const std::string& path) {
  return Connect(fd, path) && Speak(fd);
}

/// What the other side has closed within `seconds`.
bool IsClosed(const UniqueFd& fd, int seconds = 20) {
  pollfd event{fd.get(), POLLIN, 0};
  char byte = 0;
  return poll(&event, 1, seconds * 1000) == 1 && read(fd.get(), &byte, 1) <= 0;
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

TEST_F(UnixListenerTest, TheSocketIsNeverOpenToMoreThanItsMode) {
  const mode_t before = umask(0);
  SocketOptions options;
  options.mode = 0600;
  std::atomic<bool> done{false};
  std::atomic<mode_t> seen{0};
  std::thread watcher([&] {
    while (!done) {
      struct stat info {};
      if (lstat(path_.c_str(), &info) == 0) seen |= info.st_mode & mode_t{0777};
    }
  });
  // Between the steps of an opening there are microseconds.
  for (int i = 0; i < 500; ++i) EXPECT_OK(Open(options));
  done = true;
  watcher.join();
  umask(before);
  EXPECT_EQ(seen & mode_t{0177}, mode_t{0}) << std::oct << seen;
}

TEST_F(UnixListenerTest, HandsOverConnections) {
  auto listener = Open();
  ASSERT_OK(listener);
  std::promise<UniqueFd> accepted;
  ASSERT_OK((*listener)->Start(
      [&](UniqueFd fd) { accepted.set_value(std::move(fd)); }));
  const UniqueFd client = NewSocket();
  ASSERT_TRUE(ConnectAndSpeak(client, path_));
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
  ASSERT_OK((*listener)->Start(
      [&](UniqueFd fd) { accepted.set_value(std::move(fd)); }));
  const UniqueFd client = NewSocket();
  ASSERT_TRUE(ConnectAndSpeak(client, path_));
  const UniqueFd served = accepted.get_future().get();
  EXPECT_NE(fcntl(served.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(UnixListenerTest, ConnectionsWaitUntilStart) {
  auto listener = Open();
  ASSERT_OK(listener);
  const UniqueFd client = NewSocket();
  ASSERT_TRUE(ConnectAndSpeak(client, path_));
  std::promise<void> accepted;
  ASSERT_OK((*listener)->Start([&](const UniqueFd&) { accepted.set_value(); }));
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
  EXPECT_THAT(Open(),
              StatusIs(kTaken, HasSubstr(absl::StrCat("process ", getpid(),
                                                      " serves there"))));
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

// The folder belongs to the sockets of CSI drivers.
TEST_F(UnixListenerTest, LeavesNothingButTheSocketInTheFolder) {
  auto listener = Open();
  ASSERT_OK(listener);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    names.push_back(entry.path().filename());
  }
  EXPECT_EQ(names, std::vector<std::string>{"s"});
}

TEST_F(UnixListenerTest, SeveralSocketsShareAFolder) {
  auto one = Open();
  ASSERT_OK(one);
  EXPECT_OK(UnixListener::Open({.path = dir_.File("other")}));
}

// Each of them finds a dead socket and wants to replace it.
TEST_F(UnixListenerTest, OfManyThatStartAtOnceOneServes) {
  for (int round = 0; round < 20; ++round) {
    Bound(path_).Reset();
    std::vector<std::future<absl::StatusOr<std::unique_ptr<UnixListener>>>>
        starts;
    for (int i = 0; i < 8; ++i) {
      starts.push_back(
          std::async(std::launch::async, [this] { return Open(); }));
    }
    std::vector<absl::StatusOr<std::unique_ptr<UnixListener>>> listeners;
    for (auto& start : starts) listeners.push_back(start.get());
    const auto served =
        std::count_if(listeners.begin(), listeners.end(),
                      [](const auto& listener) { return listener.ok(); });
    EXPECT_EQ(served, 1);
    for (auto& listener : listeners) {
      if (!listener.ok()) {
        EXPECT_THAT(listener, StatusIs(kTaken, HasSubstr("serves there")));
      }
    }
    EXPECT_TRUE(Connect(NewSocket(), path_));
    listeners.clear();
  }
}

TEST_F(UnixListenerTest, WaitsForAnotherDaemonThatStarts) {
  UniqueFd folder(
      open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(folder.get(), LOCK_EX), 0);
  auto start = std::async(std::launch::async, [this] { return Open(); });
  EXPECT_EQ(start.wait_for(std::chrono::milliseconds(100)),
            std::future_status::timeout);
  EXPECT_FALSE(Exists("s"));
  folder.Reset();
  EXPECT_OK(start.get());
}

TEST_F(UnixListenerTest, MakesTheFolderIfToldTo) {
  auto listener =
      UnixListener::Open({.path = dir_.File("new/s"), .make_folder = true});
  ASSERT_OK(listener);
  EXPECT_TRUE(Connect(NewSocket(), dir_.File("new/s")));
  EXPECT_EQ(ModeOf(dir_.File("new")) & mode_t{022}, 0U);
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

TEST_F(UnixListenerTest, CloseRemovesTheSocket) {
  auto listener = Open();
  ASSERT_OK(listener);
  ASSERT_OK((*listener)->Start([](const UniqueFd&) {}));
  (*listener)->Close();
  EXPECT_FALSE(Exists("s"));
  EXPECT_FALSE(Connect(NewSocket(), path_));
  (*listener)->Close();
}

// The successor's socket may have got the inode of ours.
TEST_F(UnixListenerTest, ASuccessorCanServeAtOnce) {
  auto first = Open();
  ASSERT_OK(first);
  (*first)->Close();
  auto second = Open();
  ASSERT_OK(second);
  first->reset();
  EXPECT_TRUE(Connect(NewSocket(), path_));
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

TEST_F(UnixListenerTest, AnAcceptorThatThrowsCostsOneConnection) {
  auto listener = Open();
  ASSERT_OK(listener);
  int calls = 0;
  std::promise<void> accepted;
  ASSERT_OK((*listener)->Start([&](const UniqueFd&) {
    if (++calls == 1) throw std::bad_alloc();
    accepted.set_value();
  }));
  const UniqueFd unlucky = NewSocket();
  ASSERT_TRUE(ConnectAndSpeak(unlucky, path_));
  const UniqueFd next = NewSocket();
  ASSERT_TRUE(ConnectAndSpeak(next, path_));
  accepted.get_future().wait();
}

TEST_F(UnixListenerTest, WithManyDescriptorsOpenTheNextOnesWait) {
  SocketOptions options;
  options.path = path_;
  options.most_descriptors = CountOpenDescriptors() + 100;
  auto listener = UnixListener::Open(options);
  ASSERT_OK(listener);
  std::mutex mutex;
  std::vector<UniqueFd> accepted;
  ASSERT_OK((*listener)->Start([&](UniqueFd connection) {
    const std::lock_guard lock(mutex);
    accepted.push_back(std::move(connection));
  }));
  const auto count = [&] {
    const std::lock_guard lock(mutex);
    return accepted.size();
  };
  const auto wait_for = [&](const std::function<bool()>& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i) poll(nullptr, 0, 10);
    return condition();
  };
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 60; ++i) {
    clients.push_back(NewSocket());
    ASSERT_TRUE(ConnectAndSpeak(clients.back(), path_)) << i;
  }
  // A client and what is accepted of it are two descriptors of this process.
  ASSERT_TRUE(wait_for([&] { return count() >= 30; }));
  poll(nullptr, 0, 300);
  EXPECT_LT(count(), 60U);
  {
    const std::lock_guard lock(mutex);
    accepted.erase(accepted.begin(), accepted.begin() + 30);
  }
  clients.erase(clients.begin(), clients.begin() + 30);
  EXPECT_TRUE(wait_for([&] { return count() == 30; }));
}

/// Of the listener at `path`, which cuts off who is silent for `patience`.
class SilenceTest : public UnixListenerTest {
 protected:
  void Listen(std::chrono::milliseconds patience,
              std::chrono::milliseconds read_patience = std::chrono::hours(1)) {
    SocketOptions options;
    options.path = path_;
    options.patience = patience;
    options.read_patience = read_patience;
    auto listener = UnixListener::Open(options);
    ASSERT_OK(listener);
    listener_ = *std::move(listener);
    ASSERT_OK(listener_->Start([this](UniqueFd connection) {
      accepted_.set_value(std::move(connection));
    }));
  }

  /// It counts after it has closed.
  bool Counts(uint64_t ConnectionCounts::*which, uint64_t wanted) const {
    for (int i = 0; i < 2000 && listener_->counts().*which != wanted; ++i) {
      poll(nullptr, 0, 10);
    }
    return listener_->counts().*which == wanted;
  }

  std::promise<UniqueFd> accepted_;
  std::unique_ptr<UnixListener> listener_;
};

TEST_F(SilenceTest, WhoSaysNothingIsCutOff) {
  Listen(std::chrono::milliseconds(50));
  const UniqueFd client = NewSocket();
  ASSERT_TRUE(Connect(client, path_));
  EXPECT_TRUE(IsClosed(client));
  EXPECT_EQ(listener_->counts().accepted, 1U);
  EXPECT_TRUE(Counts(&ConnectionCounts::silent, 1));
}

TEST_F(SilenceTest, ABeginningThatIsNotFinishedIsSilence) {
  Listen(std::chrono::milliseconds(50));
  const UniqueFd client = NewSocket();
  ASSERT_TRUE(Connect(client, path_));
  ASSERT_EQ(write(client.get(), "PRI * H", 7), 7);
  EXPECT_TRUE(IsClosed(client));
  EXPECT_TRUE(Counts(&ConnectionCounts::silent, 1));
}

TEST_F(SilenceTest, WhatIsNotHttp2IsClosedAtOnce) {
  Listen(std::chrono::hours(1));
  const UniqueFd client = NewSocket();
  ASSERT_TRUE(Connect(client, path_));
  ASSERT_EQ(write(client.get(), "GET / HTTP/1.1\r\n", 16), 16);
  EXPECT_TRUE(IsClosed(client));
  EXPECT_TRUE(Counts(&ConnectionCounts::foreign, 1));
}

TEST_F(SilenceTest, ABeginningInPiecesIsHandedOverWhole) {
  Listen(std::chrono::hours(1));
  const UniqueFd client = NewSocket();
  ASSERT_TRUE(Connect(client, path_));
  constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmore";
  constexpr ssize_t kSize = sizeof(kPreface) - 1;
  for (ssize_t at = 0; at < kSize; ++at) {
    ASSERT_EQ(write(client.get(), &kPreface[at], 1), 1);
  }
  const UniqueFd served = accepted_.get_future().get();
  std::string said(kSize, '\0');
  // Nothing of it is taken away; the last bytes may be on their way yet.
  pollfd event{served.get(), POLLIN, 0};
  size_t got = 0;
  while (got < said.size() && poll(&event, 1, 20000) == 1) {
    const ssize_t more = read(served.get(), &said[got], said.size() - got);
    ASSERT_GT(more, 0);
    got += static_cast<size_t>(more);
  }
  EXPECT_EQ(said, kPreface);
}

TEST_F(SilenceTest, ThoseWhoAreSilentKeepNobodyOut) {
  Listen(std::chrono::hours(1));
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 300; ++i) {
    silent.push_back(NewSocket());
    ASSERT_TRUE(Connect(silent.back(), path_)) << i;
  }
  const UniqueFd client = NewSocket();
  ASSERT_TRUE(ConnectAndSpeak(client, path_));
  EXPECT_TRUE(accepted_.get_future().get().valid());
}

/// Sends until nothing more fits.
void Fill(const UniqueFd& fd) {
  const std::string bytes(4096, 'x');
  while (send(fd.get(), bytes.data(), bytes.size(),
              MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
  }
}

TEST_F(SilenceTest, WhoDoesNotReadIsCutOff) {
  Listen(std::chrono::hours(1), std::chrono::milliseconds(100));
  const UniqueFd client = NewSocket();
  ASSERT_TRUE(ConnectAndSpeak(client, path_));
  const UniqueFd served = accepted_.get_future().get();
  Fill(served);
  pollfd event{client.get(), POLLRDHUP, 0};
  EXPECT_EQ(poll(&event, 1, 20000), 1);
  EXPECT_TRUE(Counts(&ConnectionCounts::unread, 1));
}

TEST_F(SilenceTest, WhoReadsOrHasLittleToReadIsNotCutOff) {
  Listen(std::chrono::hours(1), std::chrono::milliseconds(100));
  const UniqueFd client = NewSocket();
  ASSERT_TRUE(ConnectAndSpeak(client, path_));
  UniqueFd served = accepted_.get_future().get();
  const UniqueFd idle = NewSocket();
  accepted_ = {};
  ASSERT_TRUE(ConnectAndSpeak(idle, path_));
  const UniqueFd served_idle = accepted_.get_future().get();
  ASSERT_EQ(write(served_idle.get(), "little", 6), 6);
  // Until one that does not read is cut off, three times in a row.
  for (uint64_t others = 1; others <= 3; ++others) {
    const UniqueFd other = NewSocket();
    accepted_ = {};
    ASSERT_TRUE(ConnectAndSpeak(other, path_));
    const UniqueFd served_other = accepted_.get_future().get();
    Fill(served_other);
    std::string read_of(4096, 'x');
    while (listener_->counts().unread < others) {
      Fill(served);
      while (recv(client.get(), read_of.data(), read_of.size(), MSG_DONTWAIT) >
             0) {
      }
      poll(nullptr, 0, 1);
    }
  }
  EXPECT_EQ(listener_->counts().unread, 3U);
  EXPECT_EQ(write(served.get(), "x", 1), 1);
  EXPECT_EQ(write(served_idle.get(), "x", 1), 1);
}

// Its number may be somebody else's by then.
TEST_F(SilenceTest, ADescriptorThatWasClosedIsForgotten) {
  Listen(std::chrono::hours(1), std::chrono::milliseconds(50));
  const UniqueFd client = NewSocket();
  ASSERT_TRUE(ConnectAndSpeak(client, path_));
  UniqueFd served = accepted_.get_future().get();
  const int number = served.get();
  served.Reset();
  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const UniqueFd mine(pair[0]);
  const UniqueFd other(pair[1]);
  ASSERT_TRUE(mine.get() == number || other.get() == number);
  Fill(mine);
  Fill(other);
  // Until one that is served later was cut off.
  const UniqueFd next = NewSocket();
  accepted_ = {};
  ASSERT_TRUE(ConnectAndSpeak(next, path_));
  const UniqueFd served_next = accepted_.get_future().get();
  Fill(served_next);
  ASSERT_TRUE(Counts(&ConnectionCounts::unread, 1));
  for (const UniqueFd* const end : {&mine, &other}) {
    pollfd event{end->get(), POLLRDHUP, 0};
    EXPECT_EQ(poll(&event, 1, 0), 0);
  }
}

TEST_F(SilenceTest, ItsEndClosesThoseWhoAreSilent) {
  Listen(std::chrono::hours(1));
  const UniqueFd client = NewSocket();
  ASSERT_TRUE(Connect(client, path_));
  while (listener_->counts().accepted == 0) poll(nullptr, 0, 1);
  listener_.reset();
  EXPECT_TRUE(IsClosed(client));
}

TEST_F(UnixListenerTest, NoThreadIsAnErrorAndNoEnd) {
  auto listener = Open();
  ASSERT_OK(listener);
  EXPECT_THAT(
      (*listener)->Start([](const UniqueFd&) {}, testing::NoThreads()),
      StatusIs(absl::StatusCode::kResourceExhausted,
               AllOf(HasSubstr(path_), HasSubstr("limit of processes"))));
}

TEST_F(UnixListenerTest, ALinkOfAnotherUserIsNotFollowed) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, for a link of another user";
  const std::string real = dir_.File("real");
  const std::string link = dir_.File("link");
  ASSERT_EQ(mkdir(real.c_str(), 0700), 0);
  ASSERT_EQ(symlink(real.c_str(), link.c_str()), 0);
  SocketOptions options;
  options.path = link + "/s";
  EXPECT_OK(UnixListener::Open(options));  // a link of root, like /var/run
  ASSERT_EQ(lchown(link.c_str(), 4711, 4711), 0);
  EXPECT_FALSE(UnixListener::Open(options).ok());
}

TEST_F(UnixListenerTest, ThePathCanBeUsedAgain) {
  ASSERT_OK(Open());  // opened and closed
  auto again = Open();
  ASSERT_OK(again);
  EXPECT_TRUE(Connect(NewSocket(), path_));
}

}  // namespace
}  // namespace addons
