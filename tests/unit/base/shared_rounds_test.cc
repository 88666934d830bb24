#include "base/shared_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

namespace addons {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::Le;

/// A question that is held up until the test lets it go on.
class Gate {
 public:
  void Open() { open_.set_value(); }
  void Pass() { opened_.wait(); }

 private:
  std::promise<void> open_;
  std::shared_future<void> opened_ = open_.get_future().share();
};

TEST(SharedRoundsTest, OneCallerAloneAsksEachTime) {
  SharedRounds<int> rounds;
  int asked = 0;
  EXPECT_EQ(rounds.Get([&] { return ++asked; }), 1);
  EXPECT_EQ(rounds.Get([&] { return ++asked; }), 2);
}

/// What `callers` are told who come while a round runs, which goes on for
/// `hold` after the last of them was about to ask. That round told 1.
std::vector<int> AnswersOfTheLate(int callers, std::chrono::milliseconds hold) {
  SharedRounds<int> rounds;
  Gate gate;
  std::promise<void> begun;
  std::atomic<int> asked = 0;
  auto first = std::async(std::launch::async, [&] {
    return rounds.Get([&] {
      begun.set_value();
      gate.Pass();
      return ++asked;
    });
  });
  begun.get_future().wait();
  std::atomic<int> late = 0;
  std::vector<std::future<int>> others;
  for (int i = 0; i < callers; ++i) {
    others.push_back(std::async(std::launch::async, [&] {
      ++late;
      return rounds.Get([&] { return ++asked; });
    }));
  }
  while (late < callers) std::this_thread::yield();
  std::this_thread::sleep_for(hold);
  gate.Open();
  EXPECT_EQ(first.get(), 1);
  std::vector<int> answers;
  answers.reserve(others.size());
  for (auto& other : others) answers.push_back(other.get());
  return answers;
}

TEST(SharedRoundsTest, ThoseWhoComeWhileARoundRunsShareTheNext) {
  // A caller that was about to ask may be kept from it by a busy machine. It
  // then has a round of its own: the first round is held longer the next time.
  std::vector<int> answers;
  for (std::chrono::milliseconds hold(5); hold < std::chrono::minutes(1);
       hold *= 2) {
    answers = AnswersOfTheLate(20, hold);
    // Nobody has the answer of the round that ran when he came.
    ASSERT_THAT(answers, Each(Ge(2)));
    if (std::ranges::all_of(answers, [](int told) { return told == 2; })) break;
  }
  EXPECT_THAT(answers, Each(2));
}

TEST(SharedRoundsTest, NobodyGetsWhatWasTrueBeforeHeAsked) {
  constexpr int kThreads = 8;
  constexpr int kTimes = 200;
  SharedRounds<int> rounds;
  std::atomic<int> truth = 0;
  std::atomic<int> stale = 0;
  std::atomic<int> asked = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kTimes; ++k) {
        const int mine = ++truth;
        const int seen = rounds.Get([&] {
          ++asked;
          return truth.load();
        });
        if (seen < mine) ++stale;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stale, 0);
  EXPECT_THAT(asked.load(), Le(kThreads * kTimes));
}

TEST(SharedRoundsTest, AnExceptionGoesToTheOneWhoAskedAndTheOthersAskAgain) {
  SharedRounds<int> rounds;
  Gate gate;
  std::promise<void> begun;
  auto first = std::async(std::launch::async, [&]() -> int {
    return rounds.Get([&]() -> int {
      begun.set_value();
      gate.Pass();
      throw std::runtime_error("no memory");
    });
  });
  begun.get_future().wait();
  auto second = std::async(std::launch::async,
                           [&] { return rounds.Get([] { return 7; }); });
  gate.Open();
  EXPECT_THROW(first.get(), std::runtime_error);
  EXPECT_EQ(second.get(), 7);
  EXPECT_THROW(
      rounds.Get([]() -> int { throw std::runtime_error("no memory"); }),
      std::runtime_error);
  EXPECT_EQ(rounds.Get([] { return 8; }), 8);
}

}  // namespace
}  // namespace addons
