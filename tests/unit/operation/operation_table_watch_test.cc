// Lanes, the list for status pages, the watchdog.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/unit/operation/table_testing.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

OperationSpec Bulk(OperationSpec spec) {
  spec.lane = Lane::kBulk;
  return spec;
}

OperationSpec On(const std::string& cluster, OperationSpec spec) {
  spec.share = WorkerShare::OfCluster(ClusterId(cluster));
  return spec;
}

class LaneTest : public TableTest {};

TEST_F(LaneTest, RefusesAtOnceWhenTheQueueIsFull) {
  OperationLimits limits;
  limits.control = {1, 1, 1};
  Restart(limits);
  const auto busy = NewJob();
  BackgroundCall first(table(), Spec("promote", {"k1"}), Blocked(busy, 1));
  busy->started.Pass();
  BackgroundCall second(table(), Spec("promote", {"k2"}), Returning(2));
  ASSERT_TRUE(Eventually([&] { return table().List().size() == 2; }));
  EXPECT_THAT(Run(Spec("promote", {"k3"}), Returning(3)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("Failed to promote volume 'v1'")));
  EXPECT_EQ(table().stats().refused.lane, 1U);
  busy->release.Open();
  EXPECT_EQ(second.Value(), 2);
}

// With the limits as they are shipped.
TEST_F(LaneTest, AThirdClusterHasAWorkerWhenTwoHang) {
  for (const Lane lane : kLanes) {
    const auto hung = NewJob();
    std::list<BackgroundCall> calls;
    for (const char* cluster : {"one", "two"}) {
      for (int i = 0; i < 70; ++i) {
        OperationSpec spec =
            On(cluster, Spec("trim", {absl::StrCat(cluster, i)}));
        spec.lane = lane;
        if (lane == Lane::kBulk && i == 30) break;
        calls.emplace_back(table(), spec, Mutating(hung, 1));
      }
    }
    hung->started.Pass();
    OperationSpec third = On("three", Spec("trim", {"third"}));
    third.lane = lane;
    Caller caller;
    caller.deadline = RealIn(seconds(20));
    EXPECT_OK(table().Run(third, caller, Returning(3)).status()) << Name(lane);
    hung->release.Open();
    for (BackgroundCall& call : calls) EXPECT_EQ(call.Value(), 1);
  }
}

// Two hundred promotions at once all look before they wait.
TEST_F(LaneTest, FewOfAClusterLookAtATime) {
  const auto jobs = NewJob();
  std::list<BackgroundCall> calls;
  for (int i = 0; i < 200; ++i) {
    calls.emplace_back(table(), Spec("promote", {absl::StrCat("k", i)}),
                       Blocked(jobs, i));
  }
  const OperationLimits& limits = table().limits();
  ASSERT_TRUE(Eventually([&] {
    return jobs->runs == static_cast<int>(limits.control.looking_per_cluster);
  }));
  EXPECT_EQ(table().stats().threads, limits.control.looking_per_cluster + 1);
  jobs->release.Open();
  for (BackgroundCall& call : calls) EXPECT_OK(call.Result().status());
}

// A change takes as long as the monitors; it holds nobody up who looks.
TEST_F(LaneTest, WhatChangesLetsOthersLook) {
  const auto changing = NewJob();
  std::list<BackgroundCall> calls;
  const OperationLimits& limits = table().limits();
  for (size_t i = 0; i < limits.control.workers_per_cluster; ++i) {
    calls.emplace_back(table(), Spec("demote", {absl::StrCat("k", i)}),
                       Mutating(changing, 1));
  }
  EXPECT_TRUE(Eventually([&] {
    return changing->runs ==
           static_cast<int>(limits.control.workers_per_cluster);
  }));
  changing->release.Open();
  for (BackgroundCall& call : calls) EXPECT_EQ(call.Value(), 1);
}

TEST_F(LaneTest, WhatWasRefusedHoldsNoKey) {
  OperationLimits limits;
  limits.control = {1, 1, 0};
  Restart(limits);
  const auto busy = NewJob();
  BackgroundCall first(table(), Spec("promote", {"k1"}), Blocked(busy, 1));
  busy->started.Pass();
  Run(Spec("promote", {"k2"}), Returning(2)).IgnoreError();
  busy->release.Open();
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_OK(Run(Spec("demote", {"k2"}), Returning(2)));
}

TEST_F(LaneTest, BulkWorkDoesNotHoldBackControl) {
  OperationLimits limits;
  limits.bulk = {1, 1, 0};
  limits.control = {1, 1, 0};
  Restart(limits);
  const auto busy = NewJob();
  BackgroundCall trim(table(), Bulk(Spec("trim", {"k1"})), Blocked(busy, 1));
  busy->started.Pass();
  EXPECT_OK(Run(Spec("promote", {"k2"}), Returning(2)));
  EXPECT_THAT(Run(Bulk(Spec("trim", {"k3"})), Returning(3)),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(LaneTest, ReadsHaveWorkersOfTheirOwn) {
  OperationLimits limits;
  limits.control = {1, 1, 0};
  limits.read = {1, 1, 0};
  Restart(limits);
  const auto changing = NewJob();
  const auto reading = NewJob();
  OperationSpec read = Spec("info", {});
  read.lane = Lane::kRead;
  BackgroundCall promote(table(), Spec("promote"), Blocked(changing, 1));
  changing->started.Pass();
  BackgroundCall info(table(), read, Blocked(reading, 2));
  reading->started.Pass();
  EXPECT_THAT(Run(read, Returning(3)),
              StatusIs(absl::StatusCode::kResourceExhausted));
  changing->release.Open();
  EXPECT_EQ(promote.Value(), 1);
  EXPECT_OK(Run(Spec("demote"), Returning(4)));
}

TEST_F(LaneTest, AHungClusterLeavesWorkersForOthers) {
  OperationLimits limits;
  limits.control = {3, 2, 8};
  Restart(limits);
  const auto hung = NewJob();
  std::vector<std::unique_ptr<BackgroundCall>> calls;
  for (const std::string key : {"k1", "k2", "k3"}) {
    calls.push_back(std::make_unique<BackgroundCall>(
        table(), On("hung", Spec("promote", {key})), Blocked(hung, 1)));
  }
  ASSERT_TRUE(Eventually(
      [&] { return table().List().size() == 3 && hung->runs == 2; }));
  EXPECT_OK(Run(On("fine", Spec("promote", {"k4"})), Returning(2)));
  EXPECT_EQ(hung->runs, 2);
  hung->release.Open();
  for (auto& call : calls) EXPECT_EQ(call->Value(), 1);
}

TEST_F(LaneTest, RunsAsManyAsTheLimitAtOnceAndNeverMore) {
  OperationLimits limits;
  limits.control = {3, 3, 64};
  Restart(limits);
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  // The first three wait for each other, so that all are seen to run at once.
  std::latch all_run(3);
  std::atomic<int> arrived{0};
  std::vector<std::unique_ptr<BackgroundCall>> calls;
  for (int i = 0; i < 24; ++i) {
    calls.push_back(std::make_unique<BackgroundCall>(
        table(), Spec("promote", {"k" + std::to_string(i)}),
        [&](OperationContext&) -> absl::StatusOr<std::any> {
          const int now = ++running;
          int before = most;
          while (before < now && !most.compare_exchange_weak(before, now)) {
          }
          if (arrived++ < 3) all_run.count_down();
          if (!Eventually([&] { return all_run.try_wait(); })) {
            --running;
            return absl::InternalError("fewer than three run at once");
          }
          std::this_thread::yield();
          --running;
          return std::any(1);
        }));
  }
  for (auto& call : calls) EXPECT_EQ(call->Value(), 1);
  EXPECT_EQ(most, 3);
}

TEST_F(LaneTest, AQueuedOperationWhoseCallerLeftNeverRuns) {
  OperationLimits limits;
  limits.control = {1, 1, 1};
  Restart(limits);
  const auto busy = NewJob();
  const auto queued = NewJob();
  BackgroundCall first(table(), Spec("promote", {"k1"}), Blocked(busy, 1));
  busy->started.Pass();
  BackgroundCall second(table(), Spec("promote", {"k2"}), Blocked(queued, 2));
  ASSERT_TRUE(Eventually([&] { return table().List().size() == 2; }));
  second.HangUp();
  EXPECT_THAT(second.Result(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(table().List(), SizeIs(1));
  // Its place in the queue is free again.
  BackgroundCall third(table(), Spec("promote", {"k3"}), Returning(3));
  busy->release.Open();
  EXPECT_EQ(third.Value(), 3);
  EXPECT_EQ(queued->runs, 0);
}

TEST_F(LaneTest, TellsTheCallerThatItsOperationIsQueued) {
  OperationLimits limits;
  limits.control = {1, 1, 1};
  Restart(limits);
  const auto busy = NewJob();
  BackgroundCall first(table(), Spec("promote", {"k1"}), Blocked(busy, 1));
  busy->started.Pass();
  Caller caller;
  caller.deadline = RealIn(milliseconds(60));
  EXPECT_THAT(
      table().Run(Spec("promote", {"k2"}), caller, Returning(1)),
      StatusIs(absl::StatusCode::kAborted, HasSubstr("has been queued for")));
}

class ListTest : public TableTest {};

TEST_F(ListTest, ShowsEverythingAboutAnOperation) {
  const auto job = NewJob();
  BackgroundCall call(
      table(), Spec("promote"),
      [&, job](OperationContext& context) -> absl::StatusOr<std::any> {
        context.Step("copying");
        context.Progress(3, 9);
        EXPECT_OK(context.BeginMutation());
        clock_.Advance(seconds(2));
        job->started.Open();
        job->release.Pass();
        return std::any(1);
      },
      "r9");
  job->started.Pass();
  const std::vector<OperationInfo> list = table().List();
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_EQ(list[0].verb, "promote");
  EXPECT_EQ(list[0].object, "volume 'v1'");
  EXPECT_EQ(list[0].step, "copying");
  EXPECT_EQ(list[0].request_id, "r9");
  EXPECT_TRUE(list[0].running);
  EXPECT_TRUE(list[0].mutating);
  EXPECT_EQ(list[0].done, 3U);
  EXPECT_EQ(list[0].total, 9U);
  EXPECT_EQ(list[0].callers, 1U);
  EXPECT_EQ(list[0].age, seconds(2));
}

TEST_F(ListTest, ANewStepStartsWithoutProgress) {
  const auto job = NewJob();
  BackgroundCall call(
      table(), Spec("promote"),
      [job](OperationContext& context) -> absl::StatusOr<std::any> {
        context.Step("copying");
        context.Progress(3, 9);
        context.Step("promoting");
        job->started.Open();
        job->release.Pass();
        return std::any(1);
      });
  job->started.Pass();
  EXPECT_EQ(table().List().at(0).total, 0U);
}

TEST_F(ListTest, WhatMakesNoProgressIsStuck) {
  const auto job = NewJob();
  BackgroundCall call(
      table(), Spec("promote"),
      [job](OperationContext& context) -> absl::StatusOr<std::any> {
        context.Step("copying");
        job->started.Open();
        job->release.Pass();
        return std::any(1);
      });
  job->started.Pass();
  clock_.Advance(table().limits().watchdog - seconds(1));
  EXPECT_FALSE(table().List().at(0).stuck);
  clock_.Advance(seconds(2));
  EXPECT_TRUE(table().List().at(0).stuck);
  EXPECT_EQ(table().List().at(0).idle, table().limits().watchdog + seconds(1));
}

TEST_F(ListTest, RemembersWhatHasEnded) {
  ASSERT_OK(Run(Spec("promote"), Returning(1)));
  OperationSpec read = Spec("info", {});
  read.lane = Lane::kRead;
  ASSERT_OK(Run(read, Returning(1)));
  OperationSpec routine = Spec("make a planned point");
  routine.routine = true;
  ASSERT_OK(Run(routine, Returning(1)));
  EXPECT_FALSE(Run(Spec("demote"), [this](OperationContext& /*context*/) {
                 clock_.Advance(seconds(3));
                 return absl::StatusOr<std::any>(
                     absl::UnavailableError(std::string(600, 'x')));
               }).ok());
  ASSERT_TRUE(AwaitEmpty());
  const std::vector<EndedOperation> ended = table().Ended();
  ASSERT_THAT(ended, SizeIs(2));
  EXPECT_EQ(ended[0].verb, "demote");
  EXPECT_EQ(ended[0].object, "volume 'v1'");
  EXPECT_EQ(ended[0].age, seconds(3));
  EXPECT_EQ(ended[0].ended_at, clock_.Now());
  EXPECT_EQ(ended[0].status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(ended[0].status.message(), SizeIs(503));
  EXPECT_EQ(ended[1].verb, "promote");
  EXPECT_OK(ended[1].status);
}

TEST_F(ListTest, WhatEndedBeforeItBeganIsRememberedToo) {
  OperationLimits limits;
  limits.control = {1, 1, 7};
  Restart(limits);
  const auto busy = NewJob();
  BackgroundCall first(table(), Spec("promote", {"k1"}), Blocked(busy, 1));
  busy->started.Pass();
  BackgroundCall second(table(), Spec("demote", {"k2"}), Returning(2));
  ASSERT_TRUE(Eventually([&] { return table().List().size() == 2; }));
  ASSERT_OK(table().Cancel(table().List().at(1).id));
  const std::vector<EndedOperation> ended = table().Ended();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].verb, "demote");
  EXPECT_EQ(ended[0].status.code(), absl::StatusCode::kCancelled);
}

TEST_F(ListTest, RemembersTheNewestOnly) {
  for (size_t i = 0; i < kMostEndedOperations + 3; ++i) {
    ASSERT_OK(Run(Spec("promote"), Returning(1)));
  }
  ASSERT_TRUE(AwaitEmpty());
  const std::vector<EndedOperation> ended = table().Ended();
  ASSERT_THAT(ended, SizeIs(kMostEndedOperations));
  EXPECT_GT(ended.front().id, ended.back().id);
}

TEST_F(ListTest, IsEmptyWhenAllHasEnded) {
  ASSERT_OK(Run(Spec("promote"), Returning(1)));
  EXPECT_THAT(table().List(), IsEmpty());
}

class WatchdogTest : public TableTest {
 protected:
  WatchdogTest() : TableTest(ShortWatchdog()) {}
  static OperationLimits ShortWatchdog() {
    OperationLimits limits;
    limits.watchdog = milliseconds(40);
    return limits;
  }
  bool AwaitLines(size_t count) {
    return Eventually([&] { return log_.Lines().size() >= count; });
  }

  LogCapture log_;
};

TEST_F(WatchdogTest, NamesWhatMakesNoProgress) {
  const auto job = NewJob();
  BackgroundCall call(
      table(), Spec("promote"),
      [job](OperationContext& context) -> absl::StatusOr<std::any> {
        context.Step("demoting");
        job->started.Open();
        job->release.Pass();
        return std::any(1);
      },
      "r9");
  job->started.Pass();
  clock_.Advance(milliseconds(40));
  ASSERT_TRUE(AwaitLines(1));
  EXPECT_THAT(log_.Lines().at(0),
              AllOf(HasSubstr("warn"), HasSubstr("req=r9"),
                    HasSubstr("verb=promote"), HasSubstr("step=demoting"),
                    HasSubstr("idle_ms=40"), HasSubstr("age_ms=40")));
}

TEST_F(WatchdogTest, WakesForWorkAfterAPause) {
  ASSERT_OK(Run(Spec("promote"), Returning(1)));
  ASSERT_TRUE(AwaitEmpty());
  // Long enough for it to look at the empty table and to wait without an end.
  // NOLINTNEXTLINE: there is nothing to see of that from here.
  std::this_thread::sleep_for(milliseconds(200));
  const auto job = NewJob();
  BackgroundCall call(table(), Spec("demote"), Blocked(job, 1));
  job->started.Pass();
  clock_.Advance(milliseconds(40));
  EXPECT_TRUE(AwaitLines(1));
}

TEST_F(WatchdogTest, RepeatsItselfOncePerPeriod) {
  const auto job = NewJob();
  BackgroundCall call(table(), Spec("promote"), Blocked(job, 1));
  job->started.Pass();
  clock_.Advance(milliseconds(40));
  ASSERT_TRUE(AwaitLines(1));
  clock_.Advance(milliseconds(40));
  ASSERT_TRUE(AwaitLines(2));
  EXPECT_THAT(log_.Lines(), SizeIs(2));
  EXPECT_THAT(log_.Lines().at(1), HasSubstr("idle_ms=80"));
}

TEST_F(WatchdogTest, ProgressStartsThePeriodAnew) {
  const auto slow = NewJob();
  const auto stuck = NewJob();
  BackgroundCall moving(
      table(), Spec("trim", {"k1"}),
      [slow](OperationContext& context) -> absl::StatusOr<std::any> {
        slow->started.Open();
        slow->release.Pass();
        return std::any(context.mutating() ? 0 : 1);
      });
  slow->started.Pass();
  clock_.Advance(milliseconds(20));
  BackgroundCall progressing(
      table(), Spec("sparsify", {"k2"}),
      [stuck](OperationContext& context) -> absl::StatusOr<std::any> {
        context.Progress(1, 9);
        stuck->started.Open();
        stuck->release.Pass();
        return std::any(1);
      });
  stuck->started.Pass();
  clock_.Advance(milliseconds(20));
  ASSERT_TRUE(AwaitLines(1));  // trim only: the other one moved 20 ms ago
  EXPECT_THAT(log_.Lines().at(0), HasSubstr("verb=trim"));
  clock_.Advance(milliseconds(20));
  ASSERT_TRUE(AwaitLines(2));
  EXPECT_THAT(log_.Lines().at(1), HasSubstr("verb=sparsify"));
}

}  // namespace
}  // namespace addons::testing
