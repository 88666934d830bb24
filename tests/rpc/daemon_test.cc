// The program rbd-addonsd: exit codes, signals, two of them at once.

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"
#include "cli/commands.h"
#include "replication/replication.grpc.pb.h"
#include "tests/testing/temp_dir.h"

namespace addons {
namespace {

using ::addons::testing::TempDir;
using ::testing::HasSubstr;

// A daemon as a child process, with its output in a file and its readiness told
// as to systemd.
class Daemon {
 public:
  explicit Daemon(const TempDir& dir, const std::string& name = "d")
      : dir_(dir),
        output_(name + ".out"),
        notify_(dir.File(name + ".notify")) {}
  ~Daemon() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  void Start(std::vector<std::string> flags) {
    flags.insert(flags.begin(), ADDONS_DAEMON);
    notify_socket_ = UniqueFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    notify_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    unlink(notify_.c_str());
    ASSERT_EQ(
        bind(notify_socket_.get(), reinterpret_cast<const sockaddr*>(&address),
             sizeof(address)),
        0);
    std::string variable = "NOTIFY_SOCKET=" + notify_;
    std::vector<char*> environment = {variable.data(), nullptr};
    std::vector<char*> arguments;
    for (std::string& flag : flags) arguments.push_back(flag.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, dir_.File(output_).c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    ASSERT_EQ(posix_spawn(&pid_, ADDONS_DAEMON, &actions, nullptr,
                          arguments.data(), environment.data()),
              0);
    posix_spawn_file_actions_destroy(&actions);
  }

  // What the daemon told next; "" when it tells nothing for long.
  std::string Notification() const {
    pollfd event{notify_socket_.get(), POLLIN, 0};
    if (poll(&event, 1, 30'000) != 1) return "";
    std::array<char, 64> text{};
    const ssize_t size =
        recv(notify_socket_.get(), text.data(), text.size(), 0);
    return size < 0 ? "" : std::string(text.data(), static_cast<size_t>(size));
  }

  void Signal(int signal) const { kill(pid_, signal); }

  // -1 when it did not exit by itself. Bounded by ctest.
  int ExitCode() {
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_) return -1;
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string Output() const { return dir_.Read(output_); }

 private:
  const TempDir& dir_;
  const std::string output_;
  const std::string notify_;
  UniqueFd notify_socket_;
  pid_t pid_ = 0;
};

class DaemonTest : public ::testing::Test {
 protected:
  DaemonTest() { dir_.Write("config.json", "[]"); }

  std::vector<std::string> Flags(
      const std::vector<std::string>& more = {}) const {
    std::vector<std::string> flags = {
        "--csi-addons-endpoint=unix://" + dir_.File("s"),
        "--config-dir=" + dir_.path(), "--controllerserver=true"};
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }

  int Cli(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "rbd-addons");
    arguments.insert(arguments.end(), {"--endpoint", dir_.File("s")});
    std::stringstream in;
    std::stringstream out;
    std::stringstream err;
    return RunCli(arguments, in, out, err);
  }

  const TempDir dir_;
};

TEST_F(DaemonTest, ServesAndStopsWithZeroOnSigterm) {
  Daemon daemon(dir_);
  daemon.Start(Flags());
  ASSERT_EQ(daemon.Notification(), "READY=1") << daemon.Output();
  EXPECT_EQ(Cli({"probe"}), 0);
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Notification(), "STOPPING=1");
  EXPECT_EQ(daemon.ExitCode(), 0) << daemon.Output();
  EXPECT_FALSE(std::filesystem::exists(dir_.File("s")));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("s.lock")));
}

TEST_F(DaemonTest, StopsOnSigintAsWell) {
  Daemon daemon(dir_);
  daemon.Start(Flags());
  ASSERT_EQ(daemon.Notification(), "READY=1") << daemon.Output();
  daemon.Signal(SIGINT);
  EXPECT_EQ(daemon.ExitCode(), 0) << daemon.Output();
}

TEST_F(DaemonTest, ASecondOneExitsWithOneAndLeavesTheFirstAlone) {
  Daemon first(dir_);
  first.Start(Flags());
  ASSERT_EQ(first.Notification(), "READY=1") << first.Output();
  Daemon second(dir_, "second");
  second.Start(Flags());
  EXPECT_EQ(second.ExitCode(), 1);
  EXPECT_THAT(second.Output(), HasSubstr("serves there already"));
  EXPECT_EQ(Cli({"probe"}), 0);
}

TEST_F(DaemonTest, ReplacesTheSocketOfOneThatWasKilled) {
  Daemon killed(dir_);
  killed.Start(Flags());
  ASSERT_EQ(killed.Notification(), "READY=1") << killed.Output();
  killed.Signal(SIGKILL);
  EXPECT_EQ(killed.ExitCode(), -1);
  ASSERT_TRUE(std::filesystem::exists(dir_.File("s")));
  Daemon next(dir_, "next");
  next.Start(Flags());
  ASSERT_EQ(next.Notification(), "READY=1") << next.Output();
  EXPECT_EQ(Cli({"probe"}), 0);
}

TEST_F(DaemonTest, LeavesARegularFileAlone) {
  dir_.Write("s", "precious");
  Daemon daemon(dir_);
  daemon.Start(Flags());
  EXPECT_EQ(daemon.ExitCode(), 1);
  EXPECT_THAT(daemon.Output(), HasSubstr("not a socket"));
  EXPECT_EQ(dir_.Read("s"), "precious");
}

TEST_F(DaemonTest, ExitsWithTwoAndAllErrorsOnWrongFlags) {
  Daemon daemon(dir_);
  daemon.Start({"--log-level=loud", "--nonsense", "--settle-time=1s"});
  EXPECT_EQ(daemon.ExitCode(), 2);
  EXPECT_THAT(daemon.Output(), HasSubstr("--log-level loud"));
  EXPECT_THAT(daemon.Output(), HasSubstr("--nonsense"));
  EXPECT_THAT(daemon.Output(), HasSubstr("--settle-time 1s"));
}

TEST_F(DaemonTest, HelpAndVersionExitWithZero) {
  for (const char* flag : {"--help", "--version"}) {
    Daemon daemon(dir_, std::string("run") + flag);
    daemon.Start({flag});
    EXPECT_EQ(daemon.ExitCode(), 0);
    EXPECT_THAT(daemon.Output(), HasSubstr("rbd-addonsd"));
  }
}

TEST_F(DaemonTest, NamesTheFlagsThatItIgnores) {
  Daemon daemon(dir_);
  daemon.Start(Flags({"--v=5", "--pidlimit=-1"}));
  ASSERT_EQ(daemon.Notification(), "READY=1") << daemon.Output();
  EXPECT_THAT(daemon.Output(), HasSubstr("ignored=--v,--pidlimit"));
}

TEST_F(DaemonTest, LivesWithoutAConfiguration) {
  std::filesystem::remove(dir_.File("config.json"));
  Daemon daemon(dir_);
  daemon.Start(Flags());
  ASSERT_EQ(daemon.Notification(), "READY=1") << daemon.Output();
  EXPECT_EQ(Cli({"probe"}), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(Cli({"call", "GetCapabilities"}), 0);
}

// A monitor that takes connections and never says a word.
class SilentMonitorTest : public DaemonTest {
 protected:
  void SetUp() override {
    monitor_ = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ASSERT_EQ(
        bind(monitor_.get(), reinterpret_cast<const sockaddr*>(&address), size),
        0);
    ASSERT_EQ(listen(monitor_.get(), 8), 0);
    ASSERT_EQ(getsockname(monitor_.get(), reinterpret_cast<sockaddr*>(&address),
                          &size),
              0);
    dir_.Write(
        "config.json",
        absl::StrCat(R"([{"clusterID": "cluster", "monitors": ["127.0.0.1:)",
                     ntohs(address.sin_port), R"("]}])"));
  }

  // Leaves a demotion behind that is connecting to Ceph.
  void StartDemotion(Daemon& daemon, const std::string& grace) {
    daemon.Start(Flags({"--connect-timeout=1h", "--shutdown-grace=" + grace}));
    ASSERT_EQ(daemon.Notification(), "READY=1") << daemon.Output();
    caller_ = std::jthread([this] {
      ::replication::DemoteVolumeRequest request;
      request.mutable_replication_source()->mutable_volume()->set_volume_id(
          "0001-0007-cluster-0000000000000001-11111111-2222-3333-4444-"
          "555555555555");
      (*request.mutable_secrets())["userID"] = "admin";
      (*request.mutable_secrets())["userKey"] =
          "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
      grpc::ClientContext context;
      ::replication::DemoteVolumeResponse response;
      ::replication::Controller::NewStub(
          grpc::CreateChannel("unix:" + dir_.File("s"),
                              grpc::InsecureChannelCredentials()))
          ->DemoteVolume(&context, request, &response);
    });
    pollfd event{monitor_.get(), POLLIN, 0};
    ASSERT_EQ(poll(&event, 1, 30'000), 1) << daemon.Output();
  }

  UniqueFd monitor_;
  std::jthread caller_;
};

TEST_F(SilentMonitorTest, ExitsWithThreeWhenWorkDoesNotEndInTime) {
  Daemon daemon(dir_);
  StartDemotion(daemon, "100ms");
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.ExitCode(), 3) << daemon.Output();
  EXPECT_THAT(daemon.Output(), HasSubstr("left running at shutdown"));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("s")));
}

TEST_F(SilentMonitorTest, ASecondSignalEndsItAtOnce) {
  Daemon daemon(dir_);
  StartDemotion(daemon, "10m");
  daemon.Signal(SIGTERM);
  ASSERT_EQ(daemon.Notification(), "STOPPING=1");
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.ExitCode(), 3) << daemon.Output();
}

}  // namespace
}  // namespace addons
