#include "ceph/librados/abandonable_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;

constexpr auto kLate = absl::StatusCode::kDeadlineExceeded;

SteadyTime Now() { return std::chrono::steady_clock::now(); }
SteadyTime Soon() { return Now() + std::chrono::seconds(30); }

TEST(AbandonableCallsTest, WaitsForACallThatEnds) {
  AbandonableCalls calls;
  bool called = false;
  EXPECT_OK(calls.Run(
      nullptr, [&] { called = true; }, Soon()));
  EXPECT_TRUE(called);
}

TEST(AbandonableCallsTest, RunsOneCallAfterTheOther) {
  AbandonableCalls calls;
  int count = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK(calls.Run(
        nullptr, [&] { ++count; }, Soon()));
  }
  EXPECT_EQ(count, 20);
}

// A key may have four calls: five failures must not use them up.
TEST(AbandonableCallsTest, AThreadThatCannotBeMadeCostsOneCallOnly) {
  int failures = 5;
  AbandonableCalls calls(
      [&](const std::string& name,
          std::function<void()> run) -> std::optional<std::jthread> {
        if (failures-- > 0) {
          return std::nullopt;
        }
        return StartThread(name, std::move(run));
      });
  bool called = false;
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(calls.Run(
                    nullptr, [&] { called = true; }, Soon()),
                StatusIs(absl::StatusCode::kUnavailable));
    EXPECT_FALSE(called);
  }
  EXPECT_OK(calls.Run(
      nullptr, [&] { called = true; }, Soon()));
  EXPECT_TRUE(called);
}

TEST(AbandonableCallsTest, AnExceptionGoesOnInTheCaller) {
  AbandonableCalls calls;
  EXPECT_THROW(calls
                   .Run(
                       nullptr, [] { throw std::runtime_error("no"); }, Soon())
                   .IgnoreError(),
               std::runtime_error);
  EXPECT_OK(calls.Run(
      nullptr, [] {}, Soon()));
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
      EXPECT_THAT(calls_->Run(key, Hang(), Now()), StatusIs(kLate));
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
  EXPECT_THAT(calls_->Run(&key_, Hang(), Now()), StatusIs(kLate));
  EXPECT_EQ(ended_, 0U);
  release_.set_value();
  calls_.reset();  // waits
  EXPECT_EQ(ended_, 1U);
}

TEST_F(HungCallsTest, BeginsNoMoreThanAKeyMayHave) {
  Fill(&key_);
  bool called = false;
  EXPECT_THAT(calls_->Run(
                  &key_, [&] { called = true; }, Now()),
              StatusIs(kLate));
  release_.set_value();
  calls_.reset();
  EXPECT_FALSE(called);
  EXPECT_EQ(begun_, AbandonableCalls::kMaxPerKey);
}

TEST_F(HungCallsTest, DoesNotHoldUpOtherKeys) {
  Fill(&key_);
  EXPECT_OK(calls_->Run(
      &other_key_, [] {}, Soon()));
  release_.set_value();
}

TEST_F(HungCallsTest, BeginsACallAsSoonAsThereIsRoom) {
  Fill(&key_);
  bool called = false;
  absl::Status ended;
  std::jthread waiter([&] {
    ended = calls_->Run(
        &key_, [&] { called = true; }, Soon());
  });
  release_.set_value();
  waiter.join();
  EXPECT_OK(ended);
  EXPECT_TRUE(called);
}

}  // namespace
}  // namespace addons
