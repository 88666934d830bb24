#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::ContainsRegex;
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

TEST_F(InitLogTest, WritesJsonWhereItIsAskedFor) {
  ::testing::internal::CaptureStderr();
  const absl::Status status = InitLog("info", LogFormat::kJson, 2);
  Log().info("promoted volume={} by={}", "v1", Quoted("a\nb \"c\""));
  Log().warn("no fields");
  Log().flush();
  const std::vector<std::string> lines =
      absl::StrSplit(::testing::internal::GetCapturedStderr(), '\n');
  ASSERT_OK(status);
  ASSERT_EQ(lines.size(), 3U);  // the last one is empty
  const auto first = ParseJson(lines[0]);
  EXPECT_EQ(first["level"], "info");
  EXPECT_EQ(first["message"], "promoted");
  EXPECT_EQ(first["fields"]["volume"], "v1");
  EXPECT_EQ(first["fields"]["by"], "a\nb \"c\"");
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full,
                              first["time"].get<std::string>(), &time, &error))
      << first["time"] << error;
  EXPECT_EQ(ParseJson(lines[1])["level"], "warning");
}

// Many at once, through a pipe that is read slowly: each is an object, none is
// missing.
TEST_F(InitLogTest, LosesNoJsonLine) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_OK(InitLog("info", LogFormat::kJson, ends[1]));
  close(ends[1]);
  constexpr int kThreads = 4;
  constexpr int kLines = 2000;
  std::string text;
  std::jthread reader([&] {
    std::array<char, 997> buffer{};
    for (;;) {
      const ssize_t size = read(ends[0], buffer.data(), buffer.size());
      if (size <= 0) return;
      text.append(buffer.data(), static_cast<size_t>(size));
    }
  });
  {
    std::vector<std::jthread> writers;
    for (int t = 0; t < kThreads; ++t) {
      writers.emplace_back([t] {
        for (int i = 0; i < kLines; ++i) {
          Log().info("line thread={} number={}", t, i);
        }
      });
    }
  }
  Log().flush();
  EXPECT_EQ(LogLinesDropped(), 0U);
  spdlog::set_default_logger(previous_);  // the pipe's last writer
  reader.join();
  close(ends[0]);
  std::set<std::string> seen;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const auto object = ParseJson(line);
    ASSERT_TRUE(object.is_object()) << line;
    seen.insert(object["fields"].dump());
  }
  EXPECT_EQ(seen.size(), size_t{kThreads * kLines});
}

TEST_F(InitLogTest, SaysInJsonThatLinesWereDropped) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_OK(InitLog("info", LogFormat::kJson, ends[1]));
  close(ends[1]);
  // More than fits into the queue and the pipe while nobody reads.
  const std::string filler(100000, 'x');
  while (LogLinesDropped() == 0) Log().info("{}", filler);
  std::string text;
  std::jthread reader([&] {
    std::array<char, 65536> buffer{};
    for (;;) {
      const ssize_t size = read(ends[0], buffer.data(), buffer.size());
      if (size <= 0) return;
      text.append(buffer.data(), static_cast<size_t>(size));
    }
  });
  Log().flush();
  spdlog::set_default_logger(previous_);
  reader.join();
  close(ends[0]);
  bool said = false;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const auto object = ParseJson(line);
    ASSERT_TRUE(object.is_object()) << line.substr(0, 100);
    said |= object["fields"].contains("count");
  }
  EXPECT_TRUE(said);
}

TEST_F(InitLogTest, KeepsItsLastLinesAsTheyWereWritten) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_OK(InitLog("info", LogFormat::kText, ends[1]));
  Log().info("of the log before");
  EXPECT_THAT(LastLogLines(), HasSubstr("before"));
  ASSERT_OK(InitLog("warn", LogFormat::kText, ends[1]));
  EXPECT_TRUE(LastLogLines().empty());
  Log().info("quiet");
  for (int i = 0; i < 1001; ++i) Log().warn("loud number={}", i);
  spdlog::set_default_logger(previous_);
  for (const int end : ends) close(end);
  const std::string text = LastLogLines();
  EXPECT_THAT(text, ContainsRegex("^[-0-9]+T[^\n]* warning loud number=1\n"));
  EXPECT_THAT(text, EndsWith(" warning loud number=1000\n"));
  EXPECT_THAT(text, Not(HasSubstr("quiet")));
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
