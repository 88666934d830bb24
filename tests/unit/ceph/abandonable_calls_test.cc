#include "ceph/librados/abandonable_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

namespace addons {
namespace {

SteadyTime Now() { return std::chrono::steady_clock::now(); }
SteadyTime Soon() { return Now() + std::chrono::seconds(30); }

TEST(AbandonableCallsTest, WaitsForACallThatEnds) {
  AbandonableCalls calls;
  bool called = false;
  EXPECT_TRUE(calls.Run(
      nullptr, [&] { called = true; }, Soon()));
  EXPECT_TRUE(called);
}

TEST(AbandonableCallsTest, RunsOneCallAfterTheOther) {
  AbandonableCalls calls;
  int count = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(calls.Run(
        nullptr, [&] { ++count; }, Soon()));
  }
  EXPECT_EQ(count, 20);
}

// Calls that hang until the test lets them go.
class HungCallsTest : public ::testing::Test {
 protected:
  std::function<void()> Hang() {
    return [this] {
      ++begun_;
      released_.wait();
      ++ended_;
    };
  }
  /// Fills `key` with as many hung calls as it may have.
  void Fill(const void* key) {
    for (size_t i = 0; i < AbandonableCalls::kMaxPerKey; ++i) {
      EXPECT_FALSE(calls_->Run(key, Hang(), Now()));
    }
  }

  const int key_ = 0;
  const int other_key_ = 0;
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
  std::atomic<size_t> begun_ = 0;
  std::atomic<size_t> ended_ = 0;
  std::unique_ptr<AbandonableCalls> calls_ =
      std::make_unique<AbandonableCalls>();
};

TEST_F(HungCallsTest, GoesAwayWhenTheTimeIsOverAndTheCallGoesOn) {
  EXPECT_FALSE(calls_->Run(&key_, Hang(), Now()));
  EXPECT_EQ(ended_, 0U);
  release_.set_value();
  calls_.reset();  // waits
  EXPECT_EQ(ended_, 1U);
}

TEST_F(HungCallsTest, BeginsNoMoreThanAKeyMayHave) {
  Fill(&key_);
  bool called = false;
  EXPECT_FALSE(calls_->Run(
      &key_, [&] { called = true; }, Now()));
  release_.set_value();
  calls_.reset();
  EXPECT_FALSE(called);
  EXPECT_EQ(begun_, AbandonableCalls::kMaxPerKey);
}

TEST_F(HungCallsTest, DoesNotHoldUpOtherKeys) {
  Fill(&key_);
  EXPECT_TRUE(calls_->Run(
      &other_key_, [] {}, Soon()));
  release_.set_value();
}

TEST_F(HungCallsTest, BeginsACallAsSoonAsThereIsRoom) {
  Fill(&key_);
  bool called = false;
  bool ended = false;
  std::jthread waiter([&] {
    ended = calls_->Run(
        &key_, [&] { called = true; }, Soon());
  });
  release_.set_value();
  waiter.join();
  EXPECT_TRUE(ended);
  EXPECT_TRUE(called);
}

}  // namespace
}  // namespace addons
