#include "replication/look/manager_presence.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/gate.h"
#include "tests/testing/manual_clock.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kCounts = ManagerPresence::kCounts;
// A primary is HEALTHY for so much longer than its manager lives.
static_assert(kCounts <= seconds(10));

/// Tells how often it was asked for the time: who asks a ManagerPresence does
/// so once with its lock held, before it waits.
class CountingClock final : public Clock {
 public:
  SteadyTime Now() const override {
    ++asked_;
    return clock_.Now();
  }
  WallTime WallNow() const override { return clock_.WallNow(); }
  bool SleepUntil(SteadyTime time, std::stop_token stop) override {
    return clock_.SleepUntil(time, std::move(stop));
  }
  void Advance(SteadyDuration duration) { clock_.Advance(duration); }
  void AwaitAsked(int times) const {
    while (asked_ < times) std::this_thread::yield();
  }

 private:
  ManualClock clock_;
  mutable std::atomic<int> asked_{0};
};

class ManagerPresenceTest : public ::testing::Test {
 protected:
  /// A call; the manager answers what `answer` does.
  absl::Status Ask(const std::function<absl::Status()>& answer = absl::OkStatus,
                   const ManagerPresence::Asker& asker = {"fsid", "user"}) {
    return presence_.Ask(asker, deadline_, [&] {
      ++asked_;
      return answer();
    });
  }
  /// A call on a thread of its own, whose question is held at the gate, and
  /// `more` calls that come meanwhile.
  void AskBehindTheGate(const std::function<absl::Status()>& answer, int more,
                        std::vector<absl::Status>* answers) {
    answers->assign(more + 1, absl::UnknownError("not answered"));
    threads_.emplace_back([this, answer, answers] {
      (*answers)[0] = Ask([&] {
        gate_.Pass();
        return answer();
      });
    });
    gate_.AwaitArrivals(1);
    // The first one has asked for the time to join, and when it asked.
    clock_.AwaitAsked(2);
    for (int i = 1; i <= more; ++i) {
      threads_.emplace_back([this, i, answers] { (*answers)[i] = Ask(); });
    }
    clock_.AwaitAsked(2 + more);
  }
  void Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  CountingClock clock_;
  ManagerPresence presence_{clock_};
  SteadyTime deadline_ = RealClock().Now() + seconds(60);
  std::atomic<int> asked_{0};
  Gate gate_;
  std::vector<std::thread> threads_;
};

TEST_F(ManagerPresenceTest, AnAnswerCountsForAllWhoAskWithinItsTime) {
  for (int i = 0; i < 50; ++i) EXPECT_OK(Ask());
  clock_.Advance(kCounts - milliseconds(1));
  EXPECT_OK(Ask());
  EXPECT_EQ(asked_, 1);
  clock_.Advance(milliseconds(1));
  EXPECT_OK(Ask());
  EXPECT_EQ(asked_, 2);
}

TEST_F(ManagerPresenceTest, ItsTimeCountsFromTheQuestion) {
  EXPECT_OK(Ask([&] {
    clock_.Advance(kCounts - seconds(1));
    return absl::OkStatus();
  }));
  clock_.Advance(seconds(1));
  EXPECT_OK(Ask());
  EXPECT_EQ(asked_, 2);
}

TEST_F(ManagerPresenceTest, AManagerThatWentAwayIsSeenWhenTheTimeIsOver) {
  EXPECT_OK(Ask());
  const auto away = [] { return absl::UnavailableError("it is away"); };
  clock_.Advance(kCounts - milliseconds(1));
  EXPECT_OK(Ask(away));
  clock_.Advance(milliseconds(1));
  EXPECT_THAT(Ask(away), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ManagerPresenceTest, AnErrorIsNotKept) {
  EXPECT_THAT(Ask([] { return absl::PermissionDeniedError("not you"); }),
              StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_OK(Ask());
  EXPECT_EQ(asked_, 2);
}

TEST_F(ManagerPresenceTest, ClustersAndUsersAreAskedForApart) {
  EXPECT_OK(Ask());
  EXPECT_OK(Ask(absl::OkStatus, {"fsid", "other"}));
  EXPECT_OK(Ask(absl::OkStatus, {"other", "user"}));
  EXPECT_EQ(asked_, 3);
}

TEST_F(ManagerPresenceTest, WhoComesMeanwhileHasTheSameAnswer) {
  std::vector<absl::Status> answers;
  AskBehindTheGate(absl::OkStatus, 7, &answers);
  gate_.Open();
  Join();
  for (const absl::Status& answer : answers) EXPECT_OK(answer);
  EXPECT_EQ(asked_, 1);
}

TEST_F(ManagerPresenceTest, AnErrorGoesToAllWhoWaitForIt) {
  std::vector<absl::Status> answers;
  AskBehindTheGate([] { return absl::InternalError("broken"); }, 7, &answers);
  gate_.Open();
  Join();
  for (const absl::Status& answer : answers) {
    EXPECT_THAT(answer, StatusIs(absl::StatusCode::kInternal));
  }
  EXPECT_EQ(asked_, 1);
}

TEST_F(ManagerPresenceTest, WhoWaitsIsAnsweredAtItsDeadline) {
  std::vector<absl::Status> answers;
  AskBehindTheGate(absl::OkStatus, 0, &answers);
  deadline_ = RealClock().Now() + milliseconds(20);
  EXPECT_THAT(Ask(), StatusIs(absl::StatusCode::kUnavailable));
  gate_.Open();
  Join();
  EXPECT_EQ(asked_, 1);
}

TEST_F(ManagerPresenceTest, WhatSomebodyElseWasAnsweredCounts) {
  std::vector<absl::Status> answers;
  AskBehindTheGate(absl::OkStatus, 1, &answers);
  presence_.NoteAnswer({"fsid", "user"}, clock_.Now());
  threads_.back().join();
  threads_.pop_back();
  EXPECT_OK(answers[1]);
  gate_.Open();
  Join();
  EXPECT_EQ(asked_, 1);
}

TEST_F(ManagerPresenceTest, AnOlderAnswerMakesNoneOlder) {
  clock_.Advance(kCounts);
  EXPECT_OK(Ask());
  presence_.NoteAnswer({"fsid", "user"}, clock_.Now() - kCounts);
  EXPECT_OK(Ask());
  EXPECT_EQ(asked_, 1);
}

TEST_F(ManagerPresenceTest, AnAnswerToAQuestionFromLongBeforeIsNone) {
  std::vector<absl::Status> answers;
  AskBehindTheGate(absl::OkStatus, 0, &answers);
  clock_.Advance(kCounts);
  absl::Status later;
  threads_.emplace_back([&] { later = Ask(); });
  clock_.AwaitAsked(3);
  gate_.Open();
  Join();
  EXPECT_OK(later);
  EXPECT_EQ(asked_, 2);
}

TEST_F(ManagerPresenceTest, AnotherOneAsksWhereAQuestionWasNotPut) {
  std::thread crashing([this] {
    EXPECT_THROW((void)Ask([&]() -> absl::Status {
                   gate_.Pass();
                   throw std::runtime_error("out of memory");
                 }),
                 std::runtime_error);
  });
  gate_.AwaitArrivals(1);
  threads_.emplace_back([this] { EXPECT_OK(Ask()); });
  clock_.AwaitAsked(3);
  gate_.Open();
  crashing.join();
  Join();
  EXPECT_EQ(asked_, 2);
}

TEST_F(ManagerPresenceTest, KeepsABoundedNumberOfAnswers) {
  const auto user = [](size_t i) {
    return ManagerPresence::Asker{"fsid", absl::StrCat("user-", i)};
  };
  for (size_t i = 0; i < ManagerPresence::kMostKept; ++i) {
    EXPECT_OK(Ask(absl::OkStatus, user(i)));
  }
  asked_ = 0;
  // There is no room for another one, which asks each time.
  const auto one_more = user(ManagerPresence::kMostKept);
  presence_.NoteAnswer(one_more, clock_.Now());
  EXPECT_OK(Ask(absl::OkStatus, one_more));
  EXPECT_OK(Ask(absl::OkStatus, one_more));
  EXPECT_EQ(asked_, 2);
  clock_.Advance(kCounts);
  EXPECT_OK(Ask(absl::OkStatus, one_more));
  EXPECT_OK(Ask(absl::OkStatus, one_more));
  EXPECT_EQ(asked_, 3);
}

}  // namespace
}  // namespace addons::testing
