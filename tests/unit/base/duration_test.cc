#include "base/duration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

milliseconds ParsedDuration(const std::string& text) {
  const auto duration = ParseDuration(text);
  EXPECT_OK(duration) << text;
  return duration.value_or(milliseconds(-1));
}

TEST(ParseSecondsTest, TakesNumbersAndDurations) {
  const std::map<std::string, double> good = {
      {"90", 90},   {"0.5", 0.5},   {"90s", 90},   {"1m30s", 90},
      {"2h", 7200}, {"500ms", 0.5}, {"1e3", 1000}, {"0", 0}};
  for (const auto& [text, seconds] : good) {
    const auto parsed = ParseSeconds(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, seconds) << text;
  }
  for (const char* wrong : {"", "x", "90 s", "s", "5d", "nan", "inf", "-inf"}) {
    EXPECT_THAT(
        ParseSeconds(wrong),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("90s or 1m30s")))
        << wrong;
  }
}

TEST(ParseDurationTest, TakesAPlainNumberAsSeconds) {
  EXPECT_EQ(ParsedDuration("90"), std::chrono::seconds(90));
  EXPECT_EQ(ParsedDuration("0"), milliseconds(0));
}

TEST(ParseDurationTest, TakesUnits) {
  EXPECT_EQ(ParsedDuration("90s"), std::chrono::seconds(90));
  EXPECT_EQ(ParsedDuration("1m30s"), std::chrono::seconds(90));
  EXPECT_EQ(ParsedDuration("500ms"), milliseconds(500));
  EXPECT_EQ(ParsedDuration("2h"), std::chrono::hours(2));
}

TEST(ParseDurationTest, TakesFractions) {
  EXPECT_EQ(ParsedDuration("0.5"), milliseconds(500));
  EXPECT_EQ(ParsedDuration("0.0004"), milliseconds(0));
}

TEST(ParseDurationTest, RefusesOthers) {
  for (const char* text :
       {"", "x", "10 s", "-1s", "-1", "169h", "inf", "99999999999"}) {
    EXPECT_THAT(ParseDuration(text),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << text;
  }
}

TEST(FormatDurationTest, IsReadBackAsTheSame) {
  for (const milliseconds duration :
       {milliseconds(0), milliseconds(1500), milliseconds(90000)}) {
    EXPECT_EQ(ParsedDuration(FormatDuration(duration)), duration);
  }
  EXPECT_EQ(FormatDuration(std::chrono::seconds(90)), "90s");
}

}  // namespace
}  // namespace addons
