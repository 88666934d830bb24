// One operation and those who wait for it: results, joining, deadlines,
// leaving.

#include "operation/operation_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "operation/run_operation.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/operation/table_testing.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class OperationTableTest : public TableTest {};

TEST_F(OperationTableTest, ReturnsTheResultOfTheWork) {
  const absl::StatusOr<std::any> result = Run(Spec("promote"), Returning(7));
  ASSERT_OK(result);
  EXPECT_EQ(std::any_cast<int>(*result), 7);
}

TEST_F(OperationTableTest, ReturnsTheErrorOfTheWork) {
  EXPECT_THAT(
      Run(Spec("promote"),
          [](OperationContext&) -> absl::StatusOr<std::any> {
            return absl::FailedPreconditionError("peer is primary");
          }),
      StatusIs(absl::StatusCode::kFailedPrecondition, "peer is primary"));
}

TEST_F(OperationTableTest, TurnsAnExceptionIntoInternal) {
  EXPECT_THAT(
      Run(Spec("promote"),
          [](OperationContext&) -> absl::StatusOr<std::any> {
            throw std::runtime_error("the text may quote a secret");
          }),
      StatusIs(absl::StatusCode::kInternal,
               AllOf(HasSubstr("promote volume 'v1'"),
                     HasSubstr("runtime_error"), Not(HasSubstr("secret")))));
}

TEST_F(OperationTableTest, TurnsAnExceptionOfAnyTypeIntoInternal) {
  EXPECT_THAT(
      Run(Spec("promote"),
          [](OperationContext&) -> absl::StatusOr<std::any> { throw 5; }),
      StatusIs(absl::StatusCode::kInternal));
}

TEST_F(OperationTableTest, ServesTheKeyAgainAfterAnException) {
  Run(Spec("promote"), [](OperationContext&) -> absl::StatusOr<std::any> {
    throw std::runtime_error("broken");
  }).IgnoreError();
  EXPECT_OK(Run(Spec("demote"), Returning(1)));
}

TEST_F(OperationTableTest, RunOperationReturnsTheTypeOfTheWork) {
  const absl::StatusOr<std::string> result = Await(RunOperation<std::string>(
      table(), Spec("promote"), Caller{},
      [](OperationContext&) -> absl::StatusOr<std::string> { return "done"; }));
  ASSERT_OK(result);
  EXPECT_EQ(*result, "done");
}

TEST_F(OperationTableTest, RunOperationReportsAnotherTypeOfJoinedWork) {
  const auto job = NewJob();
  BackgroundCall first(table(), Spec("promote"), Blocked(job, 1));
  job->started.Pass();
  absl::StatusOr<std::string> result = std::string();
  std::thread second([&] {
    result = Await(RunOperation<std::string>(
        table(), Spec("promote"), Caller{},
        [](OperationContext&) -> absl::StatusOr<std::string> { return "x"; }));
  });
  EXPECT_TRUE(Eventually([&] { return table().stats().joined == 1; }));
  job->release.Open();
  second.join();
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kInternal));
}

TEST_F(OperationTableTest, RunOperationReturnsTheStatusOfTheWork) {
  EXPECT_OK(
      Await(RunOperation(table(), Spec("promote"), Caller{},
                         [](OperationContext&) { return absl::OkStatus(); })));
  EXPECT_THAT(Await(RunOperation(
                  table(), Spec("promote"), Caller{},
                  [](OperationContext&) { return absl::AbortedError("no"); })),
              StatusIs(absl::StatusCode::kAborted, "no"));
}

TEST_F(OperationTableTest, AReadSharesNoKeyWithWhatChangesThings) {
  OperationSpec read = Superseding(Spec("info", {"k1"}));
  MakeRead(&read);
  EXPECT_EQ(read.lane, Lane::kRead);
  EXPECT_FALSE(read.supersedes);
  OperationSpec same = Spec("info", {"k1"});
  MakeRead(&same);
  EXPECT_EQ(same.keys, read.keys);
  OperationSpec elsewhere = Spec("info", {"k2"});
  MakeRead(&elsewhere);
  EXPECT_NE(elsewhere.keys, read.keys);

  const auto job = NewJob();
  BackgroundCall change(table(), Spec("promote", {"k1"}), Blocked(job, 1));
  job->started.Pass();
  EXPECT_OK(Run(read, Returning(2)));
  job->release.Open();
}

TEST_F(OperationTableTest, JoinsTheSameWorkOnTheSameKeys) {
  const auto job = NewJob();
  const auto other = NewJob();
  BackgroundCall first(table(), Spec("promote", {"k1", "k2"}), Blocked(job, 1));
  job->started.Pass();
  BackgroundCall second(table(), Spec("promote", {"k2", "k1", "k2"}),
                        Blocked(other, 2));
  ASSERT_TRUE(Eventually([&] { return table().stats().joined == 1; }));
  job->release.Open();
  EXPECT_EQ(first.Value(), 1);
  EXPECT_EQ(second.Value(), 1);
  EXPECT_EQ(other->runs, 0);
}

TEST_F(OperationTableTest, JoinsWhatIsStillQueued) {
  OperationLimits limits;
  limits.control = {1, 1, 8};
  Restart(limits);
  const auto job = NewJob();
  BackgroundCall busy(table(), Spec("promote", {"other"}), Blocked(job, 1));
  job->started.Pass();
  BackgroundCall first(table(), Spec("promote"), Returning(2));
  ASSERT_TRUE(Eventually([&] { return table().List().size() == 2; }));
  BackgroundCall second(table(), Spec("promote"), Returning(3));
  ASSERT_TRUE(Eventually([&] { return table().stats().joined == 1; }));
  job->release.Open();
  EXPECT_EQ(first.Value(), 2);
  EXPECT_EQ(second.Value(), 2);
}

TEST_F(OperationTableTest, RunsOtherKeysAtTheSameTime) {
  const auto job = NewJob();
  BackgroundCall first(table(), Spec("promote", {"k1"}), Blocked(job, 1));
  job->started.Pass();
  EXPECT_OK(Run(Spec("promote", {"k2"}), Returning(2)));
  EXPECT_FALSE(first.returned());
}

TEST_F(OperationTableTest, WorkWithoutKeysIsNeitherExcludedNorJoined) {
  const auto job = NewJob();
  BackgroundCall first(table(), Spec("info", {}), Blocked(job, 1));
  job->started.Pass();
  const absl::StatusOr<std::any> second = Run(Spec("info", {}), Returning(2));
  ASSERT_OK(second);
  EXPECT_EQ(std::any_cast<int>(*second), 2);
}

TEST_F(OperationTableTest, APassedDeadlineIsAnsweredAtOnce) {
  Caller caller;
  caller.deadline = RealIn(milliseconds(-1));
  EXPECT_THAT(table().Run(Spec("promote"), caller, Returning(1)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(table().stats().started, 0U);
}

TEST_F(OperationTableTest, ACallerThatHasGoneStartsNothing) {
  const auto gone = std::make_unique<std::stop_source>();
  gone->request_stop();
  Caller caller;
  caller.gone = gone->get_token();
  EXPECT_THAT(table().Run(Spec("promote"), caller, Returning(1)),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(table().stats().started, 0U);
}

TEST_F(OperationTableTest, AnswersBeforeTheDeadlineWithAgeStepAndProgress) {
  const auto job = NewJob();
  BackgroundCall call(
      table(), Spec("promote"),
      [&, job](OperationContext& context) -> absl::StatusOr<std::any> {
        context.Step("copying");
        context.Progress(12, 64);
        EXPECT_OK(context.BeginMutation());
        clock_.Advance(seconds(45));
        job->release.Pass();
        return std::any(1);
      },
      "r1", RealIn(kShortDeadline));
  EXPECT_THAT(
      call.Result(),
      StatusIs(absl::StatusCode::kAborted,
               "promote of volume 'v1' has been running for 45 s, step "
               "'copying', 12 of 64, cluster 'c1'; the call can be repeated "
               "and will "
               "join it"));
}

TEST_F(OperationTableTest, AnswersBeforeTheDeadlineWithThePendingStatus) {
  BackgroundCall call(
      table(), Spec("promote"),
      [](OperationContext& context) -> absl::StatusOr<std::any> {
        context.SetPending(absl::UnavailableError("7 objects are missing"));
        return context.SleepFor(hours(1));
      },
      "r1", RealIn(kShortDeadline));
  EXPECT_THAT(call.Result(), StatusIs(absl::StatusCode::kUnavailable,
                                      "7 objects are missing"));
}

TEST_F(OperationTableTest, AWithdrawnPendingStatusIsNotUsed) {
  BackgroundCall call(
      table(), Spec("promote"),
      [](OperationContext& context) -> absl::StatusOr<std::any> {
        context.SetPending(absl::UnavailableError("7 objects are missing"));
        context.SetPending(absl::OkStatus());
        return context.SleepFor(hours(1));
      },
      "r1", RealIn(kShortDeadline));
  EXPECT_THAT(call.Result(), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(OperationTableTest, DoesNotPromiseToJoinWhatEndsWithItsCaller) {
  const auto job = NewJob();
  BackgroundCall call(table(), Spec("promote"), Waiting(job), "r1",
                      RealIn(milliseconds(100)));
  EXPECT_THAT(call.Result(),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr("the call can be repeated"),
                             ::testing::Not(HasSubstr("join")))));
}

TEST_F(OperationTableTest, WithoutADeadlineTheLongestWaitApplies) {
  OperationLimits limits;
  limits.max_wait = kShortDeadline;
  Restart(limits);
  const auto job = NewJob();
  EXPECT_THAT(
      Run(Spec("promote"), Waiting(job)),
      StatusIs(absl::StatusCode::kAborted, HasSubstr("has been running")));
}

TEST_F(OperationTableTest, ADeadlineNearerThanTheMarginStillRunsTheWork) {
  OperationLimits limits;
  limits.answer_margin = hours(1);
  Restart(limits);
  Caller caller;
  caller.deadline = RealIn(seconds(60));
  EXPECT_OK(table().Run(Spec("promote"), caller, Returning(1)));
}

TEST_F(OperationTableTest, AnOperationSleepsByTheClockOfTheTable) {
  BackgroundCall call(
      table(), Spec("promote"),
      [](OperationContext& context) -> absl::StatusOr<std::any> {
        const absl::Status status = context.SleepFor(minutes(3));
        if (!status.ok()) return status;
        return std::any(4);
      });
  clock_.AwaitSleepers(1);
  EXPECT_FALSE(call.returned());
  clock_.Advance(minutes(3));
  EXPECT_EQ(call.Value(), 4);
}

TEST_F(OperationTableTest, AnOperationSeesTheLatestDeadlineByItsClock) {
  const auto job = NewJob();
  std::vector<std::optional<SteadyTime>> seen;
  Gate looked;
  const SteadyTime now = clock_.Now();
  BackgroundCall first(
      table(), Spec("promote"),
      [&, job](OperationContext& context) -> absl::StatusOr<std::any> {
        seen.push_back(context.LatestDeadline());
        looked.Open();
        job->release.Pass();
        seen.push_back(context.LatestDeadline());
        return std::any(1);
      },
      "r1", RealIn(hours(1)));
  looked.Pass();
  BackgroundCall second(table(), Spec("promote"), Returning(1), "r2",
                        RealIn(hours(2)));
  ASSERT_TRUE(Eventually([&] { return table().stats().joined == 1; }));
  job->release.Open();
  first.Result().IgnoreError();
  second.Result().IgnoreError();
  ASSERT_EQ(seen.size(), 2U);
  ASSERT_TRUE(seen[0] && seen[1]);
  EXPECT_GT(*seen[0], now + minutes(59));
  EXPECT_LE(*seen[0], now + hours(1) - milliseconds(500));
  EXPECT_GT(*seen[1], now + minutes(119));
  EXPECT_LE(*seen[1], now + hours(2) - milliseconds(500));
}

TEST_F(OperationTableTest, AMutationSeesThatNobodyWaitsAnyMore) {
  const auto job = NewJob();
  std::optional<SteadyTime> seen = SteadyTime();
  RunWithoutCaller(
      Spec("promote"),
      [&, job](OperationContext& context) -> absl::StatusOr<std::any> {
        EXPECT_OK(context.BeginMutation());
        job->started.Open();
        job->release.Pass();
        seen = context.LatestDeadline();
        return std::any(1);
      },
      job);
  job->release.Open();
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(seen, std::nullopt);
}

TEST_F(OperationTableTest, WaitingEndsWhenTheLastCallerHasGone) {
  const LogCapture log;
  const auto job = NewJob();
  const auto seen = std::make_shared<absl::Status>();
  BackgroundCall call(table(), Spec("promote"), Waiting(job, seen));
  job->started.Pass();
  call.HangUp();
  EXPECT_THAT(call.Result(), StatusIs(absl::StatusCode::kCancelled));
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_THAT(*seen,
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("nobody")));
  EXPECT_THAT(log.Lines(), ::testing::IsEmpty());
}

TEST_F(OperationTableTest, WaitingGoesOnForTheCallerThatIsLeft) {
  const auto job = NewJob();
  BackgroundCall first(table(), Spec("promote"), Blocked(job, 1));
  job->started.Pass();
  BackgroundCall second(table(), Spec("promote"), Returning(2));
  ASSERT_TRUE(Eventually([&] { return table().stats().joined == 1; }));
  first.HangUp();
  EXPECT_THAT(first.Result(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(table().List().at(0).callers, 1U);
  job->release.Open();
  EXPECT_EQ(second.Value(), 1);
}

TEST_F(OperationTableTest, NoMutationBeginsAfterTheLastCallerHasGone) {
  const auto job = NewJob();
  const auto seen = std::make_shared<absl::Status>();
  RunWithoutCaller(
      Spec("promote"),
      [job, seen](OperationContext& context) -> absl::StatusOr<std::any> {
        job->started.Open();
        job->release.Pass();
        *seen = context.BeginMutation();
        EXPECT_FALSE(context.mutating());
        return *seen;
      },
      job);
  job->release.Open();
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_THAT(*seen, StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(OperationTableTest, AMutationRunsToItsEndWithoutCallersAndSaysSo) {
  const LogCapture log;
  const auto job = NewJob();
  bool stopped = true;
  absl::Status slept = absl::UnknownError("not seen");
  RunWithoutCaller(
      Spec("promote"),
      [&, job](OperationContext& context) -> absl::StatusOr<std::any> {
        EXPECT_OK(context.BeginMutation());
        EXPECT_TRUE(context.mutating());
        EXPECT_OK(context.BeginMutation());
        job->started.Open();
        job->release.Pass();
        stopped = context.stop_token().stop_requested();
        slept = context.SleepFor(seconds(0));
        clock_.Advance(milliseconds(1500));
        return absl::UnavailableError("half of it");
      },
      job);
  EXPECT_TRUE(table().List().at(0).mutating);
  job->release.Open();
  ASSERT_TRUE(Eventually([&] { return !log.Lines().empty(); }));
  EXPECT_FALSE(stopped);
  EXPECT_OK(slept);
  EXPECT_THAT(
      log.Lines(),
      ::testing::ElementsAre(AllOf(
          HasSubstr("info "), HasSubstr("req=r1"), HasSubstr("verb=promote"),
          HasSubstr("volume"), HasSubstr("code=UNAVAILABLE"),
          HasSubstr("half of it"), HasSubstr("dur_ms=1500"))));
}

TEST_F(OperationTableTest, ARetryJoinsTheMutationThatOutlivedItsCaller) {
  const auto job = NewJob();
  RunWithoutCaller(Spec("promote"), Mutating(job, 5), job);
  BackgroundCall retry(table(), Spec("promote"), Returning(6));
  ASSERT_TRUE(Eventually([&] { return table().stats().joined == 1; }));
  job->release.Open();
  EXPECT_EQ(retry.Value(), 5);
}

TEST_F(OperationTableTest, ARetryAfterTheStopWaitsForTheEndAndStartsAnew) {
  const auto job = NewJob();
  RunWithoutCaller(Spec("promote"), Blocked(job, 1), job);
  BackgroundCall retry(table(), Spec("promote"), Returning(2));
  EXPECT_FALSE(retry.returned());
  job->release.Open();
  EXPECT_EQ(retry.Value(), 2);
  EXPECT_EQ(table().stats().joined, 0U);
}

TEST_F(OperationTableTest, TheWorkIsDestroyedBeforeItsKeysAreFree) {
  struct Owner {
    explicit Owner(std::function<void()> end) : at_end(std::move(end)) {}
    ~Owner() { at_end(); }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    std::function<void()> at_end;
  };
  size_t listed = 0;
  auto owner = std::make_shared<Owner>([&] { listed = table().List().size(); });
  ASSERT_OK(Run(Spec("promote"),
                [owner = std::move(owner)](OperationContext&)
                    -> absl::StatusOr<std::any> { return std::any(1); }));
  EXPECT_EQ(listed, 1U);
}

TEST_F(OperationTableTest, CountsWhatHappens) {
  ASSERT_OK(Run(Spec("promote"), Returning(1)));
  ASSERT_OK(Run(Spec("promote"), Returning(1)));
  const OperationStats stats = table().stats();
  EXPECT_EQ(stats.started, 2U);
  EXPECT_EQ(stats.finished, 2U);
  EXPECT_EQ(stats.joined, 0U);
  EXPECT_EQ(stats.refused, RefusedCalls());
}

}  // namespace
}  // namespace addons::testing
