// What is told of a daemon that ends without being asked to: a script plays it.

#include "tests/cluster/daemon_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "tests/cluster/testbed.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class DaemonProcessTest : public ::testing::Test {
 protected:
  ~DaemonProcessTest() override { unsetenv("RBD_ADDONS_TEST_DAEMON"); }

  /// The next start runs `script` in place of the daemon.
  void Play(const std::string& script) {
    dir_.Write("daemon", "#!/bin/sh\n" + script);
    std::filesystem::permissions(dir_.File("daemon"),
                                 std::filesystem::perms::owner_all);
    setenv("RBD_ADDONS_TEST_DAEMON", dir_.File("daemon").c_str(), 1);
  }

  const TempDir dir_;
  DaemonProcess daemon_{dir_.File("s"),
                        dir_.File("log"),
                        {"--controllerserver", "--config-dir=" + dir_.path()}};
};

TEST_F(DaemonProcessTest, AnEndOfItsOwnIsToldWithItsCodeAndTheEndOfItsLog) {
  Play("seq 1 60; exit 3");
  EXPECT_THAT(daemon_.Ending(), IsEmpty());
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(daemon_.Start());
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, AllOf(HasSubstr("ended by exit code 3"),
                          HasSubstr("which the test did not ask for"),
                          HasSubstr("MemAvailable"), HasSubstr("\n11\n"),
                          HasSubstr("\n60\n"), Not(HasSubstr("\n10\n"))));
  EXPECT_THAT(told, HasSubstr(daemon_.Ending()));
}

TEST_F(DaemonProcessTest, ASignalIsToldByNameWithABackTrace) {
  Play("kill -SEGV $$");
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(daemon_.Start());
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, HasSubstr("ended by signal 11 (Segmentation fault)"));
  EXPECT_THAT(told, HasSubstr("back trace"));
  // A memory image is not left behind.
  EXPECT_FALSE(std::filesystem::exists(dir_.File("core")));
}

// The daemon itself forbids memory images, unless it is asked not to.
TEST_F(DaemonProcessTest, ACrashOfTheRealDaemonLeavesABackTrace) {
#if defined(ADDONS_SANITIZED)
  GTEST_SKIP() << "the sanitizer takes the signal";
#endif
  std::string pattern;
  std::getline(std::ifstream("/proc/sys/kernel/core_pattern"), pattern);
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (pattern != "core" || std::system("gdb --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "memory images go elsewhere, or there is no gdb";
  }
  ASSERT_TRUE(daemon_.Start()) << daemon_.Log();
  ::testing::internal::CaptureStderr();
  kill(daemon_.pid(), SIGSEGV);
  EXPECT_TRUE(daemon_.WaitForEnd(120));
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, AllOf(HasSubstr("signal 11"), HasSubstr("\nThread 1 "),
                          Not(HasSubstr("no back trace"))));
}

TEST_F(DaemonProcessTest, AKillThatSomebodyElseSentIsTold) {
  Play("exec sleep 1000");
  std::thread killer([this] {
    EXPECT_TRUE(Eventually([this] { return daemon_.Running(); }));
    kill(daemon_.pid(), SIGKILL);
  });
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(daemon_.Start());
  killer.join();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("ended by signal 9 (Killed)"),
                    HasSubstr("which the test did not ask for")));
  EXPECT_FALSE(daemon_.Signal(SIGTERM));
  EXPECT_EQ(daemon_.pid(), -1);
}

TEST_F(DaemonProcessTest, AnEndThatTheTestAskedForIsNoNews) {
  ::testing::internal::CaptureStderr();
  ASSERT_TRUE(daemon_.Start()) << daemon_.Log();
  daemon_.Stop(SIGKILL);
  EXPECT_THAT(daemon_.Ending(),
              AllOf(HasSubstr("ended by signal 9"), Not(HasSubstr("\n"))));
  EXPECT_FALSE(daemon_.Start({{"RBD_ADDONS_FAULTS", "no such thing"}}));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), IsEmpty());
}

// The kernel's signal for the end of a parent comes when the thread ends that
// started the child.
TEST_F(DaemonProcessTest, OutlivesTheThreadThatStartedIt) {
  EXPECT_TRUE(
      std::async(std::launch::async, [this] { return daemon_.Start(); }).get());
  EXPECT_FALSE(daemon_.WaitForEnd(1)) << daemon_.Ending();
}

}  // namespace
}  // namespace addons::testing
