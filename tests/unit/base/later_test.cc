#include "base/later.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;

/// A value that the test hands out.
template <typename T>
struct Source {
  Later<T> Value() {
    return Later<T>::From(
        [this](typename Later<T>::Receiver r) { receive = std::move(r); });
  }
  typename Later<T>::Receiver receive;
};

TEST(LaterTest, AValueThatIsThereIsDeliveredAtOnce) {
  std::optional<int> seen;
  Later<int>(3).Start([&seen](int value) { seen = value; });
  EXPECT_EQ(seen, 3);
}

TEST(LaterTest, WorkBeginsWithStartOnly) {
  int begun = 0;
  Later<int> later = Later<int>::From([&begun](const auto& receive) {
    ++begun;
    receive(4);
  });
  EXPECT_EQ(begun, 0);
  std::optional<int> seen;
  std::move(later).Start([&seen](int value) { seen = value; });
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(seen, 4);
}

TEST(LaterTest, AValueThatComesIsFollowedByWhatComesThen) {
  Source<int> first;
  Source<std::string> second;
  std::optional<size_t> seen;
  first.Value()
      .Then([&second](int value) {
        EXPECT_EQ(value, 1);
        return second.Value();
      })
      .Then([](const std::string& value) { return value.size(); })
      .Start([&seen](size_t value) { seen = value; });
  EXPECT_EQ(second.receive, nullptr);
  first.receive(1);
  EXPECT_EQ(seen, std::nullopt);
  second.receive("four");
  EXPECT_EQ(seen, 4U);
}

TEST(LaterTest, AnErrorIsReturnedAsItIs) {
  const auto fail = []() -> Later<absl::StatusOr<int>> {
    return absl::AbortedError("busy");
  };
  EXPECT_THAT(Await(fail()), StatusIs(absl::StatusCode::kAborted, "busy"));
}

TEST(LaterTest, AwaitNoticesThatTheValueIsLost) {
  EXPECT_THAT(Await(Later<absl::Status>::From([](const auto&) {})),
              StatusIs(absl::StatusCode::kInternal, "the result was lost"));
}

}  // namespace
}  // namespace addons
