// What is alive in a range is not cut off by accident.

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/integration/fence_bed.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class FenceRefusalTest : public FenceBedTest {
 protected:
  static void SetUpTestSuite() { MakeBed(HostNetwork::Family::kIPv4); }
};

TEST_F(FenceRefusalTest, MonitorOsdsAndTheDaemonItself) {
  const grpc::Status status = Fence({Address(0, 1)});
  EXPECT_EQ(status.error_code(), Code::FAILED_PRECONDITION);
  EXPECT_THAT(
      status.error_message(),
      AllOf(HasSubstr("mon.a at " + Address(0, 1)), HasSubstr("osd.0 at "),
            HasSubstr("osd.2 at "), HasSubstr("this daemon at "),
            Not(HasSubstr("osd.1 ")), HasSubstr("allowServiceClients")));
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(FenceRefusalTest, TheManagerWhereTheUserMaySeeIt) {
  EXPECT_THAT(Fence({Address(0, 1)}).error_message(), Not(HasSubstr("mgr.")));
  bed().Ceph({"auth", "caps", "client.csi-rbd", "mon",
              "profile rbd, allow command \"osd blocklist\", "
              "allow command \"mgr dump\"",
              "mgr", "allow rw", "osd", "profile rbd"});
  daemon().Stop(SIGKILL);
  ASSERT_TRUE(daemon().Start());
  EXPECT_THAT(Fence({Address(0, 1)}).error_message(), HasSubstr("mgr.x at "));
}

TEST_F(FenceRefusalTest, ADownOsdIsTheNodeBeingFenced) {
  const std::string address = Address(0, 2);
  EXPECT_THAT(Fence({address}).error_message(), HasSubstr("osd.1 at "));
  EXPECT_TRUE(Fence({address}, {{"allowServiceClients", "true"}}).ok());
  EXPECT_TRUE(Unfence({address}).ok());
  bed().Testbed("kill", {"a", "osd.1"});
  bed().Ceph({"osd", "down", "1"});
  const grpc::Status status = Fence({address});
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(Keys().size(), 1U);
}

TEST_F(FenceRefusalTest, ClientsOfRbdMirror) {
  // What rbd-mirror does first with a pool is to watch this object.
  bed().Testbed("rbd",
                {"a", "mirror", "pool", "enable", "replicapool", "image"});
  const std::string address = Address(3, 10);
  std::vector<std::string> command = bed().network().AddHost(address);
  for (const char* part :
       {"rados", "-p", "replicapool", "watch", "rbd_mirroring", "-c"}) {
    command.emplace_back(part);
  }
  command.push_back(bed().Path("a/ceph.conf"));
  std::vector<char*> argv;
  for (std::string& part : command) argv.push_back(part.data());
  argv.push_back(nullptr);
  int ends[2];  // it watches until it can read
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t watcher = fork();
  if (watcher == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(ends[0], STDIN_FILENO);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  EXPECT_TRUE(Eventually([&] {
    return bed()
               .Testbed("rados", {"a", "-p", "replicapool", "listwatchers",
                                  "rbd_mirroring"})
               .find(address) != std::string::npos;
  }));
  const grpc::Status status = Fence({bed().network().Range(3)});
  EXPECT_EQ(status.error_code(), Code::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("rbd-mirror client."), HasSubstr(address)));
  EXPECT_THAT(Keys(), IsEmpty());
  kill(watcher, SIGKILL);
  waitpid(watcher, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace addons::testing
