#include "ceph/librados/host_resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace addons {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

SteadyTime Soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(30);
}

TEST(HostResolverTest, FindsThisHost) {
  HostResolver resolver;
  EXPECT_THAT(resolver.Resolve("localhost", Soon()),
              Contains(AnyOf("127.0.0.1", "[::1]")));
}

TEST(HostResolverTest, LooksUpAnewEachTime) {
  int calls = 0;
  HostResolver resolver([&](const std::string&) {
    return std::vector<std::string>{std::to_string(++calls)};
  });
  EXPECT_THAT(resolver.Resolve("mon", Soon()), ElementsAre("1"));
  EXPECT_THAT(resolver.Resolve("mon", Soon()), ElementsAre("2"));
}

// A name server that answers when the test says so.
class SlowHostResolverTest : public ::testing::Test {
 protected:
  std::promise<void> answer_;
  std::shared_future<void> answered_ = answer_.get_future().share();
  std::atomic<int> calls_ = 0;
  HostResolver resolver_{[this](const std::string& host) {
    ++calls_;
    if (host == "slow") answered_.wait();
    return std::vector<std::string>{"10.0.0.1"};
  }};
};

TEST_F(SlowHostResolverTest, StopsWaitingWhenTheTimeIsOver) {
  EXPECT_THAT(resolver_.Resolve("slow", std::chrono::steady_clock::now()),
              IsEmpty());
  answer_.set_value();
}

TEST_F(SlowHostResolverTest, LooksUpOnceForAllWhoAskMeanwhile) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(resolver_.Resolve("slow", std::chrono::steady_clock::now()),
                IsEmpty());
  }
  answer_.set_value();
  EXPECT_THAT(resolver_.Resolve("slow", Soon()), ElementsAre("10.0.0.1"));
  EXPECT_EQ(calls_, 1);
}

TEST_F(SlowHostResolverTest, DoesNotLetOneNameHoldUpAnother) {
  resolver_.Prepare("slow");
  EXPECT_THAT(resolver_.Resolve("fast", Soon()), ElementsAre("10.0.0.1"));
  answer_.set_value();
}

}  // namespace
}  // namespace addons
