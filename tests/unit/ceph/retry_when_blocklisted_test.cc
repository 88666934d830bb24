#include "ceph/retry_when_blocklisted.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace addons {
namespace {

absl::Status Errno(int number) { return CephError(-number, "read", "it"); }

/// Gives out `results`, one a call.
class Body {
 public:
  explicit Body(std::vector<absl::Status> results)
      : results_(std::move(results)) {}
  absl::Status operator()() const { return results_.at(calls_++); }
  size_t calls() const { return calls_; }

 private:
  const std::vector<absl::Status> results_;
  mutable size_t calls_ = 0;
};

TEST(RetryWhenBlocklistedTest, RunsOnceWhenTheClientIsWelcome) {
  const Body fine({absl::OkStatus()});
  EXPECT_TRUE(RetryWhenBlocklisted(fine).ok());
  const Body broken({Errno(EIO)});
  EXPECT_EQ(CephErrno(RetryWhenBlocklisted(broken)), EIO);
}

TEST(RetryWhenBlocklistedTest, RunsOnceMoreOnly) {
  const Body lifted({Errno(ESHUTDOWN), absl::OkStatus()});
  EXPECT_TRUE(RetryWhenBlocklisted(lifted).ok());
  const Body again({Errno(ESHUTDOWN), Errno(ESHUTDOWN)});
  EXPECT_EQ(CephErrno(RetryWhenBlocklisted(again)), ESHUTDOWN);
  EXPECT_EQ(again.calls(), 2U);
}

TEST(RetryWhenBlocklistedTest, RepeatsNoChangeThatWasBegun) {
  const Body body({Errno(ESHUTDOWN), absl::OkStatus()});
  EXPECT_EQ(CephErrno(RetryWhenBlocklisted(body, [] { return false; })),
            ESHUTDOWN);
  EXPECT_EQ(body.calls(), 1U);
}

TEST(RetryWhenBlocklistedTest, KeepsTheValue) {
  int calls = 0;
  const auto result = RetryWhenBlocklisted([&]() -> absl::StatusOr<int> {
    if (++calls == 1) return Errno(ESHUTDOWN);
    return 7;
  });
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(*result, 7);
}

}  // namespace
}  // namespace addons
