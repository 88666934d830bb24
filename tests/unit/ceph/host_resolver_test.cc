#include "ceph/librados/host_resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SteadyTime Soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(30);
}

// The system's own look-up, with names that need neither /etc/hosts nor a name
// server: a minimal root file system has none of them.
TEST(HostResolverTest, AsksTheSystem) {
  HostResolver resolver;
  EXPECT_THAT(resolver.Resolve("127.0.0.1", Soon()).value(),
              ElementsAre("127.0.0.1"));
  EXPECT_THAT(resolver.Resolve("::1", Soon()).value(), ElementsAre("[::1]"));
}

TEST(HostResolverTest, LooksUpAnewEachTime) {
  int calls = 0;
  HostResolver resolver([&](const std::string&) {
    return std::vector<std::string>{std::to_string(++calls)};
  });
  EXPECT_THAT(resolver.Resolve("mon", Soon()).value(), ElementsAre("1"));
  EXPECT_THAT(resolver.Resolve("mon", Soon()).value(), ElementsAre("2"));
}

TEST(HostResolverTest, AThreadThatCannotBeMadeCostsOneLookUpOnly) {
  int failures = 2;
  HostResolver resolver(
      [](const std::string&) { return std::vector<std::string>{"10.0.0.1"}; },
      [&](const std::string& name,
          std::function<void()> run) -> std::optional<std::jthread> {
        if (failures-- > 0) {
          return std::nullopt;
        }
        return StartThread(name, std::move(run));
      });
  resolver.Prepare("mon");
  EXPECT_THAT(
      resolver.Resolve("mon", Soon()),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no thread left")));
  EXPECT_THAT(resolver.Resolve("mon", Soon()).value(), ElementsAre("10.0.0.1"));
}

TEST(HostResolverTest, ALookUpThatThrowsHasFoundNothing) {
  bool thrown = false;
  HostResolver resolver([&](const std::string&) {
    if (!std::exchange(thrown, true)) throw std::bad_alloc();
    return std::vector<std::string>{"10.0.0.1"};
  });
  EXPECT_THAT(resolver.Resolve("mon", Soon()).value(), IsEmpty());
  EXPECT_THAT(resolver.Resolve("mon", Soon()).value(), ElementsAre("10.0.0.1"));
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
  EXPECT_THAT(
      resolver_.Resolve("slow", std::chrono::steady_clock::now()).value(),
      IsEmpty());
  answer_.set_value();
}

TEST_F(SlowHostResolverTest, LooksUpOnceForAllWhoAskMeanwhile) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(
        resolver_.Resolve("slow", std::chrono::steady_clock::now()).value(),
        IsEmpty());
  }
  answer_.set_value();
  EXPECT_THAT(resolver_.Resolve("slow", Soon()).value(),
              ElementsAre("10.0.0.1"));
  EXPECT_EQ(calls_, 1);
}

TEST_F(SlowHostResolverTest, DoesNotLetOneNameHoldUpAnother) {
  resolver_.Prepare("slow");
  EXPECT_THAT(resolver_.Resolve("fast", Soon()).value(),
              ElementsAre("10.0.0.1"));
  answer_.set_value();
}

}  // namespace
}  // namespace addons
