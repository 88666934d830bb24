// The monitor hangs: every call is answered all the same, in bounded time.

#include <chrono>
#include <string>

#include "tests/cluster/fence_bed.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;

class FenceOutageTest : public FenceBedTest {
 protected:
  static constexpr char kAddress[] = "203.0.113.7";
  static constexpr char kRange[] = "203.0.113.7/32";

  static void SetUpTestSuite() { MakeBed(HostNetwork::Family::kIPv4); }

  static void ExpectError(const grpc::Status& status,
                          steady_clock::time_point begin) {
    EXPECT_THAT(status.error_code(),
                AnyOf(Eq(Code::UNAVAILABLE), Eq(Code::DEADLINE_EXCEEDED)))
        << status.error_message();
    // Twice --monitor-timeout, and what a busy machine adds.
    EXPECT_LT(steady_clock::now() - begin, seconds(40));
  }
};

TEST_F(FenceOutageTest, ChangesAndListsAreAnsweredAndWorkAfterwards) {
  EXPECT_THAT(List(), IsEmpty());  // it is connected
  bed().Testbed("stop", {"a", "mon"});
  auto begin = steady_clock::now();
  ExpectError(Fence({kAddress}), begin);
  begin = steady_clock::now();
  ExpectError(Ask("ListClusterFence").status, begin);
  bed().Testbed("cont", {"a", "mon"});
  EXPECT_TRUE(Eventually([] { return Fence({kAddress}).ok(); }, seconds(60)));
  EXPECT_THAT(List(), ElementsAre(kRange));
  EXPECT_TRUE(Unfence({kAddress}).ok());
}

TEST_F(FenceOutageTest, ClientsAreAnsweredAlthoughTheCallerWaitsForEver) {
  const auto fresh = bed().NewDaemon("fresh");
  ASSERT_TRUE(fresh->Start()) << fresh->Log();
  bed().Testbed("stop", {"a", "mon"});
  const auto begin = steady_clock::now();
  ExpectError(Ask("GetFenceClients", fresh.get()).status, begin);
  bed().Testbed("cont", {"a", "mon"});
  EXPECT_TRUE(Eventually(
      [&] { return Ask("GetFenceClients", fresh.get()).status.ok(); },
      seconds(60)));
}

}  // namespace
}  // namespace addons::testing
