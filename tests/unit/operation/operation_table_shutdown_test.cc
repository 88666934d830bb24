// Cancel, drain, destruction.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "tests/testing/status_matchers.h"
#include "tests/unit/operation/table_testing.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ShutdownTest : public TableTest {
 protected:
  uint64_t OnlyId() { return table().List().at(0).id; }
};

TEST_F(ShutdownTest, CancelOfAnUnknownOperationIsNotFound) {
  EXPECT_THAT(table().Cancel(99), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(ShutdownTest, CancelEndsWhatOnlyWaits) {
  const auto job = NewJob();
  const auto seen = std::make_shared<absl::Status>();
  BackgroundCall call(table(), Spec("promote"), Waiting(job, seen));
  job->started.Pass();
  EXPECT_OK(table().Cancel(OnlyId()));
  EXPECT_THAT(call.Result(), StatusIs(absl::StatusCode::kCancelled,
                                      HasSubstr("by the administrator")));
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_THAT(*seen, StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(ShutdownTest, CancelOfAMutationAsksItAndLeavesItsCallersWaiting) {
  const auto job = NewJob();
  bool stopped = false;
  absl::Status slept;
  BackgroundCall call(
      table(), Spec("sparsify"),
      [&, job](OperationContext& context) -> absl::StatusOr<std::any> {
        EXPECT_OK(context.BeginMutation());
        job->started.Open();
        job->release.Pass();
        stopped = context.stop_token().stop_requested();
        slept = context.SleepFor(hours(1));
        EXPECT_OK(context.BeginMutation());  // it goes on where it must
        return std::any(8);
      });
  job->started.Pass();
  EXPECT_OK(table().Cancel(OnlyId()));
  EXPECT_OK(table().Cancel(OnlyId()));
  EXPECT_FALSE(call.returned());
  job->release.Open();
  EXPECT_EQ(call.Value(), 8);
  EXPECT_TRUE(stopped);
  EXPECT_THAT(slept, StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(ShutdownTest, ACancelledMutationIsNotJoined) {
  const auto job = NewJob();
  BackgroundCall call(table(), Spec("sparsify"), Mutating(job, 1));
  job->started.Pass();
  EXPECT_OK(table().Cancel(OnlyId()));
  BackgroundCall retry(table(), Spec("sparsify"), Returning(2));
  job->release.Open();
  EXPECT_EQ(retry.Value(), 2);
}

TEST_F(ShutdownTest, ACancelledOperationThatIsQueuedNeverRuns) {
  OperationLimits limits;
  limits.control = {1, 1, 8};
  Restart(limits);
  const auto busy = NewJob();
  const auto queued = NewJob();
  BackgroundCall first(table(), Spec("promote", {"other"}), Blocked(busy, 1));
  busy->started.Pass();
  BackgroundCall second(table(), Spec("promote"), Blocked(queued, 2));
  ASSERT_TRUE(Eventually([&] { return table().List().size() == 2; }));
  EXPECT_FALSE(table().List().at(1).running);
  EXPECT_OK(table().Cancel(table().List().at(1).id));
  EXPECT_THAT(second.Result(), StatusIs(absl::StatusCode::kCancelled));
  busy->release.Open();
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(queued->runs, 0);
}

TEST_F(ShutdownTest, AfterDrainNothingStarts) {
  EXPECT_THAT(table().Drain(milliseconds(0)), IsEmpty());
  EXPECT_THAT(
      Run(Spec("promote"), Returning(1)),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shutting down")));
  EXPECT_EQ(table().stats().refused.stopping, 1U);
}

TEST_F(ShutdownTest, DrainEndsWhatOnlyWaitsAtOnce) {
  const auto job = NewJob();
  const auto seen = std::make_shared<absl::Status>();
  BackgroundCall call(table(), Spec("promote"), Waiting(job, seen));
  job->started.Pass();
  EXPECT_THAT(table().Drain(hours(1)), IsEmpty());
  EXPECT_THAT(call.Result(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(*seen, StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(ShutdownTest, DrainRemovesWhatIsQueued) {
  OperationLimits limits;
  limits.control = {1, 1, 8};
  Restart(limits);
  const auto busy = NewJob();
  const auto queued = NewJob();
  BackgroundCall first(table(), Spec("promote", {"other"}), Mutating(busy, 1));
  busy->started.Pass();
  BackgroundCall second(table(), Spec("promote"), Blocked(queued, 2));
  ASSERT_TRUE(Eventually([&] { return table().List().size() == 2; }));
  EXPECT_THAT(table().Drain(milliseconds(0)), SizeIs(1));
  EXPECT_THAT(second.Result(), StatusIs(absl::StatusCode::kUnavailable));
  busy->release.Open();
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(queued->runs, 0);
}

TEST_F(ShutdownTest, DrainEndsTheWaitForKeys) {
  const auto job = NewJob();
  BackgroundCall first(table(), Spec("promote"), Mutating(job, 1));
  job->started.Pass();
  BackgroundCall second(table(), Spec("demote"), Returning(2));
  EXPECT_THAT(table().Drain(milliseconds(0)), SizeIs(1));
  EXPECT_THAT(second.Result(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ShutdownTest, DrainGivesAMutationTimeToEnd) {
  const auto job = NewJob();
  BackgroundCall call(table(), Spec("promote"), Mutating(job, 1));
  job->started.Pass();
  std::vector<OperationInfo> left(1);
  std::thread drain([&] { left = table().Drain(hours(1)); });
  // The drain has begun when new calls are refused.
  EXPECT_TRUE(Eventually([&] {
    return absl::IsUnavailable(Run(Spec("x", {"kx"}), Returning(1)).status());
  }));
  EXPECT_FALSE(call.returned());
  job->release.Open();
  drain.join();
  EXPECT_THAT(left, IsEmpty());
  EXPECT_EQ(call.Value(), 1);
}

TEST_F(ShutdownTest, DrainEndsAtOnceWhatYields) {
  const auto job = NewJob();
  BackgroundCall bulk(table(), Yielding(Spec("sparsify")),
                      MutatingUntilStopped(job));
  job->started.Pass();
  EXPECT_TRUE(table().Drain(hours(1)).empty());
  EXPECT_THAT(bulk.Result(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ShutdownTest, DrainNamesWhatDoesNotEndAndReleasesItsCallers) {
  const auto job = NewJob();
  BackgroundCall call(table(), Spec("promote"), Mutating(job, 1), "r5");
  job->started.Pass();
  const std::vector<OperationInfo> left = table().Drain(milliseconds(20));
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left[0].verb, "promote");
  EXPECT_EQ(left[0].request_id, "r5");
  EXPECT_TRUE(left[0].mutating);
  EXPECT_THAT(call.Result(), StatusIs(absl::StatusCode::kUnavailable,
                                      HasSubstr("learn its outcome")));
}

TEST_F(ShutdownTest, AfterTheGraceAMutationIsAskedToStop) {
  const auto job = NewJob();
  BackgroundCall call(
      table(), Spec("trim"),
      [job](OperationContext& context) -> absl::StatusOr<std::any> {
        EXPECT_OK(context.BeginMutation());
        job->started.Open();
        return context.SleepFor(hours(1));
      });
  job->started.Pass();
  table().Drain(milliseconds(0));
  EXPECT_THAT(table().Drain(hours(1)), IsEmpty());
}

TEST_F(ShutdownTest, TheDestructorEndsWhatStillWaits) {
  const auto job = NewJob();
  const auto seen = std::make_shared<absl::Status>();
  auto mine = std::make_unique<OperationTable>(OperationLimits{}, clock_);
  BackgroundCall call(*mine, Spec("promote"), Waiting(job, seen));
  job->started.Pass();
  mine.reset();
  EXPECT_THAT(*seen, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(call.Result(), StatusIs(absl::StatusCode::kUnavailable));
}

void DestroyWithAStuckOperation() {
  OperationLimits limits;
  limits.stuck_wait = milliseconds(50);
  static Gate never;
  static Gate started;
  auto table = std::make_unique<OperationTable>(limits, RealClock());
  BackgroundCall call(*table, Spec("promote"),
                      [](OperationContext&) -> absl::StatusOr<std::any> {
                        started.Open();
                        never.Pass();
                        return std::any(1);
                      });
  started.Pass();
  table.reset();
  const bool answered = absl::IsUnavailable(call.Result().status());
  Log().flush();
  std::_Exit(answered ? 3 : 4);
}

TEST(ShutdownDeathTest, TheDestructorDoesNotHangOnAStuckOperation) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ASSERT_OK(InitLog("info"));
        DestroyWithAStuckOperation();
      },
      ::testing::ExitedWithCode(3), "left behind: .promote of volume");
}

}  // namespace
}  // namespace addons::testing
