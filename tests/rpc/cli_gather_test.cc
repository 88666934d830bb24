// rbd-addons gather through the socket, on simulated clusters. What is in the
// archive, as others read it, is in tests/deploy/gather.py.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <future>
#include <string>

#include "cli/inspection.h"
#include "cli/interrupt.h"
#include "tests/rpc/cli_fixture.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class CliGatherTest : public CliVerbTest {
 protected:
  CliGatherTest() { server_.AddMirrored(); }
  std::string Tar() const { return dir_.File("it.tar"); }
  int Gather(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"gather", "--output", Tar()});
    return Run(more);
  }
  /// Beside the secrets.
  size_t FilesInFolder() const {
    size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      files += entry.path().filename() == "secrets.json" ? 0 : 1;
    }
    return files;
  }
};

TEST_F(CliGatherTest, AnInterruptLeavesNoFile) {
  server_.UseRealTime();
  server_.Hold("rados_mon_command");
  server_.Start();
  auto run = std::async(std::launch::async, [&] { return Gather(); });
  server_.AwaitHeld();
  EXPECT_EQ(std::raise(SIGINT), 0);
  EXPECT_EQ(run.get(), kCliInterrupted);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("interrupted: nothing was written\n"),
                                Not(HasSubstr("volume "))));
  EXPECT_EQ(FilesInFolder(), 0U);
  server_.Release();
}

// Each part is, and what is left of the time is not asked any more.
TEST_F(CliGatherTest, WhatTakesTooLongIsLeftOut) {
  server_.UseRealTime();
  server_.Hold("rados_mon_command");
  server_.Start();
  EXPECT_EQ(Gather({"--timeout", "2"}), kWouldNotWork);
  const std::string tar = dir_.Read("it.tar");
  EXPECT_THAT(tar, HasSubstr("  this-site/metrics.txt"));
  // The rest has bytes that end a text for a regular expression.
  const std::string missing = tar.substr(tar.find("what could not be had"));
  EXPECT_THAT(missing, ContainsRegex(
                           "this-site/doctor.txt\n    ABORTED: diagnose of the "
                           "installation has been running for [0-9] s"));
  EXPECT_THAT(err_.str(), HasSubstr("not all could be had"));
  server_.Release();
}

// A daemon that was just started watches nothing, and status knows no pool.
TEST_F(CliGatherTest, PoolsThatNobodyWatchesAreFoundByTheirImages) {
  server_.Start();
  EXPECT_EQ(Gather(), 0) << err_.str();
  EXPECT_THAT(dir_.Read("it.tar"),
              AllOf(HasSubstr("nothing is watched"),
                    HasSubstr("this-site/check-failover.json"),
                    HasSubstr("this-site/history/01-replicapool.json"),
                    HasSubstr("this-site/audit/01-replicapool.json"),
                    HasSubstr("nothing is missing")));
}

TEST_F(CliGatherTest, TheOtherSiteIsAskedWhereItIsNamed) {
  server_.Start();
  Gather({"--from-admin", server_.admin_endpoint(), "--from-secrets-file",
          dir_.File("secrets.json")});
  EXPECT_THAT(dir_.Read("it.tar"),
              AllOf(HasSubstr("other-site/doctor.json"),
                    HasSubstr("other-site/metrics.txt"),
                    Not(HasSubstr("run this there, too"))));
  // Without a user of its own: this site's is not sent there.
  EXPECT_EQ(Gather({"--force", "--from-admin", server_.admin_endpoint()}),
            kWouldNotWork);
  EXPECT_THAT(dir_.Read("it.tar"),
              HasSubstr("other-site/doctor.txt\n    no Ceph user was given"));
}

}  // namespace
}  // namespace addons::testing
