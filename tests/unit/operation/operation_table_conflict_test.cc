// Two different verbs on one key: waiting, order, superseding.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/unit/operation/table_testing.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

OperationLimits WithoutConflictWait() {
  OperationLimits limits;
  limits.conflict_wait = milliseconds(0);
  return limits;
}

OperationLimits WithLongConflictWait() {
  OperationLimits limits;
  limits.conflict_wait = hours(1);
  return limits;
}

class ConflictTest : public TableTest {
 protected:
  ConflictTest() : TableTest(WithLongConflictWait()) {}
};

TEST_F(ConflictTest, NamesWhatRunsSinceWhenAndAtWhichStep) {
  Restart(WithoutConflictWait());
  const auto job = NewJob();
  BackgroundCall first(
      table(), Spec("promote"),
      [&, job](OperationContext& context) -> absl::StatusOr<std::any> {
        context.Step("copying");
        context.Progress(12, 64);
        clock_.Advance(seconds(45));
        job->started.Open();
        job->release.Pass();
        return std::any(1);
      },
      "r7");
  job->started.Pass();
  EXPECT_THAT(Run(Spec("demote"), Returning(2)),
              StatusIs(absl::StatusCode::kAborted,
                       "Failed to demote volume 'v1': promote of volume 'v1' "
                       "has been running for 45 s, step 'copying', 12 of 64 "
                       "(request r7); repeat the call later"));
  EXPECT_EQ(table().stats().conflicts, 1U);
}

TEST_F(ConflictTest, OtherParametersAreNotJoined) {
  Restart(WithoutConflictWait());
  const auto job = NewJob();
  BackgroundCall first(table(), Spec("promote"), Blocked(job, 1));
  job->started.Pass();
  OperationSpec forced = Spec("promote");
  forced.parameters = "force";
  EXPECT_THAT(Run(forced, Returning(2)), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(ConflictTest, AnotherSetOfKeysIsNotJoined) {
  Restart(WithoutConflictWait());
  const auto job = NewJob();
  BackgroundCall first(table(), Spec("promote", {"k1", "k2"}), Blocked(job, 1));
  job->started.Pass();
  EXPECT_THAT(Run(Spec("promote", {"k1"}), Returning(2)),
              StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(Run(Spec("promote", {"k2"}), Returning(2)),
              StatusIs(absl::StatusCode::kAborted));
}

TEST_F(ConflictTest, StartsAsSoonAsTheKeysAreFree) {
  const auto job = NewJob();
  BackgroundCall first(table(), Spec("promote"), Mutating(job, 1));
  job->started.Pass();
  BackgroundCall second(table(), Spec("demote"), Returning(2));
  EXPECT_FALSE(second.returned());
  job->release.Open();
  EXPECT_EQ(second.Value(), 2);
  EXPECT_EQ(first.Value(), 1);
}

TEST_F(ConflictTest, WaitsNoLongerThanTheConflictWait) {
  OperationLimits limits;
  limits.conflict_wait = milliseconds(30);
  Restart(limits);
  const auto job = NewJob();
  BackgroundCall first(table(), Spec("promote"), Mutating(job, 1));
  job->started.Pass();
  EXPECT_THAT(Run(Spec("demote"), Returning(2)),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("promote of")));
}

TEST_F(ConflictTest, WaitsNoLongerThanTheCallersDeadline) {
  const auto job = NewJob();
  BackgroundCall first(table(), Spec("promote"), Mutating(job, 1));
  job->started.Pass();
  Caller caller;
  caller.deadline = RealIn(milliseconds(100));
  EXPECT_THAT(table().Run(Spec("demote"), caller, Returning(2)),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("promote of")));
  EXPECT_LT(std::chrono::steady_clock::now(), *caller.deadline + minutes(1));
}

TEST_F(ConflictTest, StopsWaitingWhenTheCallerHasGone) {
  const auto job = NewJob();
  BackgroundCall first(table(), Spec("promote"), Mutating(job, 1));
  job->started.Pass();
  BackgroundCall second(table(), Spec("demote"), Returning(2));
  second.HangUp();
  EXPECT_THAT(second.Result(), StatusIs(absl::StatusCode::kCancelled));
  job->release.Open();
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(table().stats().started, 1U);
}

TEST_F(ConflictTest, ACallerThatHasGoneNoLongerHoldsItsPlace) {
  const auto job = NewJob();
  BackgroundCall first(table(), Spec("promote"), Mutating(job, 1));
  job->started.Pass();
  BackgroundCall second(table(), Spec("demote"), Returning(2));
  BackgroundCall third(table(), Spec("resync"), Returning(3));
  second.HangUp();
  second.Result().IgnoreError();
  job->release.Open();
  EXPECT_EQ(third.Value(), 3);
}

TEST_F(ConflictTest, JoinsWhatAnEarlierOneStartedMeanwhile) {
  const auto job = NewJob();
  const auto successor = NewJob();
  BackgroundCall first(table(), Spec("promote"), Mutating(job, 1));
  job->started.Pass();
  BackgroundCall second(table(), Spec("demote"), Mutating(successor, 2));
  BackgroundCall third(table(), Spec("demote"), Mutating(successor, 3));
  job->release.Open();
  successor->started.Pass();
  ASSERT_TRUE(Eventually([&] { return table().stats().joined == 1; }));
  successor->release.Open();
  EXPECT_EQ(second.Value(), 2);
  EXPECT_EQ(third.Value(), 2);
  EXPECT_EQ(successor->runs, 1);
}

TEST_F(ConflictTest, ServesInOrderOfArrival) {
  const auto job = NewJob();
  BackgroundCall first(table(), Spec("promote"), Mutating(job, 1));
  job->started.Pass();
  std::vector<int> order;  // written by operations on one key: one at a time
  std::vector<std::unique_ptr<BackgroundCall>> waiting;
  for (int i = 0; i < 5; ++i) {
    waiting.push_back(std::make_unique<BackgroundCall>(
        table(), Spec("verb" + std::to_string(i)),
        [&order, i](OperationContext&) -> absl::StatusOr<std::any> {
          order.push_back(i);
          return std::any(i);
        }));
  }
  job->release.Open();
  for (const auto& call : waiting) EXPECT_OK(call->Result());
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(ConflictTest, AGroupThatMustWaitDoesNotHoldBackItsOtherMembers) {
  const auto job = NewJob();
  BackgroundCall member(table(), Spec("promote", {"k1"}), Mutating(job, 1));
  job->started.Pass();
  BackgroundCall group(table(), Spec("demote", {"k1", "k2"}), Returning(2));
  EXPECT_OK(Run(Spec("resync", {"k2"}), Returning(3)));
  job->release.Open();
  EXPECT_EQ(group.Value(), 2);
}

TEST_F(ConflictTest, AGroupComesBeforeALaterCallForOneOfItsMembers) {
  const auto job = NewJob();
  std::vector<std::string> order;
  const auto note = [&order](const std::string& what) -> OperationWork {
    return [&order, what](OperationContext&) -> absl::StatusOr<std::any> {
      order.push_back(what);
      return std::any(0);
    };
  };
  BackgroundCall member(table(), Spec("promote", {"k1"}), Mutating(job, 1));
  job->started.Pass();
  BackgroundCall group(table(), Spec("demote", {"k1", "k2"}), note("group"));
  BackgroundCall later(table(), Spec("resync", {"k1"}), note("later"));
  job->release.Open();
  EXPECT_OK(group.Result());
  EXPECT_OK(later.Result());
  EXPECT_THAT(order, ElementsAre("group", "later"));
}

TEST_F(ConflictTest, AGroupHoldsTheKeysOfAllItsMembers) {
  Restart(WithoutConflictWait());
  const auto job = NewJob();
  BackgroundCall group(table(), Spec("demote", {"g", "k1", "k2"}),
                       Mutating(job, 1));
  job->started.Pass();
  for (const std::string key : {"g", "k1", "k2"}) {
    EXPECT_THAT(Run(Spec("trim", {key}), Returning(2)),
                StatusIs(absl::StatusCode::kAborted))
        << key;
  }
  job->release.Open();
  EXPECT_OK(group.Result());
  EXPECT_OK(Run(Spec("trim", {"k2"}), Returning(2)));
}

TEST_F(ConflictTest, SupersedesWhatOnlyWaits) {
  const auto job = NewJob();
  const auto seen = std::make_shared<absl::Status>();
  BackgroundCall waiting(table(), Spec("promote"), Waiting(job, seen));
  job->started.Pass();
  BackgroundCall demote(table(), Superseding(Spec("demote")), Returning(2),
                        "r2");
  const std::string text =
      "promote of volume 'v1' was superseded by demote (request r2)";
  EXPECT_THAT(waiting.Result(), StatusIs(absl::StatusCode::kAborted, text));
  EXPECT_EQ(demote.Value(), 2);
  EXPECT_THAT(*seen, StatusIs(absl::StatusCode::kAborted, text));
  EXPECT_EQ(table().stats().superseded, 1U);
}

TEST_F(ConflictTest, EndsNothingForAUserWhoIsNotLetIn) {
  for (const bool yielding : {false, true}) {
    const auto job = NewJob();
    const OperationSpec held =
        yielding ? Yielding(Spec("trim")) : Spec("promote");
    BackgroundCall running(table(), held,
                           yielding ? MutatingUntilStopped(job) : Waiting(job));
    job->started.Pass();
    OperationSpec demote = Superseding(Spec("demote"));
    demote.prove = [](OperationContext&) {
      return absl::UnauthenticatedError("wrong key");
    };
    EXPECT_THAT(Run(demote, Returning(2)),
                StatusIs(absl::StatusCode::kUnauthenticated));
    ASSERT_THAT(table().List(), SizeIs(1));
    EXPECT_FALSE(table().List().at(0).stopping);
    EXPECT_FALSE(running.returned());
    EXPECT_EQ(table().stats().superseded, yielding ? 1U : 0U);

    demote.prove = [](OperationContext&) { return absl::OkStatus(); };
    EXPECT_OK(Run(demote, Returning(2)));
    EXPECT_THAT(running.Result(), StatusIs(absl::StatusCode::kAborted));
  }
}

TEST_F(ConflictTest, AProofThatHangsEndsNothingEither) {
  const auto job = NewJob();
  BackgroundCall running(table(), Spec("promote"), Waiting(job));
  job->started.Pass();
  const auto hanging = NewJob();
  OperationSpec demote = Superseding(Spec("demote"));
  demote.prove = [hanging](OperationContext&) {
    hanging->release.Pass();
    return absl::OkStatus();
  };
  Caller caller;
  caller.deadline = RealIn(kShortDeadline);
  EXPECT_THAT(table().Run(demote, caller, Returning(2)),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("the cluster has answered")));
  EXPECT_FALSE(running.returned());
  EXPECT_EQ(table().stats().superseded, 0U);
}

TEST_F(ConflictTest, NobodyStandsInLineBehindAProof) {
  const auto job = NewJob();
  BackgroundCall running(table(), Spec("promote"), Blocked(job, 1));
  job->started.Pass();
  const auto hanging = NewJob();
  OperationSpec demote = Superseding(Spec("demote"));
  demote.prove = [hanging](OperationContext&) {
    hanging->started.Open();
    hanging->release.Pass();
    return absl::UnauthenticatedError("wrong key");
  };
  BackgroundCall refused(table(), demote, Returning(2));
  hanging->started.Pass();
  job->release.Open();
  EXPECT_EQ(running.Value(), 1);
  EXPECT_OK(Run(Spec("enable"), Returning(3)));
  EXPECT_FALSE(refused.returned());
  hanging->release.Open();
  EXPECT_THAT(refused.Result(), StatusIs(absl::StatusCode::kUnauthenticated));
}

TEST_F(ConflictTest, AsksForNoProofWhereNothingIsEnded) {
  int asked = 0;
  OperationSpec demote = Superseding(Spec("demote"));
  demote.prove = [&asked](OperationContext&) {
    ++asked;
    return absl::UnauthenticatedError("wrong key");
  };
  EXPECT_OK(Run(demote, Returning(1)));
  const auto job = NewJob();
  BackgroundCall mutating(table(), Spec("promote"), Mutating(job, 1));
  job->started.Pass();
  BackgroundCall waiting(table(), demote, Returning(2));
  job->release.Open();
  EXPECT_EQ(waiting.Value(), 2);
  EXPECT_EQ(asked, 0);
}

TEST_F(ConflictTest, TheSupersededCallerDoesNotWaitForItsOperation) {
  const auto job = NewJob();
  BackgroundCall looking(table(), Spec("promote"), Blocked(job, 1));
  job->started.Pass();
  BackgroundCall demote(table(), Superseding(Spec("demote")), Returning(2));
  EXPECT_THAT(looking.Result(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_FALSE(demote.returned());  // the key is not free yet
  job->release.Open();
  EXPECT_EQ(demote.Value(), 2);
}

TEST_F(ConflictTest, SaysThatWhatRunsWasAskedToStop) {
  Restart(WithoutConflictWait());
  const auto job = NewJob();
  BackgroundCall looking(table(), Spec("promote"), Blocked(job, 1));
  job->started.Pass();
  EXPECT_THAT(Run(Superseding(Spec("demote")), Returning(2)),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("asked to stop")));
}

TEST_F(ConflictTest, TheSupersededOperationMayNotBeginToMutate) {
  const auto job = NewJob();
  const auto begun = std::make_shared<absl::Status>();
  BackgroundCall looking(
      table(), Spec("promote"),
      [job, begun](OperationContext& context) -> absl::StatusOr<std::any> {
        job->started.Open();
        job->release.Pass();
        *begun = context.BeginMutation();
        return *begun;
      });
  job->started.Pass();
  BackgroundCall demote(table(), Superseding(Spec("demote")), Returning(2));
  looking.Result().IgnoreError();
  job->release.Open();
  EXPECT_EQ(demote.Value(), 2);
  EXPECT_THAT(*begun, StatusIs(absl::StatusCode::kAborted));
}

TEST_F(ConflictTest, AMutationIsNotSuperseded) {
  const auto job = NewJob();
  BackgroundCall promote(table(), Spec("promote"), Mutating(job, 1));
  job->started.Pass();
  BackgroundCall demote(table(), Superseding(Spec("demote")), Returning(2));
  EXPECT_FALSE(promote.returned());
  job->release.Open();
  EXPECT_EQ(promote.Value(), 1);
  EXPECT_EQ(demote.Value(), 2);
  EXPECT_EQ(table().stats().superseded, 0U);
}

TEST_F(ConflictTest, OnlyAVerbThatSupersedesEndsAnother) {
  Restart(WithoutConflictWait());
  const auto job = NewJob();
  BackgroundCall promote(table(), Spec("promote"), Blocked(job, 1));
  job->started.Pass();
  EXPECT_THAT(Run(Spec("enable"), Returning(2)),
              StatusIs(absl::StatusCode::kAborted, Not(HasSubstr("stop"))));
  job->release.Open();
  EXPECT_EQ(promote.Value(), 1);
}

TEST_F(ConflictTest, WhatYieldsEndsForAnyOtherVerbAlsoWhileItMutates) {
  const auto job = NewJob();
  BackgroundCall bulk(table(), Yielding(Spec("sparsify")),
                      MutatingUntilStopped(job));
  job->started.Pass();
  const auto result = Run(Spec("promote"), Returning(2));
  ASSERT_OK(result);
  EXPECT_EQ(std::any_cast<int>(*result), 2);
  EXPECT_THAT(bulk.Result(), StatusIs(absl::StatusCode::kAborted,
                                      HasSubstr("superseded by promote")));
}

TEST_F(ConflictTest, WhatYieldsNeitherEndsWhatMutatesNorItsLike) {
  Restart(WithoutConflictWait());
  const auto promotion = NewJob();
  BackgroundCall promote(table(), Spec("promote"), Mutating(promotion, 1));
  promotion->started.Pass();
  EXPECT_THAT(Run(Yielding(Spec("sparsify")), Returning(2)),
              StatusIs(absl::StatusCode::kAborted));
  const auto trimming = NewJob();
  BackgroundCall trim(table(), Yielding(Spec("trim", {"k2"})),
                      Mutating(trimming, 3));
  trimming->started.Pass();
  EXPECT_THAT(Run(Yielding(Spec("sparsify", {"k2"})), Returning(4)),
              StatusIs(absl::StatusCode::kAborted));
  promotion->release.Open();
  trimming->release.Open();
  EXPECT_EQ(promote.Value(), 1);
  EXPECT_EQ(trim.Value(), 3);
}

TEST_F(ConflictTest, TheSameVerbJoinsInsteadOfSuperseding) {
  const auto job = NewJob();
  BackgroundCall first(table(), Superseding(Spec("demote")), Blocked(job, 1));
  job->started.Pass();
  BackgroundCall second(table(), Superseding(Spec("demote")), Returning(2));
  ASSERT_TRUE(Eventually([&] { return table().stats().joined == 1; }));
  job->release.Open();
  EXPECT_EQ(first.Value(), 1);
  EXPECT_EQ(second.Value(), 1);
}

TEST_F(ConflictTest, OtherParametersOfTheSameVerbAreSuperseded) {
  const auto job = NewJob();
  BackgroundCall plain(table(), Spec("promote"), Waiting(job));
  job->started.Pass();
  OperationSpec forced = Superseding(Spec("promote"));
  forced.parameters = "force";
  EXPECT_OK(Run(forced, Returning(2)));
  EXPECT_THAT(plain.Result(), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(ConflictTest, AGroupSupersedesAllOfItsMembersOperationsOrNone) {
  const auto waits = NewJob();
  const auto mutates = NewJob();
  BackgroundCall first(table(), Spec("promote", {"k1"}), Waiting(waits));
  waits->started.Pass();
  BackgroundCall second(table(), Spec("promote", {"k2"}), Mutating(mutates, 2));
  mutates->started.Pass();
  BackgroundCall group(table(), Superseding(Spec("demote", {"k1", "k2"})),
                       Returning(3));
  EXPECT_FALSE(first.returned());
  mutates->release.Open();
  EXPECT_EQ(second.Value(), 2);
  EXPECT_THAT(first.Result(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(group.Value(), 3);
}

TEST_F(ConflictTest, AQueuedOperationIsSupersededWithoutRunning) {
  OperationLimits limits = WithLongConflictWait();
  limits.control = {1, 1, 8};
  Restart(limits);
  const auto busy = NewJob();
  const auto queued = NewJob();
  BackgroundCall other(table(), Spec("promote", {"other"}), Blocked(busy, 1));
  busy->started.Pass();
  BackgroundCall promote(table(), Spec("promote"), Waiting(queued));
  ASSERT_TRUE(Eventually([&] { return table().List().size() == 2; }));
  BackgroundCall demote(table(), Superseding(Spec("demote")), Returning(3));
  EXPECT_THAT(promote.Result(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("superseded")));
  busy->release.Open();
  EXPECT_EQ(demote.Value(), 3);
  EXPECT_EQ(queued->runs, 0);
}

// Whoever is first under the lock wins: never both, never neither.
TEST_F(ConflictTest, EitherTheMutationBeginsOrItIsSuperseded) {
  for (int i = 0; i < 300; ++i) {
    const auto ready = std::make_shared<Gate>();
    const auto mutated = std::make_shared<std::atomic<bool>>(false);
    BackgroundCall promote(
        table(), Spec("promote"),
        [=](OperationContext& context) -> absl::StatusOr<std::any> {
          ready->Open();
          const absl::Status begun = context.BeginMutation();
          if (!begun.ok()) return begun;
          *mutated = true;
          return std::any(1);
        });
    ready->Pass();
    const absl::StatusOr<std::any> demote =
        Run(Superseding(Spec("demote")), Returning(2));
    ASSERT_OK(demote);
    const bool superseded = !promote.Result().ok();
    ASSERT_NE(*mutated, superseded);
  }
}

}  // namespace
}  // namespace addons::testing
