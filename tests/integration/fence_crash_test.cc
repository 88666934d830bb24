// The daemon dies between any two commands of a fence that extends an entry:
// the host stays shut out, and the repeated request leaves one entry.

#include <chrono>
#include <csignal>
#include <string>

#include "tests/cluster/fence_bed.h"

namespace addons::testing {
namespace {

using std::chrono::steady_clock;
using ::testing::ElementsAre;

class FenceCrashTest : public FenceBedTest {
 protected:
  static void SetUpTestSuite() {
    MakeBed(HostNetwork::Family::kIPv4);
    if (!HasBed()) return;
    host_ = &bed().AddHost(1, 10);
  }

  /// Fences with a daemon that dies right after its n-th monitor command.
  /// False: it did not need so many.
  static bool DieAfter(int n, const std::string& range) {
    daemon().Stop(SIGKILL);
    EXPECT_TRUE(daemon().Start(
        {{"RBD_ADDONS_FAULTS",
          "rados_mon_command#" + std::to_string(n) + ":kill-after"}}));
    const grpc::Status status = Fence({range});
    const bool died = !status.ok();
    if (died) {
      EXPECT_EQ(status.error_code(), Code::UNAVAILABLE);
      EXPECT_TRUE(daemon().WaitForEnd(20));
    }
    daemon().Stop(SIGKILL);
    EXPECT_TRUE(daemon().Start());
    return died;
  }

  static void DieEverywhere(const std::string& range, const std::string& key) {
    int n = 0;
    bool died = true;
    while (died) {
      SCOPED_TRACE(n);
      AddEntry(range, 600);
      ASSERT_TRUE(host_->FailsNow());
      const auto blocked = steady_clock::now();
      died = DieAfter(++n, range);
      EXPECT_TRUE(host_->FailsNow());
      const grpc::Status status = Fence({range});
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_THAT(Keys(), ElementsAre("range " + key));
      EXPECT_GT(Left("range " + key), 157784000);
      EXPECT_EQ(host_->WritesSince(blocked), 0);
      ASSERT_TRUE(Unfence({range}).ok());
      EXPECT_TRUE(host_->WritesNow());
    }
    // At least the seven changes of an extension, and the looks between.
    EXPECT_GT(n, 12);
  }

  static Host* host_;
};
Host* FenceCrashTest::host_ = nullptr;

TEST_F(FenceCrashTest, OneAddress) {
  DieEverywhere(host_->address() + "/32", host_->address() + ":0/32");
}

TEST_F(FenceCrashTest, ARange) {
  DieEverywhere(bed().network().Range(1), Address(1, 0) + ":0/24");
}

}  // namespace
}  // namespace addons::testing
