// What many calls cost: how many may wait, and what is left when they have
// gone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/operation/table_testing.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;

class WaitingBoundTest : public TableTest {
 protected:
  WaitingBoundTest() : TableTest(ThreeMayWait()) {}
  static OperationLimits ThreeMayWait() {
    OperationLimits limits;
    limits.max_waiting = 3;
    return limits;
  }
  bool AwaitWaiting(size_t calls) {
    return Eventually([&] { return table().stats().waiting == calls; });
  }
};

TEST_F(WaitingBoundTest, MoreCallsAreRefusedAtOnceAlsoWhenTheyWouldJoin) {
  const auto job = NewJob();
  std::list<BackgroundCall> calls;
  for (int i = 0; i < 3; ++i) {
    calls.emplace_back(table(), Spec("promote"), Blocked(job, 1),
                       absl::StrCat("r", i));
  }
  ASSERT_TRUE(AwaitWaiting(3));
  const auto refused = table().Run(Spec("promote"), Caller{}, Returning(2));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.status().message(), HasSubstr("3 calls wait already"));
  EXPECT_EQ(table().stats().refused.waiting, 1U);
  EXPECT_EQ(table().stats().waiting, 3U);
  job->release.Open();
  for (BackgroundCall& call : calls) EXPECT_EQ(call.Value(), 1);
  ASSERT_TRUE(AwaitWaiting(0));
  EXPECT_OK(table().Run(Spec("promote"), Caller{}, Returning(2)).status());
}

TEST_F(WaitingBoundTest, WhatIsAskedForACallIsNoFurtherCall) {
  const auto job = NewJob();
  std::list<BackgroundCall> calls;
  for (int i = 0; i < 2; ++i) {
    calls.emplace_back(table(), Spec("promote"), Waiting(job),
                       absl::StrCat("r", i));
  }
  ASSERT_TRUE(AwaitWaiting(2));
  job->started.Pass();
  OperationSpec demote = Superseding(Spec("demote"));
  int asked = 0;
  demote.prove = [&asked](OperationContext&) {
    ++asked;
    return absl::OkStatus();
  };
  EXPECT_OK(table().Run(demote, Caller{}, Returning(5)).status());
  EXPECT_EQ(asked, 1);
}

class IdleWorkersTest : public TableTest {
 protected:
  IdleWorkersTest() : TableTest(EndSoon()) {}
  static OperationLimits EndSoon() {
    OperationLimits limits;
    limits.worker_idle = milliseconds(200);
    limits.control.looking_per_cluster = 0;
    return limits;
  }
  static constexpr size_t kTimer = 1;  // stays
  /// As many operations at a time, each with a worker.
  void Storm(int count) {
    const auto job = NewJob();
    std::list<BackgroundCall> calls;
    for (int i = 0; i < count; ++i) {
      calls.emplace_back(table(), Spec("promote", {absl::StrCat("k", i)}),
                         Blocked(job, i));
    }
    EXPECT_TRUE(Eventually([&] { return job->runs == count; }));
    // One that ends counts until it has gone, beside the one in its place.
    EXPECT_TRUE(AwaitThreads(static_cast<size_t>(count)));
    job->release.Open();
  }
  bool AwaitThreads(size_t count) {
    return Eventually(
        [&] { return table().stats().threads == count + kTimer; });
  }
};

TEST_F(IdleWorkersTest, EndAndAreStartedAgain) {
  for (int round = 0; round < 3; ++round) {
    Storm(20);
    EXPECT_TRUE(AwaitThreads(0));
  }
}

TEST_F(IdleWorkersTest, OnesThatAreNotNeededEndWhileOthersWork) {
  Storm(20);
  EXPECT_TRUE(Eventually([&] {
    EXPECT_OK(table().Run(Spec("demote"), Caller{}, Returning(1)).status());
    return table().stats().threads == 1 + kTimer;
  }));
}

TEST_F(IdleWorkersTest, NothingIsLostWhereTheyEndAndWorkArrivesAtOnce) {
  for (int round = 0; round < 8; ++round) {
    Storm(2);
    std::this_thread::sleep_until(RealIn(milliseconds(199)));
    for (int i = 0; i < 20; ++i) {
      EXPECT_OK(table()
                    .Run(Spec("demote", {absl::StrCat("k", i % 3)}), Caller{},
                         Returning(1))
                    .status());
    }
  }
}

}  // namespace
}  // namespace addons::testing
