// A planned move over a slow link: the copy takes longer than any patience, and
// nothing that is on its way is given up. The whole test, clusters and all, has
// a network of its own, whose loopback is made slow with a token bucket.

#include <sched.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/cluster/two_sites.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AnyOf;
using ::testing::Each;

bool Succeeds(const std::string& command) {
  return std::system(command.c_str()) == 0;  // NOLINT(concurrency-mt-unsafe)
}

/// Before main(), so that the clusters are started in it. Takes root.
const bool kOwnNetwork =
    unshare(CLONE_NEWNET) == 0 && Succeeds("ip link set lo up");

class LongSlowLinkTest : public TwoSitesTest {
 protected:
  void TearDown() override {
    if (slow_) MakeQuick();
    TwoSitesTest::TearDown();
  }
  /// False: this kernel has no token bucket.
  bool MakeSlow() {
    slow_ = Succeeds(
        "tc qdisc add dev lo root tbf rate 40mbit burst 256kb latency 200ms");
    return slow_;
  }
  void MakeQuick() {
    slow_ = false;
    EXPECT_TRUE(Succeeds("tc qdisc del dev lo root"));
  }

  static void Fill(const TestVolume& volume) {
    const auto disk = OpenDisk("a", volume);
    constexpr uint64_t kBlock = 1u << 20;
    for (uint64_t block = 0; block < 320; ++block) {
      ASSERT_EQ(
          disk->Write(block * kBlock,
                      std::string(kBlock, static_cast<char>('a' + block % 26))),
          0);
    }
  }
  /// Demotes on a and promotes on b what the slow link has yet to carry.
  void ExpectAMoveThatTakesLong(const TestVolume& volume) {
    const uint64_t written = Digest("a", volume);
    // Nothing but what arrives tells that the source lives.
    Stop("a", "rbd-mirror");
    EXPECT_THAT(Demote("a", volume), HasCode(Code::OK));
    const auto start = steady_clock::now();
    const std::vector<grpc::Status> answers =
        PromoteRepeatedly("b", volume, seconds(600));
    const auto took = steady_clock::now() - start;
    MakeQuick();
    EXPECT_THAT(answers,
                Each(AnyOf(HasCode(Code::UNAVAILABLE), HasCode(Code::OK))));
    EXPECT_THAT(answers.back(), HasCode(Code::OK));
    EXPECT_GT(took, kSettle + seconds(10))
        << "copied too quickly for this test";
    EXPECT_EQ(Digest("b", volume), written);
  }

 private:
  bool slow_ = false;
};

TEST_F(LongSlowLinkTest, AMoveThatTakesLongerThanTheSettleTimeIsNotForced) {
  if (!kOwnNetwork) GTEST_SKIP() << "making a network of its own takes root";
  const TestVolume volume = MakeReplicatedVolume({}, {"--size", "512M"});
  Fill(volume);
  if (!MakeSlow()) GTEST_SKIP() << "this kernel has no qdisc tbf";
  ExpectAMoveThatTakesLong(volume);
}

TEST_F(LongSlowLinkTest, AJournalThatIsFarBehindIsNotForced) {
  if (!kOwnNetwork) GTEST_SKIP() << "making a network of its own takes root";
  TestVolume volume = MakeVolume({"--size", "512M"});
  Rbd("a", {"feature", "enable", ImageSpec(volume), "journaling"});
  Replicate(&volume, {{"mirroringMode", "journal"}});
  Stop("b", "rbd-mirror");
  Fill(volume);
  if (!MakeSlow()) GTEST_SKIP() << "this kernel has no qdisc tbf";
  Continue("b", "rbd-mirror");
  ExpectAMoveThatTakesLong(volume);
}

}  // namespace
}  // namespace addons::testing
