// Who waits is woken, not found by polling: here nothing polls.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
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
  job->started.Pass();
  ASSERT_OK(table().Cancel(table().List().at(0).id));
  EXPECT_TRUE(ReturnsSoon(call));
  EXPECT_THAT(call.Result(), StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(WakeTest, ACallersGoingIsHeardAtOnce) {
  const auto job = NewJob();
  BackgroundCall running(table(), Spec("promote"), Blocked(job, 1), "r1",
                         RealIn(kDeadline));
  BackgroundCall queueing(table(), Spec("demote"), Returning(2), "r2",
                          RealIn(kDeadline));
  job->started.Pass();
  queueing.HangUp();
  EXPECT_TRUE(ReturnsSoon(queueing));
  EXPECT_THAT(queueing.Result(), StatusIs(absl::StatusCode::kCancelled));
  running.HangUp();
  EXPECT_TRUE(ReturnsSoon(running));
  EXPECT_THAT(running.Result(), StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(WakeTest, WhoLeavesTheLineDoesNotHoldItUp) {
  const auto job = NewJob();
  BackgroundCall holder(table(), Spec("trim"), Mutating(job, 1), "r1",
                        RealIn(kDeadline));
  job->started.Pass();
  BackgroundCall first(table(), Spec("demote"), Returning(2), "r2",
                       RealIn(kDeadline));
  BackgroundCall second(table(), Spec("promote"), Returning(3), "r3",
                        RealIn(kDeadline));
  first.HangUp();
  EXPECT_TRUE(ReturnsSoon(first));
  EXPECT_THAT(first.Result(), StatusIs(absl::StatusCode::kCancelled));
  job->release.Open();
  EXPECT_TRUE(ReturnsSoon(second));
  EXPECT_EQ(second.Value(), 3);
}

// Each deadline is kept by itself, also one that comes while the timer sleeps
// towards a later one.
TEST_F(WakeTest, AnEarlierDeadlineIsNotForgotten) {
  const auto job = NewJob();
  BackgroundCall late(table(), Spec("promote"), Blocked(job, 1), "r1",
                      RealIn(kDeadline));
  job->started.Pass();
  std::this_thread::sleep_for(milliseconds(50));
  BackgroundCall early(table(), Spec("promote"), Blocked(job, 1), "r2",
                       RealIn(seconds(1)));
  EXPECT_TRUE(ReturnsSoon(early));
  EXPECT_THAT(early.Result(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_FALSE(late.returned());
}

TEST_F(WakeTest, AShutdownWakesAll) {
  const auto job = NewJob();
  BackgroundCall running(table(), Spec("promote"), Mutating(job, 1), "r1",
                         RealIn(kDeadline));
  job->started.Pass();
  BackgroundCall queueing(table(), Spec("demote"), Returning(2), "r2",
                          RealIn(kDeadline));
  EXPECT_EQ(table().Drain(milliseconds(0)).size(), 1U);
  EXPECT_TRUE(ReturnsSoon(running));
  EXPECT_TRUE(ReturnsSoon(queueing));
}

}  // namespace
}  // namespace addons::testing
