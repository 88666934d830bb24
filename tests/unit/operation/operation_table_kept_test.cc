// Results that nobody was there to collect.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/status_macros.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/operation/table_testing.h"

namespace addons::testing {
namespace {

OperationSpec Kept(const std::string& verb,
                   std::vector<std::string> keys = {"k1"}) {
  OperationSpec spec = Spec(verb, std::move(keys));
  spec.keep_result = true;
  return spec;
}

class KeptTest : public TableTest {
 protected:
  /// Runs a mutation that ends without callers with `value`.
  void Leave(const OperationSpec& spec, int value) {
    const auto job = NewJob();
    RunWithoutCaller(spec, Mutating(job, value), job);
    job->release.Open();
    ASSERT_TRUE(AwaitEmpty());
  }
  int Value(const OperationSpec& spec, int value_of_a_new_run) {
    const absl::StatusOr<std::any> result =
        Run(spec, Returning(value_of_a_new_run));
    return result.ok() ? std::any_cast<int>(*result) : -1;
  }
};

TEST_F(KeptTest, ARetryCollectsTheResult) {
  Leave(Kept("trim"), 1);
  EXPECT_EQ(Value(Kept("trim"), 2), 1);
  EXPECT_EQ(table().stats().kept, 1U);
  EXPECT_EQ(table().stats().started, 1U);
}

TEST_F(KeptTest, ALostAnswerCanBeCollectedAgain) {
  Leave(Kept("trim"), 1);
  EXPECT_EQ(Value(Kept("trim"), 2), 1);
  EXPECT_EQ(Value(Kept("trim"), 2), 1);
}

TEST_F(KeptTest, NothingIsKeptUnasked) {
  Leave(Spec("trim"), 1);
  EXPECT_EQ(Value(Kept("trim"), 2), 2);
}

TEST_F(KeptTest, AResultThatWasCollectedIsNotKept) {
  EXPECT_EQ(Value(Kept("trim"), 1), 1);
  EXPECT_EQ(Value(Kept("trim"), 2), 2);
}

TEST_F(KeptTest, AnErrorIsNeverKept) {
  const auto job = NewJob();
  RunWithoutCaller(
      Kept("trim"),
      [job](OperationContext& context) -> absl::StatusOr<std::any> {
        EXPECT_OK(context.BeginMutation());
        job->started.Open();
        job->release.Pass();
        return absl::UnavailableError("no");
      },
      job);
  job->release.Open();
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(Value(Kept("trim"), 2), 2);
}

TEST_F(KeptTest, WhatEndedAfterAStopIsNotKept) {
  const auto job = NewJob();
  RunWithoutCaller(Kept("trim"), Blocked(job, 1), job);
  job->release.Open();
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(Value(Kept("trim"), 2), 2);
}

TEST_F(KeptTest, IsForgottenAfterAWhile) {
  Leave(Kept("trim"), 1);
  clock_.Advance(minutes(10));
  EXPECT_EQ(Value(Kept("trim"), 2), 2);
}

TEST_F(KeptTest, ItsAgeCountsFromTheEndOfTheOperation) {
  const auto job = NewJob();
  RunWithoutCaller(Kept("trim"), Mutating(job, 1), job);
  clock_.Advance(minutes(8));
  job->release.Open();
  ASSERT_TRUE(AwaitEmpty());
  clock_.Advance(minutes(10) - milliseconds(1));
  EXPECT_EQ(Value(Kept("trim"), 2), 1);
  // Asking for it does not make it younger.
  clock_.Advance(milliseconds(1));
  EXPECT_EQ(Value(Kept("trim"), 2), 2);
}

TEST_F(KeptTest, IsForgottenWhenOtherWorkChangesSomethingOnAKey) {
  Leave(Kept("promote", {"k1", "k2"}), 1);
  ASSERT_OK(Run(Spec("demote", {"k2"}),
                [](OperationContext& context) -> absl::StatusOr<std::any> {
                  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
                  return std::any(5);
                }));
  EXPECT_EQ(Value(Kept("promote", {"k1", "k2"}), 2), 2);
}

TEST_F(KeptTest, AUserThatIsRefusedDoesNotMakeItForgotten) {
  Leave(Kept("promote"), 1);
  EXPECT_THAT(Run(Spec("demote"),
                  [](OperationContext&) -> absl::StatusOr<std::any> {
                    return absl::UnauthenticatedError("wrong key");
                  }),
              StatusIs(absl::StatusCode::kUnauthenticated));
  EXPECT_EQ(Value(Kept("promote"), 2), 1);
}

TEST_F(KeptTest, OtherKeysDoNotMatter) {
  Leave(Kept("promote", {"k1"}), 1);
  ASSERT_OK(Run(Spec("demote", {"k2"}), Returning(5)));
  EXPECT_EQ(Value(Kept("promote", {"k1"}), 2), 1);
}

TEST_F(KeptTest, IsGivenOutAgainAndAgain) {
  Leave(Kept("promote"), 1);
  EXPECT_EQ(Value(Kept("promote"), 2), 1);
  EXPECT_EQ(Value(Kept("promote"), 2), 1);
  EXPECT_EQ(table().stats().kept, 2U);
}

TEST_F(KeptTest, ALaneThatIsFullDoesNotHideTheResult) {
  OperationLimits limits;
  limits.control = {1, 1, 0};
  Restart(limits);
  Leave(Kept("promote"), 1);
  const auto busy = NewJob();
  BackgroundCall other(table(), Spec("demote", {"other"}), Blocked(busy, 1));
  busy->started.Pass();
  EXPECT_EQ(Value(Kept("promote"), 2), 1);
  busy->release.Open();
}

}  // namespace
}  // namespace addons::testing
