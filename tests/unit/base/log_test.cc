#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(QuotedTest, LeavesAPlainWordAlone) {
  EXPECT_EQ(Quoted("0001-0009-rook-ceph"), "0001-0009-rook-ceph");
}

TEST(QuotedTest, QuotesWhiteSpace) { EXPECT_EQ(Quoted("a b"), "\"a b\""); }

TEST(QuotedTest, QuotesNothing) { EXPECT_EQ(Quoted(""), "\"\""); }

TEST(QuotedTest, QuotesWhatLooksLikeAField) {
  EXPECT_EQ(Quoted("code=OK"), "\"code=OK\"");
}

TEST(QuotedTest, EscapesQuotes) { EXPECT_EQ(Quoted("a\"b"), "\"a\\\"b\""); }

TEST(QuotedTest, LeavesApostrophesAsTheyAre) {
  EXPECT_EQ(Quoted("image 'a/b'"), "\"image 'a/b'\"");
}

TEST(QuotedTest, EscapesControlCharacters) {
  EXPECT_EQ(Quoted("a\nb"), "\"a\\nb\"");
  EXPECT_EQ(Quoted(std::string("\x1b[31m")), "\"\\x1b[31m\"");
}

TEST(QuotedTest, ShowsAtMost1024Bytes) {
  const std::string shown = Quoted(std::string(5000, 'x'));
  EXPECT_EQ(shown, "\"" + std::string(1024, 'x') + "...\"");
}

TEST(QuotedTest, ShowsAllOf1024Bytes) {
  EXPECT_EQ(Quoted(std::string(1024, 'x')), std::string(1024, 'x'));
}

class InitLogTest : public ::testing::Test {
 protected:
  void TearDown() override { spdlog::set_default_logger(previous_); }
  std::shared_ptr<spdlog::logger> previous_ = spdlog::default_logger();
};

TEST_F(InitLogTest, RefusesAnUnknownLevel) {
  EXPECT_THAT(InitLog("loud"), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("'loud'")));
}

TEST_F(InitLogTest, RefusesToBeSilent) {
  EXPECT_THAT(InitLog("off"), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(InitLogTest, WritesOneLinePerFactToStandardError) {
  ::testing::internal::CaptureStderr();
  const absl::Status status = InitLog("info");
  Log().info("promoted volume={}", "v1");
  Log().flush();
  const std::string text = ::testing::internal::GetCapturedStderr();
  ASSERT_OK(status);
  EXPECT_THAT(text, EndsWith(" info promoted volume=v1\n"));
}

TEST_F(InitLogTest, LeavesOutWhatIsBelowTheLevel) {
  ::testing::internal::CaptureStderr();
  const absl::Status status = InitLog("warn");
  Log().info("quiet");
  Log().warn("loud");
  Log().flush();
  const std::string text = ::testing::internal::GetCapturedStderr();
  ASSERT_OK(status);
  EXPECT_THAT(text, Not(HasSubstr("quiet")));
  EXPECT_THAT(text, HasSubstr("loud"));
}

// The last lines before a crash are the ones that are needed.
TEST(LogDeathTest, WhatWasLoggedBeforeAnAbortArrives) {
  EXPECT_DEATH(
      {
        InitLog("info").IgnoreError();
        FlushLogOnCrash();
        for (int i = 0; i < 1000; ++i) Log().info("filler");
        Log().info("the last words");
        std::abort();
      },
      "the last words");
}

}  // namespace
}  // namespace addons
