// Who waits is woken, not found by polling: here nothing polls.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "tests/testing/status_matchers.h"
#include "tests/unit/operation/table_testing.h"

namespace addons::testing {
namespace {

/// Without a wake-up a call ends at its deadline. Far more than a wake-up ever
/// takes.
constexpr seconds kDeadline{40};
constexpr seconds kSoon{15};

class WakeTest : public TableTest {
 protected:
  WakeTest() : TableTest(NoPolls()) {}
  static OperationLimits NoPolls() {
    OperationLimits limits;
    limits.cancel_poll = hours(1);
    limits.conflict_wait = kDeadline;
    return limits;
  }
  /// Whether `call` returns soon.
  static bool ReturnsSoon(const BackgroundCall& call) {
    const SteadyTime until = RealIn(kSoon);
    while (!call.returned()) {
      if (RealIn(milliseconds(0)) > until) return false;
      std::this_thread::yield();
    }
    return true;
  }
  bool AwaitCallers(size_t count) {
    return Eventually([&] {
      const auto list = table().List();
      return !list.empty() && list.front().callers == count;
    });
  }
};

TEST_F(WakeTest, TheResultWakesAllWhoWaitForIt) {
  const auto job = NewJob();
  BackgroundCall first(table(), Spec("promote"), Blocked(job, 1), "r1",
                       RealIn(kDeadline));
  BackgroundCall second(table(), Spec("promote"), Blocked(job, 1), "r2",
                        RealIn(kDeadline));
  ASSERT_TRUE(AwaitCallers(2));
  job->release.Open();
  EXPECT_TRUE(ReturnsSoon(first));
  EXPECT_TRUE(ReturnsSoon(second));
  EXPECT_EQ(first.Value(), 1);
  EXPECT_EQ(second.Value(), 1);
}

TEST_F(WakeTest, WorkWakesAnIdleWorker) {
  for (int i = 0; i < 5; ++i) {
    BackgroundCall call(table(), Spec("promote"), Returning(i), "r1",
                        RealIn(kDeadline));
    EXPECT_TRUE(ReturnsSoon(call));
  }
}

TEST_F(WakeTest, TheEndOfAnOperationWakesWhoWaitsForItsKeys) {
  const auto job = NewJob();
  BackgroundCall first(table(), Spec("trim", {"k1", "k2"}), Mutating(job, 1),
                       "r1", RealIn(kDeadline));
  job->started.Pass();
  BackgroundCall second(table(), Spec("demote", {"k2"}), Returning(2), "r2",
                        RealIn(kDeadline));
  BackgroundCall third(table(), Spec("promote", {"k2"}), Returning(3), "r3",
                       RealIn(kDeadline));
  // Both have looked once, and stand in line.
  ASSERT_TRUE(second.AwaitLook() && third.AwaitLook());
  job->release.Open();
  EXPECT_TRUE(ReturnsSoon(second));
  EXPECT_TRUE(ReturnsSoon(third));
  EXPECT_EQ(second.Value(), 2);
  EXPECT_EQ(third.Value(), 3);
}

// What is asked to stop need not do so soon: its callers are told at once, and
// its successor comes in when it has ended.
TEST_F(WakeTest, BeingSupersededWakesTheCallers) {
  const auto job = NewJob();
  BackgroundCall promote(table(), Spec("promote"), Blocked(job, 1), "r1",
                         RealIn(kDeadline));
  ASSERT_TRUE(promote.AwaitWaiting());
  job->started.Pass();
  BackgroundCall demote(table(), Superseding(Spec("demote")), Returning(2),
                        "r2", RealIn(kDeadline));
  EXPECT_TRUE(ReturnsSoon(promote));
  EXPECT_THAT(promote.Result(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_FALSE(demote.returned());
  job->release.Open();
  EXPECT_TRUE(ReturnsSoon(demote));
  EXPECT_EQ(demote.Value(), 2);
}

TEST_F(WakeTest, BeingSupersededEndsAWait) {
  const auto job = NewJob();
  BackgroundCall promote(table(), Spec("promote"), Waiting(job), "r1",
                         RealIn(kDeadline));
  job->started.Pass();
  BackgroundCall demote(table(), Superseding(Spec("demote")), Returning(2),
                        "r2", RealIn(kDeadline));
  EXPECT_TRUE(ReturnsSoon(demote));
  EXPECT_EQ(demote.Value(), 2);
}

TEST_F(WakeTest, ACancelWakesTheCallers) {
  const auto job = NewJob();
  BackgroundCall call(table(), Spec("promote"), Blocked(job, 1), "r1",
                      RealIn(kDeadline));
  ASSERT_TRUE(call.AwaitWaiting());
  job->started.Pass();
  ASSERT_OK(table().Cancel(table().List().at(0).id));
  EXPECT_TRUE(ReturnsSoon(call));
  EXPECT_THAT(call.Result(), StatusIs(absl::StatusCode::kCancelled));
}

// The keys are free, and it is the turn of one who goes away instead.
TEST_F(WakeTest, WhoLeavesTheLineLetsTheNextOneIn) {
  const auto job = NewJob();
  BackgroundCall holder(table(), Spec("trim"), Mutating(job, 1), "r1",
                        RealIn(kDeadline));
  job->started.Pass();
  Gate stood_in_line;
  Gate has_its_turn;
  Gate goes_away;
  Caller caller;
  caller.request_id = "r2";
  caller.deadline = RealIn(kDeadline);
  caller.cancelled = [&, looks = 0]() mutable {
    if (looks++ == 0) {
      stood_in_line.Open();
      return false;
    }
    has_its_turn.Open();
    goes_away.Pass();
    return true;
  };
  auto first = std::async(std::launch::async, [&] {
    return table().Run(Spec("demote"), caller, Returning(2)).status();
  });
  stood_in_line.Pass();
  BackgroundCall second(table(), Spec("promote"), Returning(3), "r3",
                        RealIn(kDeadline));
  ASSERT_TRUE(second.AwaitLook());
  job->release.Open();
  has_its_turn.Pass();
  // It has looked again, and waits for the first one's turn to be over.
  EXPECT_TRUE(second.AwaitWaiting());
  goes_away.Open();
  EXPECT_THAT(first.get(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_TRUE(ReturnsSoon(second));
  EXPECT_EQ(second.Value(), 3);
}

TEST_F(WakeTest, AShutdownWakesAll) {
  const auto job = NewJob();
  BackgroundCall running(table(), Spec("promote"), Mutating(job, 1), "r1",
                         RealIn(kDeadline));
  job->started.Pass();
  BackgroundCall queueing(table(), Spec("demote"), Returning(2), "r2",
                          RealIn(kDeadline));
  ASSERT_TRUE(queueing.AwaitLook());
  EXPECT_EQ(table().Drain(milliseconds(0)).size(), 1U);
  EXPECT_TRUE(ReturnsSoon(running));
  EXPECT_TRUE(ReturnsSoon(queueing));
}

}  // namespace
}  // namespace addons::testing
