#include "ceph/librados/shared_slot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <new>
#include <thread>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using Slot = SharedSlot<int>;

constexpr auto kAlways = [](const int&) { return true; };
constexpr auto kNever = [](const int&) { return false; };

SteadyTime Later() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(30);
}

TEST(SharedSlotTest, MakesTheObjectOnce) {
  Slot slot;
  int made = 0;
  const auto make = [&]() -> Slot::Result {
    return std::make_shared<int>(++made);
  };
  const auto first = slot.Get(kAlways, make, Later());
  const auto second = slot.Get(kAlways, make, Later());
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(made, 1);
}

TEST(SharedSlotTest, ReplacesAnObjectThatIsNoLongerUsable) {
  Slot slot;
  int made = 0;
  const auto make = [&]() -> Slot::Result {
    return std::make_shared<int>(++made);
  };
  ASSERT_OK(slot.Get(kAlways, make, Later()));
  const auto replaced = slot.Get(kNever, make, Later());
  ASSERT_OK(replaced);
  EXPECT_EQ(**replaced, 2);
}

TEST(SharedSlotTest, LetsGoOfTheOldObjectEvenWhenNoNewOneIsMade) {
  Slot slot;
  ASSERT_OK(slot.Get(
      kAlways, []() -> Slot::Result { return std::make_shared<int>(1); },
      Later()));
  EXPECT_THAT(
      slot.Get(
          kNever, []() -> Slot::Result { return absl::UnavailableError("no"); },
          Later()),
      StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(slot.Peek(), nullptr);
}

TEST(SharedSlotTest, DoesNotRememberAFailure) {
  Slot slot;
  ASSERT_THAT(slot.Get(
                  kAlways,
                  []() -> Slot::Result { return absl::UnavailableError("no"); },
                  Later()),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_OK(slot.Get(
      kAlways, []() -> Slot::Result { return std::make_shared<int>(1); },
      Later()));
}

TEST(SharedSlotTest, AnExceptionIsNotRememberedEither) {
  Slot slot;
  EXPECT_THROW(
      slot.Get(
              kAlways, []() -> Slot::Result { throw std::bad_alloc(); },
              Later())
          .IgnoreError(),
      std::bad_alloc);
  EXPECT_TRUE(slot.Idle());
  EXPECT_OK(slot.Get(
      kAlways, []() -> Slot::Result { return std::make_shared<int>(1); },
      Later()));
}

// One caller makes the object while the others wait: `entered` says that the
// first is inside make(), `release` lets it go on.
class SharedSlotFlightTest : public ::testing::Test {
 protected:
  Slot::Result GetSlowly(Slot::Result result) {
    return slot_.Get(
        kAlways,
        [&]() -> Slot::Result {
          ++made_;
          entered_.set_value();
          release_.get_future().wait();
          return result;
        },
        Later());
  }
  Slot::Result GetQuickly(SteadyTime until) {
    return slot_.Get(
        kAlways,
        [&]() -> Slot::Result {
          ++made_;
          return std::make_shared<int>(99);
        },
        until);
  }

  Slot slot_;
  std::atomic<int> made_ = 0;
  std::promise<void> entered_;
  std::promise<void> release_;
};

TEST_F(SharedSlotFlightTest, MakesOneObjectForAllWhoAskMeanwhile) {
  Slot::Result first = absl::UnknownError("not run");
  std::jthread maker([&] { first = GetSlowly(std::make_shared<int>(7)); });
  entered_.get_future().wait();
  std::vector<Slot::Result> others(4, absl::UnknownError("not run"));
  std::vector<std::jthread> waiters;
  for (Slot::Result& other : others) {
    waiters.emplace_back([&] { other = GetQuickly(Later()); });
  }
  release_.set_value();
  waiters.clear();
  maker.join();
  ASSERT_OK(first);
  EXPECT_EQ(**first, 7);
  for (const Slot::Result& other : others) {
    ASSERT_OK(other);
    EXPECT_EQ(*other, *first);
  }
  EXPECT_EQ(made_, 1);
}

// A waiter that comes late makes an object of its own; the others share the
// failure without having tried.
TEST_F(SharedSlotFlightTest, GivesAFailureToAllWhoWaited) {
  Slot::Result first = absl::UnknownError("not run");
  std::jthread maker([&] { first = GetSlowly(absl::UnavailableError("no")); });
  entered_.get_future().wait();
  std::vector<Slot::Result> others(4, absl::UnknownError("not run"));
  std::vector<std::jthread> waiters;
  for (Slot::Result& other : others) {
    waiters.emplace_back([&] { other = GetQuickly(Later()); });
  }
  release_.set_value();
  waiters.clear();
  maker.join();
  EXPECT_THAT(first, StatusIs(absl::StatusCode::kUnavailable));
  bool any_made = false;
  for (const Slot::Result& other : others) {
    if (other.ok()) {
      any_made = true;
    } else {
      EXPECT_THAT(other, StatusIs(absl::StatusCode::kUnavailable));
    }
  }
  EXPECT_EQ(made_, any_made ? 2 : 1);
}

TEST_F(SharedSlotFlightTest, AnExceptionIsAFailureForThoseWhoWaited) {
  std::jthread maker([&] {
    EXPECT_THROW(slot_
                     .Get(
                         kAlways,
                         [&]() -> Slot::Result {
                           entered_.set_value();
                           release_.get_future().wait();
                           throw std::bad_alloc();
                         },
                         Later())
                     .IgnoreError(),
                 std::bad_alloc);
  });
  entered_.get_future().wait();
  Slot::Result other = absl::UnknownError("not run");
  std::jthread waiter([&] { other = GetQuickly(Later()); });
  release_.set_value();
  maker.join();
  waiter.join();
  // One that came late has made an object of its own.
  if (made_ == 0) {
    EXPECT_THAT(other, StatusIs(absl::StatusCode::kUnavailable));
  } else {
    EXPECT_OK(other);
  }
}

TEST_F(SharedSlotFlightTest, StopsWaitingWhenTheTimeIsOver) {
  std::jthread maker(
      [&] { GetSlowly(std::make_shared<int>(7)).IgnoreError(); });
  entered_.get_future().wait();
  EXPECT_THAT(GetQuickly(std::chrono::steady_clock::now()),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(made_, 1);
  release_.set_value();
}

TEST_F(SharedSlotFlightTest, IsNotIdleWhileAnObjectIsMadeOrHeld) {
  EXPECT_TRUE(slot_.Idle());
  Slot::Result made = absl::UnknownError("not run");
  std::jthread maker([&] { made = GetSlowly(std::make_shared<int>(7)); });
  entered_.get_future().wait();
  EXPECT_FALSE(slot_.Idle());
  release_.set_value();
  maker.join();
  EXPECT_FALSE(slot_.Idle());
  made = absl::UnknownError("let go");
  EXPECT_TRUE(slot_.Idle());
}

}  // namespace
}  // namespace addons
