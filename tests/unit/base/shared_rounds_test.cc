#include "base/shared_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

namespace addons {
namespace {

using ::testing::Each;
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

TEST(SharedRoundsTest, ThoseWhoComeWhileARoundRunsShareTheNext) {
  constexpr int kLate = 20;
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
  for (int i = 0; i < kLate; ++i) {
    others.push_back(std::async(std::launch::async, [&] {
      ++late;
      return rounds.Get([&] { return ++asked; });
    }));
  }
  while (late < kLate) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  gate.Open();
  EXPECT_EQ(first.get(), 1);
  // Nobody has the answer of the round that ran when he came. All of them wait
  // by now, unless the machine is slow: then there may be a round more.
  std::vector<int> answers;
  answers.reserve(kLate);
  for (auto& other : others) answers.push_back(other.get());
  EXPECT_THAT(answers, Each(::testing::Ge(2)));
  EXPECT_THAT(answers, Each(Le(4)));
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
