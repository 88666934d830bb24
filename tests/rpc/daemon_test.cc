// The program rbd-addonsd: exit codes, signals, two of them at once.

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/unique_fd.h"
#include "cli/commands.h"
#include "identity/identity.grpc.pb.h"
#include "nlohmann/json.hpp"
#include "replication/replication.grpc.pb.h"
#include "tests/testing/cli_sockets.h"
#include "tests/testing/http_get.h"
#include "tests/testing/temp_dir.h"

namespace addons {
namespace {

using ::addons::testing::TempDir;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// The one that was built with this test, or another: what is shipped has other
// options, and no tests of its own.
std::string Program() {
  const char* other = std::getenv("RBD_ADDONS_TEST_DAEMON");
  return other != nullptr ? other : ADDONS_DAEMON;
}

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

  /// `variables` are "NAME=value". `log` is its standard error; -1: the file.
  void Start(std::vector<std::string> flags,
             std::vector<std::string> variables = {}, int log = -1) {
    flags.insert(flags.begin(), Program());
    Run(std::move(flags), std::move(variables), log);
  }

  /// The same for a program that becomes the daemon.
  void Run(std::vector<std::string> command,
           std::vector<std::string> variables = {}, int log = -1) {
    notify_socket_ = UniqueFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    notify_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    unlink(notify_.c_str());
    ASSERT_EQ(
        bind(notify_socket_.get(), reinterpret_cast<const sockaddr*>(&address),
             sizeof(address)),
        0);
    variables.push_back("NOTIFY_SOCKET=" + notify_);
    variables.emplace_back("PATH=/usr/sbin:/usr/bin:/sbin:/bin");
    // What a sanitizer is to leave out.
    for (const char* name : {"ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
      const char* value = std::getenv(name);
      if (value != nullptr) variables.push_back(absl::StrCat(name, "=", value));
    }
    std::vector<char*> environment;
    for (std::string& variable : variables) {
      environment.push_back(variable.data());
    }
    environment.push_back(nullptr);
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, dir_.File(output_).c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, log < 0 ? 1 : log, 2);
    ASSERT_EQ(posix_spawnp(&pid_, command.front().c_str(), &actions, nullptr,
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
  // Of the threads the first one, which any other may take a signal from.
  void SignalMainThread(int signal) const {
    syscall(SYS_tgkill, pid_, pid_, signal);
  }

  // -1 when it did not exit by itself. Bounded by ctest.
  int ExitCode() {
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_) return -1;
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // 0 when no signal ended it.
  int EndingSignal() {
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_) return 0;
    pid_ = 0;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

  std::string Output() const { return dir_.Read(output_); }
  // False: the log has no such line after a while.
  bool WaitForOutput(const std::string& text) const {
    for (int i = 0; i < 600; ++i) {
      if (Output().find(text) != std::string::npos) return true;
      poll(nullptr, 0, 50);
    }
    return false;
  }
  size_t OpenDescriptors() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) +
                                             "/fd")) {
      ++count;
    }
    return count;
  }
  /// The line of /proc/PID/limits that begins with `name`.
  std::string Limit(const std::string& name) const {
    std::ifstream limits("/proc/" + std::to_string(pid_) + "/limits");
    std::string line;
    while (std::getline(limits, line)) {
      if (line.rfind(name, 0) == 0) return line;
    }
    return "";
  }

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
        "--admin-endpoint=unix://" + dir_.File("a"),
        "--config-dir=" + dir_.path(), "--controllerserver=true"};
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }

  std::shared_ptr<grpc::Channel> Channel() const {
    return grpc::CreateChannel("unix:" + dir_.File("s"),
                               grpc::InsecureChannelCredentials());
  }

  // A call that uses librados.
  grpc::Status Demote() const {
    ::replication::DemoteVolumeRequest request;
    request.mutable_replication_source()->mutable_volume()->set_volume_id(
        "0001-0007-cluster-0000000000000001-11111111-2222-3333-4444-"
        "555555555555");
    (*request.mutable_secrets())["userID"] = "admin";
    (*request.mutable_secrets())["userKey"] =
        "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
    grpc::ClientContext context;
    ::replication::DemoteVolumeResponse response;
    return ::replication::Controller::NewStub(Channel())->DemoteVolume(
        &context, request, &response);
  }

  int Cli(std::vector<std::string> arguments) const {
    const std::vector<std::string> sockets = testing::SocketArguments(
        arguments.front(), dir_.File("s"), dir_.File("a"));
    arguments.insert(arguments.begin(), "rbd-addons");
    arguments.insert(arguments.end(), sockets.begin(), sockets.end());
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
}

TEST_F(DaemonTest, ReadsTheConfigurationAgainOnSighupAndLives) {
  Daemon daemon(dir_);
  daemon.Start(Flags());
  ASSERT_EQ(daemon.Notification(), "READY=1") << daemon.Output();
  daemon.Signal(SIGHUP);
  EXPECT_TRUE(daemon.WaitForOutput("configuration read again"));
  dir_.Write("config.json", "{");
  daemon.Signal(SIGHUP);
  EXPECT_TRUE(daemon.WaitForOutput("what was read before stays"));
  EXPECT_EQ(Cli({"probe"}), 0);
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.ExitCode(), 0) << daemon.Output();
}

// Whether a process has SIGHUP blocked, or has it before long.
bool HoldsHangups(pid_t pid) {
  for (int i = 0; i < 200; ++i) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    std::string line;
    while (std::getline(status, line)) {
      if (line.rfind("SigBlk:", 0) != 0) continue;
      if ((std::stoull(line.substr(7), nullptr, 16) & 1U << (SIGHUP - 1)) != 0)
        return true;
    }
    poll(nullptr, 0, 50);
  }
  return false;
}

TEST_F(DaemonTest, SighupNeverKillsAlsoBeforeAnythingIsServed) {
  // Its help goes to a pipe that is full, so it stays where it is.
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  ASSERT_EQ(fcntl(writer.get(), F_SETFL, O_NONBLOCK), 0);
  const std::string fill(4096, '-');
  while (write(writer.get(), fill.data(), fill.size()) > 0) {
  }
  ASSERT_EQ(fcntl(writer.get(), F_SETFL, 0), 0);
  const std::string program = Program();
  std::string help = "--help";
  std::array<char*, 3> arguments = {const_cast<char*>(program.c_str()),
                                    help.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, writer.get(), 1);
  pid_t pid = 0;
  ASSERT_EQ(posix_spawn(&pid, program.c_str(), &actions, nullptr,
                        arguments.data(), environ),
            0);
  posix_spawn_file_actions_destroy(&actions);
  writer.Reset();
  const bool holds = HoldsHangups(pid);
  kill(pid, holds ? SIGHUP : SIGKILL);
  std::array<char, 65536> text{};
  while (read(reader.get(), text.data(), text.size()) > 0) {
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(holds);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(DaemonTest, WhatGrpcSaysIsInTheLog) {
  Daemon daemon(dir_);
  daemon.Start(Flags({"--log-level=debug"}), {"GRPC_VERBOSITY=DEBUG"});
  ASSERT_EQ(daemon.Notification(), "READY=1") << daemon.Output();
  EXPECT_EQ(Cli({"probe"}), 0);
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.ExitCode(), 0) << daemon.Output();
  EXPECT_THAT(daemon.Output(), HasSubstr(" grpc at="));
  // gRPC's own lines begin with the letter of their severity.
  std::istringstream lines(daemon.Output());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, ContainsRegex("^[0-9]{4}-[0-9]{2}-[0-9]{2}T"));
  }
}

TEST_F(DaemonTest, LeavesNoCoreDumpsUnlessAskedFor) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &before), 0);
  const rlimit some{std::min<rlim_t>(before.rlim_max, 4096), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_CORE, &some), 0);
  Daemon careful(dir_);
  careful.Start(Flags());
  EXPECT_EQ(careful.Notification(), "READY=1") << careful.Output();
  EXPECT_THAT(careful.Limit("Max core file size"),
              ::testing::ContainsRegex("size +0 +0 "));
  careful.Signal(SIGTERM);
  EXPECT_EQ(careful.ExitCode(), 0) << careful.Output();
#if !defined(ADDONS_SANITIZED)  // which allow none
  Daemon asked(dir_, "asked");
  asked.Start(Flags({"--core-dumps"}));
  EXPECT_EQ(asked.Notification(), "READY=1") << asked.Output();
  EXPECT_THAT(
      asked.Limit("Max core file size"),
      ::testing::ContainsRegex("size +" + std::to_string(some.rlim_cur) + " "));
#endif
  EXPECT_EQ(setrlimit(RLIMIT_CORE, &before), 0);
}

// The log says where it was, in its own form, and the signal ends it.
TEST_F(DaemonTest, ADeadlySignalLeavesABackTraceInTheLog) {
#if defined(ADDONS_SANITIZED)
  GTEST_SKIP() << "the sanitizer takes the signal";
#endif
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) {
    Daemon daemon(dir_, absl::StrCat("text", signal));
    daemon.Start(Flags());
    ASSERT_EQ(daemon.Notification(), "READY=1") << daemon.Output();
    daemon.SignalMainThread(signal);
    EXPECT_EQ(daemon.EndingSignal(), signal) << daemon.Output();
    const std::string log = daemon.Output();
    EXPECT_THAT(log,
                ContainsRegex("\n20[0-9-]{8}T[0-9:.]{12}\\+00:00 critical "
                              "the process dies of a signal "
                              "signal=\"SIG[A-Z]+\" thread=\"rbd-addonsd\" "
                              "sent_by=\"[0-9]+\"\n"));
    EXPECT_THAT(log, ContainsRegex("critical back trace frame=\"0\" "
                                   "at=\"[a-z0-9._-]+\\+0x[0-9a-f]+\""));
    EXPECT_THAT(log, ContainsRegex("at=\"rbd-addonsd\\+0x[0-9a-f]+\" "
                                   "function=\"addons::.*RunDaemon"));
  }
}

TEST_F(DaemonTest, InJsonTheBackTraceIsJson) {
#if defined(ADDONS_SANITIZED)
  GTEST_SKIP() << "the sanitizer takes the signal";
#endif
  Daemon daemon(dir_);
  daemon.Start(Flags({"--log-format=json"}));
  ASSERT_EQ(daemon.Notification(), "READY=1") << daemon.Output();
  daemon.SignalMainThread(SIGSEGV);
  EXPECT_EQ(daemon.EndingSignal(), SIGSEGV);
  std::string functions;
  std::stringstream lines(daemon.Output());
  for (std::string line; std::getline(lines, line);) {
    const auto object = ParseJson(line);
    ASSERT_TRUE(object.is_object()) << line;
    if (object["level"] != "critical") continue;
    functions += object["fields"].value("function", "") + "\n";
  }
  EXPECT_THAT(functions, HasSubstr("RunDaemon"));
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
  ASSERT_TRUE(daemon.WaitForOutput(" serving "));
  EXPECT_THAT(daemon.Output(),
              ContainsRegex("ignored=--v,--pidlimit(.|\n)* serving "));
}

TEST_F(DaemonTest, NamesVariablesThatDoNotExistBeforeItServes) {
  Daemon daemon(dir_);
  daemon.Start(Flags(), {"RBD_ADDONS_SETTEL_TIME=5m"});
  ASSERT_EQ(daemon.Notification(), "READY=1") << daemon.Output();
  ASSERT_TRUE(daemon.WaitForOutput(" serving "));
  EXPECT_THAT(daemon.Output(),
              ContainsRegex("unknown=RBD_ADDONS_SETTEL_TIME(.|\n)* serving "));
}

// 1500 that send a byte and wait, as a scanner of ports or a broken proxy does.
TEST_F(DaemonTest, SlowClientsOfTheMetricsHarmNobody) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit before = limit;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 8192);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  const std::string port = std::to_string(testing::FreePort());
  Daemon daemon(dir_);
  // Otherwise only root may look into its folder in /proc.
  daemon.Start(Flags({"--metricsport=" + port, "--core-dumps"}));
  ASSERT_EQ(daemon.Notification(), "READY=1") << daemon.Output();
  const size_t at_first = daemon.OpenDescriptors();
  const std::string url = "http://127.0.0.1:" + port + "/metrics";
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 1500; ++i) {
    slow.push_back(testing::HttpConnect(testing::HttpTarget(url)));
    ASSERT_TRUE(slow.back().valid()) << i;
    ASSERT_EQ(send(slow.back().get(), "G", 1, MSG_NOSIGNAL), 1) << i;
  }
  EXPECT_EQ(testing::HttpGet(url).code, 200);
  EXPECT_EQ(Cli({"probe"}), 0);
  EXPECT_LT(daemon.OpenDescriptors(), at_first + 100);
  EXPECT_LT(daemon.Output().size(), 10000U) << daemon.Output().substr(0, 10000);
  slow.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(DaemonTest, LivesWithoutAConfiguration) {
  std::filesystem::remove(dir_.File("config.json"));
  Daemon daemon(dir_);
  daemon.Start(Flags());
  ASSERT_EQ(daemon.Notification(), "READY=1") << daemon.Output();
  ASSERT_TRUE(daemon.WaitForOutput(" serving "));
  EXPECT_THAT(daemon.Output(),
              ContainsRegex("configuration file not usable(.|\n)* serving "));
  EXPECT_EQ(Cli({"probe"}), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(Cli({"call", "GetCapabilities"}), 0);
}

TEST_F(DaemonTest, ProbesOverHttpFollowTheConfiguration) {
  std::filesystem::remove(dir_.File("config.json"));
  const std::string port = std::to_string(testing::FreePort());
  const std::string url = "http://127.0.0.1:" + port;
  Daemon daemon(dir_);
  daemon.Start(Flags({"--metricsport=" + port}));
  ASSERT_EQ(daemon.Notification(), "READY=1") << daemon.Output();
  EXPECT_EQ(testing::HttpGet(url + "/healthz").code, 200);
  const testing::HttpAnswer without = testing::HttpGet(url + "/readyz");
  EXPECT_EQ(without.code, 503);
  EXPECT_THAT(without.body, HasSubstr("config.json"));
  dir_.Write("config.json", "[]");
  const testing::HttpAnswer with = testing::HttpGet(url + "/readyz");
  EXPECT_EQ(with.code, 200);
  EXPECT_EQ(with.body, "ready\n");
}

TEST_F(DaemonTest, TellsSystemdThatItIsAlive) {
  Daemon daemon(dir_);
  daemon.Start(Flags(), {"WATCHDOG_USEC=100000"});
  ASSERT_EQ(daemon.Notification(), "READY=1") << daemon.Output();
  EXPECT_EQ(daemon.Notification(), "WATCHDOG=1");
  EXPECT_EQ(daemon.Notification(), "WATCHDOG=1");
  daemon.Signal(SIGTERM);
  std::string last = daemon.Notification();
  while (last == "WATCHDOG=1") last = daemon.Notification();
  EXPECT_EQ(last, "STOPPING=1");
  EXPECT_EQ(daemon.ExitCode(), 0);
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
    caller_ = std::jthread([this] { Demote(); });
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

// A standard error that is a pipe, as container runtimes have it, and whose
// reader is slow. librados makes such a pipe non-blocking when it is first
// used.
class SlowLogTest : public DaemonTest {
 protected:
  void SetUp() override {
    dir_.Write("config.json",
               R"([{"clusterID": "cluster", "monitors": ["127.0.0.1:1"]}])");
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    read_ = UniqueFd(ends[0]);
    write_ = UniqueFd(ends[1]);
    ASSERT_GT(fcntl(write_.get(), F_SETPIPE_SZ, 4096), 0);
  }

  // What is in the pipe, and what comes within a second.
  std::string Log() const {
    std::string text;
    std::array<char, 1024> buffer{};
    pollfd event{read_.get(), POLLIN, 0};
    while (poll(&event, 1, 1000) == 1) {
      const ssize_t size = read(read_.get(), buffer.data(), buffer.size());
      if (size <= 0) break;
      text.append(buffer.data(), static_cast<size_t>(size));
    }
    return text;
  }

  // Bounded: a daemon that waits for the reader of its log does not answer.
  grpc::Status GetCapabilities(::identity::Identity::Stub& stub) const {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(10));
    ::identity::GetCapabilitiesResponse response;
    return stub.GetCapabilities(&context, {}, &response);
  }

  UniqueFd read_;
  UniqueFd write_;
};

TEST_F(SlowLogTest, NoLineIsLostAndNoCallWaits) {
  Daemon daemon(dir_);
  daemon.Start(Flags({"--log-level=debug", "--connect-timeout=1s"}), {},
               write_.get());
  ASSERT_EQ(daemon.Notification(), "READY=1");
  EXPECT_EQ(Demote().error_code(), grpc::UNAVAILABLE);
  std::string log = Log();  // the pipe is empty from here on
  const auto stub = ::identity::Identity::NewStub(Channel());
  constexpr int kCalls = 600;
  for (int i = 0; i < kCalls; ++i) {
    const grpc::Status answer = GetCapabilities(*stub);
    ASSERT_TRUE(answer.ok()) << i << " " << answer.error_message();
  }
  log = Log();
  int lines = 0;
  const std::string call = "/GetCapabilities code=OK";
  for (size_t at = log.find(call); at != std::string::npos;
       at = log.find(call, at + 1)) {
    ++lines;
  }
  EXPECT_EQ(lines, kCalls);
}

TEST_F(SlowLogTest, ADaemonWhoseLogNobodyReadsStops) {
  Daemon daemon(dir_);
  daemon.Start(Flags({"--log-level=debug"}), {}, write_.get());
  ASSERT_EQ(daemon.Notification(), "READY=1");
  const auto stub = ::identity::Identity::NewStub(Channel());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(GetCapabilities(*stub).ok()) << i;
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.ExitCode(), 0);
}

// A name server that takes questions and never answers, in a network of its
// own, and a daemon that asks it.
class SilentNameServerTest : public DaemonTest {
 protected:
  void Run(Daemon& daemon, const std::vector<std::string>& flags) {
    std::vector<std::string> command = {Program()};
    command.insert(command.end(), flags.begin(), flags.end());
    // A network is a thread's: that of the test stays as it is.
    std::thread([&] {
      ASSERT_EQ(unshare(CLONE_NEWNET), 0);
      // Whichever name servers the machine has, they are here.
      ASSERT_EQ(std::system("ip link set lo up && "
                            "ip route add local default dev lo"),
                0);
      server_ = UniqueFd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(53);
      ASSERT_EQ(bind(server_.get(), reinterpret_cast<const sockaddr*>(&address),
                     sizeof(address)),
                0);
      daemon.Run(std::move(command), {"RES_OPTIONS=timeout:30 attempts:5"});
    }).join();
  }

  UniqueFd server_;
};

TEST_F(SilentNameServerTest, ALookUpThatWasGivenUpDoesNotKeepTheProcess) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root for a network of its own";
  dir_.Write("config.json",
             R"([{"clusterID": "cluster", "monitors": ["mon.invalid.test"]}])");
  Daemon daemon(dir_);
  Run(daemon, Flags({"--connect-timeout=1s", "--shutdown-grace=1s"}));
  ASSERT_EQ(daemon.Notification(), "READY=1") << daemon.Output();
  const grpc::Status answer = Demote();
  EXPECT_EQ(answer.error_code(), grpc::UNAVAILABLE);
  EXPECT_THAT(answer.error_message(), HasSubstr("no address found"));
  const auto begin = std::chrono::steady_clock::now();
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.ExitCode(), 3) << daemon.Output();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  EXPECT_THAT(daemon.Output(), HasSubstr("given up"));
}

}  // namespace
}  // namespace addons
