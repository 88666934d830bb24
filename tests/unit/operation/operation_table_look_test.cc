// Operations that wait for a state: between two looks they hold no worker.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <any>
#include <atomic>
#include <list>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/operation/table_testing.h"

namespace addons::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Counts its looks, and returns their number when `state_came` is set.
struct Looks {
  std::atomic<int> count{0};
  std::atomic<bool> state_came{false};
};

OperationWork Looking(std::shared_ptr<Looks> looks,
                      SteadyDuration pause = seconds(1)) {
  return [looks = std::move(looks),
          pause](OperationContext& context) -> absl::StatusOr<std::any> {
    context.Step("waiting for the demotion");
    ++looks->count;
    if (looks->state_came) return std::any(looks->count.load());
    const absl::Status waited = context.LookAgainAfter(pause);
    EXPECT_FALSE(waited.ok());
    return waited;
  };
}

class LookTest : public TableTest {
 protected:
  LookTest() : TableTest(OneWorker()) {}
  static OperationLimits OneWorker() {
    OperationLimits limits;
    limits.control = {1, 1, 8};
    return limits;
  }
  bool AwaitParked(size_t count) {
    return Eventually([&] {
      size_t parked = 0;
      for (const OperationInfo& info : table().List()) {
        if (info.between_looks) ++parked;
      }
      return parked == count;
    });
  }
};

TEST_F(LookTest, ManyWaitAndTheOnlyWorkerIsFree) {
  std::list<BackgroundCall> calls;
  std::list<std::shared_ptr<Looks>> all;
  for (int i = 0; i < 50; ++i) {
    all.push_back(std::make_shared<Looks>());
    calls.emplace_back(table(), Spec("promote", {absl::StrCat("k", i)}),
                       Looking(all.back()));
    ASSERT_TRUE(AwaitParked(static_cast<size_t>(i) + 1));
  }
  EXPECT_EQ(table().List().front().step, "waiting for the demotion");
  EXPECT_TRUE(table().List().front().running);
  EXPECT_EQ(table().stats().waiting, 50U);
  EXPECT_OK(Run(Spec("demote", {"other"}), Returning(1)));
  // The worker, the timer, and the one that waits for the next look.
  EXPECT_LE(table().stats().threads, 3U);
  for (const auto& looks : all) looks->state_came = true;
  clock_.Advance(seconds(1));
  for (BackgroundCall& call : calls) EXPECT_EQ(call.Value(), 2);
  EXPECT_TRUE(AwaitEmpty());
  EXPECT_EQ(table().stats().finished, 51U);
}

TEST_F(LookTest, LooksAgainAfterThePauseAndNotBefore) {
  const auto looks = std::make_shared<Looks>();
  BackgroundCall call(table(), Spec("promote"), Looking(looks, seconds(5)));
  ASSERT_TRUE(AwaitParked(1));
  clock_.AwaitSleepers(1);
  clock_.Advance(milliseconds(4999));
  EXPECT_OK(Run(Spec("demote", {"other"}), Returning(1)));
  EXPECT_EQ(looks->count, 1);
  clock_.Advance(milliseconds(1));
  ASSERT_TRUE(Eventually([&] { return looks->count == 2; }));
  ASSERT_TRUE(AwaitParked(1));
  looks->state_came = true;
  clock_.Advance(seconds(5));
  EXPECT_EQ(call.Value(), 3);
}

TEST_F(LookTest, AShortPauseDoesNotWaitForALongOne) {
  const auto slow = std::make_shared<Looks>();
  BackgroundCall waits(table(), Spec("promote", {"slow"}),
                       Looking(slow, hours(1)));
  ASSERT_TRUE(AwaitParked(1));
  clock_.AwaitSleepers(1);
  const auto fast = std::make_shared<Looks>();
  BackgroundCall call(table(), Spec("promote", {"fast"}), Looking(fast));
  ASSERT_TRUE(AwaitParked(2));
  fast->state_came = true;
  clock_.Advance(seconds(1));
  EXPECT_EQ(call.Value(), 2);
  EXPECT_EQ(slow->count, 1);
}

TEST_F(LookTest, EndsAtOnceWhenNobodyWaits) {
  const auto looks = std::make_shared<Looks>();
  BackgroundCall call(table(), Spec("promote"), Looking(looks));
  ASSERT_TRUE(AwaitParked(1));
  call.HangUp();
  EXPECT_THAT(call.Result(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(table().List(), IsEmpty());
  EXPECT_EQ(looks.use_count(), 1);  // the work is destroyed
  EXPECT_EQ(looks->count, 1);
}

TEST_F(LookTest, IsSupersededAtOnce) {
  BackgroundCall promote(table(), Spec("promote"),
                         Looking(std::make_shared<Looks>()));
  ASSERT_TRUE(AwaitParked(1));
  EXPECT_OK(Run(Superseding(Spec("demote")), Returning(2)));
  EXPECT_THAT(promote.Result(), StatusIs(absl::StatusCode::kAborted,
                                         HasSubstr("superseded by demote")));
}

// Its time has come, but all workers are busy.
TEST_F(LookTest, IsSupersededAtOnceAlsoWhenItWaitsForAWorker) {
  const auto looks = std::make_shared<Looks>();
  BackgroundCall promote(table(), Spec("promote"), Looking(looks));
  ASSERT_TRUE(AwaitParked(1));
  clock_.AwaitSleepers(1);
  const auto job = NewJob();
  BackgroundCall busy(table(), Spec("demote", {"other"}), Blocked(job, 1));
  job->started.Pass();
  clock_.Advance(seconds(1));
  ASSERT_TRUE(AwaitParked(0));
  BackgroundCall resync(table(), Superseding(Spec("resync")), Returning(2));
  EXPECT_THAT(promote.Result(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(looks.use_count(), 1);
  job->release.Open();
  EXPECT_EQ(resync.Value(), 2);
  EXPECT_EQ(looks->count, 1);
}

TEST_F(LookTest, IsCancelledAtOnce) {
  BackgroundCall promote(table(), Spec("promote"),
                         Looking(std::make_shared<Looks>()));
  ASSERT_TRUE(AwaitParked(1));
  ASSERT_OK(table().Cancel(table().List().at(0).id));
  EXPECT_THAT(promote.Result(), StatusIs(absl::StatusCode::kCancelled,
                                         HasSubstr("administrator")));
  EXPECT_THAT(table().List(), IsEmpty());
}

TEST_F(LookTest, EndsAtOnceAtAShutdown) {
  BackgroundCall promote(table(), Spec("promote"),
                         Looking(std::make_shared<Looks>()));
  ASSERT_TRUE(AwaitParked(1));
  EXPECT_THAT(table().Drain(seconds(30)), IsEmpty());
  EXPECT_THAT(promote.Result(), StatusIs(absl::StatusCode::kUnavailable,
                                         HasSubstr("shutting down")));
}

TEST_F(LookTest, IsJoinedBetweenLooks) {
  const auto looks = std::make_shared<Looks>();
  BackgroundCall first(table(), Spec("promote"), Looking(looks));
  ASSERT_TRUE(AwaitParked(1));
  BackgroundCall second(table(), Spec("promote"), Returning(99), "r2");
  first.HangUp();
  EXPECT_THAT(first.Result(), StatusIs(absl::StatusCode::kCancelled));
  looks->state_came = true;
  clock_.Advance(seconds(1));
  EXPECT_EQ(second.Value(), 2);
}

TEST_F(LookTest, AnswersBeforeTheDeadlineWithWhatIsPending) {
  BackgroundCall call(
      table(), Spec("promote"),
      [](OperationContext& context) -> absl::StatusOr<std::any> {
        context.SetPending(absl::UnavailableError("not demoted yet"));
        return context.LookAgainAfter(hours(1));
      },
      "r1", RealIn(kShortDeadline));
  EXPECT_THAT(call.Result(),
              StatusIs(absl::StatusCode::kUnavailable, "not demoted yet"));
  EXPECT_TRUE(AwaitEmpty());
}

TEST_F(LookTest, WhatItRememberedIsThereAtTheNextLook) {
  BackgroundCall call(
      table(), Spec("promote"),
      [](OperationContext& context) -> absl::StatusOr<std::any> {
        int& looks = context.memory().Of<int>();
        if (++looks == 3) return std::any(looks);
        return context.LookAgainAfter(seconds(1));
      });
  EXPECT_TRUE(Eventually([&] {
    clock_.Advance(seconds(1));
    return call.returned();
  }));
  EXPECT_EQ(call.Value(), 3);
}

// From its first change on it runs to its end, and begins nothing anew.
TEST_F(LookTest, AfterAChangeItWaitsInPlace) {
  const auto runs = std::make_shared<std::atomic<int>>(0);
  BackgroundCall call(
      table(), Spec("promote"),
      [runs](OperationContext& context) -> absl::StatusOr<std::any> {
        ++*runs;
        EXPECT_OK(context.BeginMutation());
        EXPECT_OK(context.LookAgainAfter(seconds(1)));
        return std::any(7);
      });
  clock_.AwaitSleepers(1);
  clock_.Advance(seconds(1));
  EXPECT_EQ(call.Value(), 7);
  EXPECT_EQ(*runs, 1);
}

}  // namespace
}  // namespace addons::testing
